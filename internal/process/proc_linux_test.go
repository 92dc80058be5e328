package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStatOfAnyName(t *testing.T) {
	t.Parallel()
	rest := "S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"
	want := proc{pid: 5, ppid: 7, pgid: 8, sid: 9, start: 4711}
	for _, name := range []string{"sleep", "", "a b", ")", ") Z 1 1 1 (", "x\ny", "((("} {
		want.name = name
		if got, ok := parseStat([]byte("5 (" + name + ") " + rest + "\n")); !ok || got != want {
			t.Errorf("name %q: %+v, %v", name, got, ok)
		}
	}
	for _, bad := range []string{"", "5", "5 (", "5 )(", "5 (x)", "x (x) " + rest, "5 (x) S 7 8 9", "5 (x) S a b c 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711"} {
		if got, ok := parseStat([]byte(bad)); ok {
			t.Errorf("parseStat(%q) = %+v", bad, got)
		}
	}
}

func TestDescendantsAreThoseOfTheWalk(t *testing.T) {
	c := run(t, ways()[0], "sh -c 'sleep FOREVER & sleep FOREVER' & echo ready; exec sleep FOREVER")
	eventually(t, "complete", func() bool { return len(c.Members()) == 4 })
	below, ok := descendants(c.PID())
	if !ok {
		t.Skip("the kernel keeps no lists of children")
	}
	var walked []int
	foreign := tree{leader: c.Identity()}
	for _, p := range foreign.alive() {
		if p.pid != c.PID() {
			walked = append(walked, p.pid)
		}
	}
	slices.Sort(below)
	if !slices.Equal(below, walked) {
		t.Errorf("descendants = %v, the walk found %v", below, walked)
	}
}

func TestOwnGroupIsFound(t *testing.T) {
	t.Parallel()
	const mounts = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"
	for _, c := range []struct{ mounts, own, want string }{
		{mounts, "0::/user.slice/x.scope\n", "/sys/fs/cgroup/user.slice/x.scope"},
		{mounts, "9:name=systemd:/a\n0::/\n", "/sys/fs/cgroup"},
		{mounts, "4:memory:/a\n", ""},
		{"proc /proc proc rw 0 0\n", "0::/\n", ""},
		{"", "", ""},
	} {
		if got := parseOwnGroup([]byte(c.mounts), []byte(c.own)); got != c.want {
			t.Errorf("parseOwnGroup(%q) = %q, want %q", c.own, got, c.want)
		}
	}
}

func TestMarksAreRead(t *testing.T) {
	t.Parallel()
	c := run(t, ways()[0], "echo ready; exec sleep FOREVER")
	eventually(t, "marked", func() bool { // it cannot be read during the exec
		value, ok := markOf(c.PID())
		return ok && carries(value, c.mark)
	})
	if value, ok := markOf(os.Getppid()); ok && carries(value, c.mark) {
		t.Errorf("our parent carries %q", value)
	}
	if value, ok := markOf(1 << 30); ok {
		t.Errorf("a process that does not exist carries %q", value)
	}
}

func FuzzStat(f *testing.F) {
	f.Add([]byte("5 (x) S 7 8 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0"))
	f.Add([]byte("5 (a) b) Z 1 1 1"))
	f.Fuzz(func(t *testing.T, stat []byte) {
		p, ok := parseStat(stat)
		if !ok {
			return
		}
		state := "S"
		if p.zombie {
			state = "Z"
		} else if p.stopped {
			state = "T"
		}
		again := fmt.Sprintf("%d (%s) %s %d %d %d%s %d\n", p.pid, p.name, state,
			p.ppid, p.pgid, p.sid, strings.Repeat(" 0", 15), p.start)
		if q, ok := parseStat([]byte(again)); !ok || q != p {
			t.Errorf("%q: %+v, written again: %+v", stat, p, q)
		}
	})
}

func FuzzLists(f *testing.F) {
	f.Add([]byte("12 34 \n"), []byte("pos:\t0\nPid:\t77\n"))
	f.Add([]byte("-1 x 99999999999999999999"), []byte("Pid:\t-1\n"))
	f.Fuzz(func(t *testing.T, list, info []byte) {
		for _, pid := range parsePIDs(list) {
			if pid <= 0 {
				t.Errorf("parsePIDs(%q) has %d", list, pid)
			}
		}
		if pid, ok := parsePidfd(info); ok && pid <= 0 {
			t.Errorf("parsePidfd(%q) = %d", info, pid)
		}
	})
}

func FuzzOwnGroup(f *testing.F) {
	f.Add([]byte("c /sys/fs/cgroup cgroup2 rw\n"), []byte("0::/a\n"))
	f.Fuzz(func(t *testing.T, mounts, own []byte) {
		if got := parseOwnGroup(mounts, own); got != "" && got != filepath.Clean(got) {
			t.Errorf("parseOwnGroup(%q, %q) = %q", mounts, own, got)
		}
	})
}
