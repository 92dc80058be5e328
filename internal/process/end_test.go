package process

import (
	"context"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// Whatever a command does to get away, nobody is alive once End has said so.
func TestEndLeavesNobodyAlive(t *testing.T) {
	trees := []struct {
		name, script string
		needsGroup   bool // nothing but a control group can know
	}{
		{"no children", "echo ready; exec sleep FOREVER", false},
		{"child", "sleep FOREVER & echo ready; wait", false},
		{"loop of children", "echo ready; for i in 1 2 3; do sh -c 'sleep FOREVER'; done", false},
		{"setsid", "setsid sleep FOREVER & echo ready; wait", false},
		{"nohup", "nohup sleep FOREVER >/dev/null 2>&1 & echo ready; wait", false},
		{"double fork", "(setsid sh -c '(setsid sleep FOREVER &)' &) ; echo ready; sleep FOREVER", false},
		{"job control", "set -m; sleep FOREVER & sleep FOREVER | sleep FOREVER & echo ready; wait", false},
		{"TERM ignored", "trap '' TERM; sleep FOREVER & echo ready; while :; do wait; done", false},
		{"every signal trapped", "trap 'echo no' TERM INT HUP QUIT; echo ready; while :; do sleep FOREVER; done", false},
		{"stopped child", "sleep FOREVER & kill -STOP $!; echo ready; wait", false},
		{"stopped leader", "sleep FOREVER & echo ready; kill -STOP $$", false},
		{"empty environment", "env -i setsid sleep FOREVER & echo ready; wait", false},
		{"fork storm", "while :; do (setsid sleep FOREVER >/dev/null 2>&1 &); i=$((i+1)); [ $i = 30 ] && echo ready; done", false},
		{"forks when asked to end", "trap 'setsid sleep FOREVER & exit' TERM; echo ready; while :; do sleep 0.01; done", false},
		{"leader gone, child stays", "sleep FOREVER & echo ready", false},
		{"leader gone, session stays", "setsid sh -c 'sleep FOREVER & sleep FOREVER' & echo ready", false},
		{"leader gone, empty environment", "env -i setsid sleep FOREVER & echo ready", true},
		{"leader gone, nobody stays", "echo ready", false},
	}
	const grace = 200 * time.Millisecond
	for _, w := range ways() {
		for _, tree := range trees {
			if tree.needsGroup && w.name != "group" {
				continue
			}
			t.Run(w.name+"/"+tree.name, func(t *testing.T) {
				t.Parallel()
				needs(t, "setsid", tree.script)
				c := run(t, w, tree.script)
				if strings.HasPrefix(tree.name, "leader gone") {
					<-c.Done()
				}
				begin := time.Now()
				left, err := c.End(t.Context(), grace)
				took := time.Since(begin)
				if err != nil || len(left) > 0 {
					t.Errorf("End = %v, %v", left, err)
				}
				if found := c.alive(t); len(found) > 0 {
					t.Errorf("still alive after End:\n%s", strings.Join(found, "\n"))
				}
				if limit := grace + 2*time.Second; took > limit {
					t.Errorf("End took %v, want at most %v", took, limit)
				}
				if m := c.Members(); len(m) > 0 {
					t.Errorf("Members after End = %v", m)
				}
			})
		}
	}
}

func needs(t *testing.T, program, script string) {
	t.Helper()
	if strings.Contains(script, program) {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
}

// A script that removes its lock file when it is asked to end has the time to, and
// the programs that it uses for that are left alone.
func TestExitTrapRunsWithinTheGrace(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := run(t, w, "trap 'sleep 0.2 && echo cleaned; exit 7' TERM; echo ready; while :; do sleep 0.05; done # FOREVER")
			if left, err := c.End(t.Context(), 10*time.Second); err != nil {
				t.Fatalf("End = %v, %v", left, err)
			}
			rest, err := io.ReadAll(c.lines)
			if err != nil || strings.Count(string(rest), "cleaned") != 1 {
				t.Errorf("output = %q, %v, want the clean-up, once", rest, err)
			}
			if exit, _ := c.Wait(t.Context()); exit != (Exit{Code: 7}) {
				t.Errorf("exit = %v, want that of the trap", exit)
			}
		})
	}
}

// A stopped process is woken up to hear that it shall end.
func TestStoppedProcessMayCleanUp(t *testing.T) {
	t.Parallel()
	c := run(t, ways()[0], "trap 'echo cleaned; exit' TERM; echo ready; kill -STOP $$; echo woken # FOREVER")
	eventually(t, "stopped", func() bool {
		p, ok := look(c.PID())
		return ok && p.stopped
	})
	if left, err := c.End(t.Context(), 10*time.Second); err != nil {
		t.Fatalf("End = %v, %v", left, err)
	}
	rest, err := io.ReadAll(c.lines)
	if err != nil || !strings.Contains(string(rest), "cleaned") {
		t.Errorf("output = %q, %v, want the clean-up", rest, err)
	}
}

func TestEndWithoutPatienceKillsAtOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := run(t, ways()[0], "trap '' TERM; echo ready; while :; do sleep FOREVER; done")
	begin := time.Now()
	if left, err := c.End(ctx, time.Minute); err != nil {
		t.Fatalf("End = %v, %v", left, err)
	}
	if took := time.Since(begin); took > 2*time.Second {
		t.Errorf("End took %v although its context was done", took)
	}
	if exit, _ := c.Wait(t.Context()); exit.Signal != 9 {
		t.Errorf("exit = %v, want killed", exit)
	}
}

// Stopping one task does not touch another that runs the same command.
func TestEndSparesOtherTrees(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			other := run(t, w, "setsid sleep FOREVER & echo ready; wait")
			for range 5 {
				c := run(t, w, "setsid sleep FOREVER & echo ready; wait")
				if left, err := c.End(t.Context(), time.Second); err != nil {
					t.Fatalf("End = %v, %v", left, err)
				}
			}
			if m := other.Members(); len(m) != 2 {
				t.Errorf("members of the other tree = %v, want the shell and sleep", m)
			}
		})
	}
}

func TestMembersAreThoseWhoRunNow(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := run(t, w, "sleep FOREVER & echo ready")
			<-c.Done()
			eventually(t, "sleep alone", func() bool { // once the shell has become it
				m := c.Members()
				return len(m) == 1 && m[0].Command == "sleep "+c.token && m[0].PID != c.PID()
			})
			if left, err := c.End(t.Context(), time.Second); err != nil {
				t.Fatalf("End = %v, %v", left, err)
			}
			if m := c.Members(); len(m) != 0 {
				t.Errorf("members = %v after the end", m)
			}
		})
	}
}

func TestEndFromSeveralSidesAtOnce(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			c := run(t, w, "setsid sleep FOREVER & echo ready; wait")
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					if left, err := c.End(t.Context(), time.Second); err != nil {
						t.Errorf("End = %v, %v", left, err)
					}
				})
				all.Go(func() { c.Members() })
			}
			all.Wait()
			if found := c.alive(t); len(found) > 0 {
				t.Errorf("still alive: %q", found)
			}
		})
	}
}

func TestCommandsAreNamedInOneLine(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"sleep 5":                          "sleep 5",
		"bash -c set -e\n\tmake\r\n":       "bash -c set -e make",
		"echo " + strings.Repeat("ä", 300): "echo " + strings.Repeat("ä", 195) + "…",
	} {
		if got := oneLine(command); got != want {
			t.Errorf("oneLine(%q) = %q", command, got)
		}
	}
}
