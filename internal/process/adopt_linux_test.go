package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pid reads a process id from the output of a script.
func pid(t *testing.T, lines *bufio.Reader) (pid int) {
	t.Helper()
	if _, err := fmt.Fscanln(lines, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// An orphan is collected soon after it has died, even if it had left its session
// and nobody ever looked for it.
func TestDeadOrphansAreCollected(t *testing.T) {
	t.Parallel()
	c := run(t, ways()[0], "echo ready; (setsid sh -c 'echo $$; exec sleep 0.1' &) ; exec sleep FOREVER")
	orphan := pid(t, c.lines)
	eventually(t, "collected", func() bool {
		_, ok := look(orphan)
		return !ok
	})
	if !c.Identity().Alive() {
		t.Error("the command is gone too")
	}
}

// Those who started a process get its exit, however late they ask for it.
func TestExitsOfOthersAreNotTaken(t *testing.T) {
	t.Parallel()
	for _, session := range []bool{false, true} {
		cmd := exec.Command("/bin/sh", "-c", "exit 9")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: session}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "a zombie", func() bool {
			p, ok := look(cmd.Process.Pid)
			return ok && p.zombie
		})
		reap()
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 9 {
			t.Errorf("own session %v: Wait = %v, want exit status 9", session, err)
		}
	}
}

func TestNoDescriptorStaysOpen(t *testing.T) {
	use := func() {
		for _, w := range ways() {
			p, err := start(shell("exec sleep 300"), w.group())
			if err != nil {
				t.Fatal(err)
			}
			if left, err := p.End(t.Context(), time.Second); err != nil {
				t.Fatalf("End = %v, %v", left, err)
			}
			<-p.Done()
			if _, err := start(Spec{Path: "/no/such", Args: []string{"x"}}, w.group()); err == nil {
				t.Fatal("started a missing program")
			}
		}
	}
	use() // the first use opens the poller
	before := count(t, "/proc/self/fd")
	for range 20 {
		use()
	}
	// The collector of orphans may have a file open for a moment.
	eventually(t, "as few descriptors as before", func() bool { return count(t, "/proc/self/fd") <= before })
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestGroupsGoWithTheirTrees(t *testing.T) {
	t.Parallel()
	ws := ways()
	w := ws[len(ws)-1]
	if w.name != "group" {
		t.Skip("no control groups here")
	}
	// A member may make groups of its own.
	c := run(t, w, "echo ready; exec sleep FOREVER")
	inner := filepath.Join(c.Identity().Group, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inner, "cgroup.procs"), fmt.Append(nil, c.PID()), 0); err != nil {
		t.Fatal(err)
	}
	if pids := c.tree.group.pids(); !slices.Equal(pids, []int{c.PID()}) {
		t.Errorf("in the group: %v, want %d", pids, c.PID())
	}
	if left, err := c.End(t.Context(), time.Second); err != nil {
		t.Fatalf("End = %v, %v", left, err)
	}
	eventually(t, "removed", func() bool {
		_, err := os.Stat(c.Identity().Group)
		return errors.Is(err, os.ErrNotExist)
	})
	// A group whose command could not be started goes at once.
	g := newGroup()
	if _, err := start(Spec{Path: "/no/such", Args: []string{"x"}}, g); err == nil {
		t.Fatal("started a missing program")
	}
	if _, err := os.Stat(g.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the group of a command that did not start: %v", err)
	}
}

// Groups of a program that crashed are removed by the next one, those of living
// programs are not.
func TestStaleGroupsAreRemoved(t *testing.T) {
	t.Parallel()
	home := groupHome()
	if home == "" {
		t.Skip("no control groups here")
	}
	gone := exec.Command("/bin/true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(home, fmt.Sprintf("%s%d-x", groupPrefix, gone.Process.Pid))
	mine := newGroup()
	defer mine.remove()
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	removeGroups(home, died)
	if _, err := os.Stat(stale); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("stale group: %v", err)
	}
	if _, err := os.Stat(mine.dir); err != nil {
		t.Errorf("group in use: %v", err)
	}
}

// A journal is a file, and a file may say anything.
func TestOnlyGroupsOfOursAreOpened(t *testing.T) {
	t.Parallel()
	home := groupHome()
	for _, dir := range []string{"", "/", home, "heddle-1-x", t.TempDir(), filepath.Join(t.TempDir(), "heddle-1-x"), home + "/heddle-1-none"} {
		if g := openGroup(dir); g != nil {
			t.Errorf("openGroup(%q) = %v", dir, g)
		}
	}
}

// What remains of a tree in the group of a killed command must not poison the next.
func TestStartRightAfterEnd(t *testing.T) {
	t.Parallel()
	for range 5 {
		a := run(t, ways()[0], "echo ready; exec sleep FOREVER")
		if left, err := a.End(t.Context(), time.Second); err != nil {
			t.Fatalf("End = %v, %v", left, err)
		}
		b := run(t, ways()[0], "echo ready; sleep 0.01; echo ok # FOREVER")
		if exit, err := b.Wait(t.Context()); err != nil || exit.Code != 0 {
			t.Errorf("the next command: %v, %v", exit, err)
		}
		if rest, _ := io.ReadAll(b.lines); strings.TrimSpace(string(rest)) != "ok" {
			t.Errorf("the next command wrote %q", rest)
		}
	}
}

// Not even KILL ends a process that the old freezer holds. End says so, in time.
func TestSurvivorsAreNamed(t *testing.T) {
	t.Parallel()
	c := run(t, ways()[0], "echo ready; exec sleep FOREVER")
	ice := fmt.Sprintf("/sys/fs/cgroup/freezer/heddle-test-%d", c.PID())
	if err := os.Mkdir(ice, 0o755); err != nil {
		t.Skip("no freezer:", err)
	}
	defer os.Remove(ice)
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(ice, name), []byte(text), 0); err != nil {
			t.Fatal(err)
		}
	}
	write("cgroup.procs", fmt.Sprint(c.PID()))
	write("freezer.state", "FROZEN")
	defer func() {
		write("freezer.state", "THAWED")
		<-c.Done()
	}()
	begin := time.Now()
	left, err := c.End(t.Context(), 100*time.Millisecond)
	if took := time.Since(begin); took > 2100*time.Millisecond {
		t.Errorf("End took %v, want at most its grace and 2 s", took)
	}
	if len(left) != 1 || left[0].PID != c.PID() || err == nil || !strings.Contains(err.Error(), fmt.Sprint(c.PID())) {
		t.Errorf("End = %v, %v, want process %d", left, err, c.PID())
	}
}
