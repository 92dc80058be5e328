package process

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// helperVariable makes the test binary the program whose session crashes.
const helperVariable = "HEDDLE_PROCESS_HELPER"

// helper starts the script that it is given and says who it is.
func helper() {
	switch os.Getenv(helperVariable) {
	case "end":
		endAround()
		return
	case "headless":
		endFirstThread()
		return
	}
	err := func() error {
		p, err := Start(Spec{
			Path: "/bin/sh", Args: []string{"sh", "-c", os.Getenv(helperVariable)},
			Mark: os.Getenv("MARK"),
		})
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(p.Identity())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test is over, if it does not kill us
}

// crash runs script in another program, kills that program, and returns what its
// journal would have said.
func crash(t *testing.T, script, mark string) Identity {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), helperVariable+"="+script, "MARK="+mark)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, readErr := bufio.NewReader(out).ReadBytes('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	var id Identity
	if err := json.Unmarshal(line, &id); err != nil || readErr != nil {
		t.Fatalf("identity %q: %v, %v", line, err, readErr)
	}
	return id
}

// The next session ends what a crashed one left running, and nothing else.
func TestEndIdentityAfterACrash(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script, mark string
		leader             bool // is still alive when the session ends
		group              bool // keep the control group in the identity
	}{
		{"by the leader", "sleep 300 & sleep 300", "", true, false},
		{"by the mark", "setsid sleep 300 & exit", "crash-mark-1", false, false},
		{"both", "setsid sleep 300 & sleep 300", "crash-mark-2", true, false},
		{"by the group", "setsid sleep 300 & exit", "", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			needs(t, "setsid", c.script)
			id := crash(t, c.script, c.mark)
			t.Cleanup(func() { openGroup(id.Group).kill() })
			if !c.group {
				id.Group = ""
			} else if id.Group == "" {
				t.Skip("no control groups here")
			}
			eventually(t, "in its final shape", func() bool { return id.Alive() == c.leader })
			tree := &tree{leader: id, mark: c.mark, group: openGroup(id.Group)}
			eventually(t, "found", func() bool { return len(tree.alive()) > 0 })
			if left, err := EndIdentity(t.Context(), id, c.mark, 2*time.Second); err != nil {
				t.Fatalf("EndIdentity = %v, %v", left, err)
			}
			if id.Alive() || len(tree.alive()) > 0 {
				t.Error("something is alive after EndIdentity")
			}
		})
	}
}

// endAround ends the tree in which it runs, as far as that is possible.
func endAround() {
	leader, _ := look(os.Getppid())
	id := Identity{PID: leader.pid, StartTime: leader.start, BootID: bootID(), Group: os.Getenv("GROUP")}
	if left, err := EndIdentity(context.Background(), id, os.Getenv("MARK"), time.Second); err != nil {
		fmt.Println(left, err)
	}
	fmt.Println("survived")
}

// A session that was started by a command of the session that crashed does not
// end itself.
func TestEndIdentitySparesItself(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ways() {
		c := run(t, w, "sleep FOREVER & echo ready; MARK=${"+MarkVariable+"##*/} "+helperVariable+"=end "+
			"GROUP=CONTROL "+self+"; echo $?")
		rest, err := io.ReadAll(c.lines)
		if err != nil || !strings.HasSuffix(string(rest), "survived\n0\n") {
			t.Errorf("%s: output = %q, %v", w.name, rest, err)
		}
		if found := c.alive(t); len(found) > 0 {
			t.Errorf("%s: not ended: %q", w.name, found)
		}
	}
}

// A process that merely has the number of one of ours is not touched.
func TestEndIdentitySparesStrangers(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		c := run(t, w, "sleep FOREVER & echo ready; wait")
		id := c.Identity()
		id.Group = ""
		if !id.Alive() {
			t.Fatalf("%+v is not alive", id)
		}
		older, otherBoot, nobody := id, id, Identity{}
		older.StartTime--
		otherBoot.BootID = "another"
		for _, wrong := range []Identity{older, otherBoot, nobody} {
			if wrong.Alive() {
				t.Errorf("%+v is alive", wrong)
			}
			for _, mark := range []string{"", "a mark of nobody"} {
				if left, err := EndIdentity(t.Context(), wrong, mark, 0); err != nil || left != nil {
					t.Errorf("EndIdentity(%+v) = %v, %v", wrong, left, err)
				}
			}
		}
		if m := c.Members(); len(m) != 2 {
			t.Errorf("members = %v, want the shell and sleep", m)
		}
	}
}

func TestPickKnowsItsOwn(t *testing.T) {
	t.Parallel()
	self := os.Getpid()
	lead := Identity{PID: 100, StartTime: 10}
	ours := &tree{leader: lead, mark: "m", ours: true}
	crashed := &tree{leader: lead, mark: "m"}
	looked := &tree{leader: lead, ours: true, seen: map[int]uint64{103: 13, 101: 1}}
	leader := proc{pid: 100, ppid: self, pgid: 100, sid: 100, start: 10}
	reused := proc{pid: 100, ppid: self, pgid: 100, sid: 100, start: 20}
	inSession := proc{pid: 101, ppid: self, pgid: 101, sid: 100, start: 11}
	below := proc{pid: 102, ppid: 101, pgid: 102, sid: 102, start: 12}
	far := proc{pid: 103, ppid: self, pgid: 103, sid: 103, start: 13}
	belowSelf := proc{pid: self, ppid: 101, pgid: self, sid: self, start: 14}
	for _, c := range []struct {
		name  string
		tree  *tree
		marks map[int]string
		all   []proc
		want  []int
	}{
		{"session and descendants", ours, nil, []proc{leader, inSession, below, far}, []int{100, 101, 102}},
		{"leader gone", ours, nil, []proc{inSession, below, far}, []int{101, 102}},
		{"mark", ours, map[int]string{103: "m"}, []proc{leader, far}, []int{100, 103}},
		{"mark in a nested command", ours, map[int]string{103: "l/m/n"}, []proc{far}, []int{103}},
		{"part of a mark", ours, map[int]string{103: "mm/om"}, []proc{far}, nil},
		{"number reused", ours, nil, []proc{reused, inSession, below}, nil},
		{"number reused, that one gone too", ours, map[int]string{101: "other"}, []proc{inSession, below}, nil},
		{"number of another run", crashed, nil, []proc{inSession, below}, nil},
		{"mark of another run", crashed, map[int]string{101: "m"}, []proc{inSession, below}, []int{101, 102}},
		{"member at the last look", looked, nil, []proc{reused, inSession, far}, []int{103}},
		{"never ourselves", ours, map[int]string{self: "m"}, []proc{leader, inSession, belowSelf, far}, []int{100}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []int
			for _, p := range c.tree.pick(c.all, func(pid int) (string, bool) { return c.marks[pid], true }) {
				got = append(got, p.pid)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("picked %v, want %v", got, c.want)
			}
		})
	}
}
