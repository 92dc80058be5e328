package shell

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/task"
	"heddle/internal/task/tasktest"
)

func monitorOf(t *testing.T, command string) *Monitor {
	return &Monitor{Command: Runner{Command: command, Dir: t.TempDir(), Env: Environment(os.Environ(), nil, nil)}}
}

func TestMonitorSuite(t *testing.T) {
	t.Parallel()
	command := func(text string) func(*testing.T) task.Runner {
		return func(t *testing.T) task.Runner { return monitorOf(t, text) }
	}
	tasktest.Run(t, tasktest.Kind{
		Kind: task.LocalBash, Quick: command("echo quick"), Endless: command("echo ready; sleep 300 & wait"), Broken: command("exit 3"),
	})
}

// Each line is told once and in order, or counted, and all of it before the end.
func TestMonitorTellsEveryLine(t *testing.T) {
	t.Parallel()
	rt, rec := tasktest.NewRuntime(t)
	tk, err := rt.Start(task.Spec{Kind: task.LocalBash, Background: true},
		monitorOf(t, `for i in $(seq 30); do echo "line $i"; done; printf '\033[31mred\033[0m\n\n'; sleep 0.1; printf last`))
	if err != nil {
		t.Fatal(err)
	}
	<-tk.Done()
	var told []string
	counted := 0
	all := rec.All()
	for _, n := range all[:len(all)-1] {
		if n.Text == "" || n.Priority != task.Next {
			t.Errorf("before the end: %+v", n)
		}
		told = append(told, strings.Split(n.Data, "\n")...)
		var more int
		if _, rest, ok := strings.Cut(n.Text, "of which "); ok {
			fmt.Sscan(rest, &more)
		}
		counted += more
	}
	if all[len(all)-1].Text != "" {
		t.Error("the end is not the last")
	}
	if len(told)+counted != 32 || told[0] != "line 1" {
		t.Errorf("told %q and %d more, want 32 lines", told, counted)
	}
	for i, line := range told[:min(len(told), 15)] {
		if line != fmt.Sprintf("line %d", i+1) {
			t.Errorf("line %d is %q", i+1, line)
		}
	}
}

func TestMonitorEndsAFlood(t *testing.T) {
	t.Parallel()
	rt, rec := tasktest.NewRuntime(t)
	tk, err := rt.Start(task.Spec{Kind: task.LocalBash, Background: true}, monitorOf(t, "yes"))
	if err != nil {
		t.Fatal(err)
	}
	<-tk.Done()
	if s := tk.Snapshot(); s.Status != task.Failed || s.Reason != task.ReasonFlood || !strings.Contains(s.Error, "--line-buffered") {
		t.Errorf("end is %s, %q, %q", s.Status, s.Reason, s.Error)
	}
	if n := len(rec.All()); n > 20 {
		t.Errorf("told %d times", n)
	}
}

// What comes within a second of a notification waits for the next.
func TestPacer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := make(chan string)
		begin := time.Now()
		var got []string
		notify := func(text, data string) {
			got = append(got, fmt.Sprintf("%v %s: %s", time.Since(begin), text, strings.ReplaceAll(data, "\n", "|")))
		}
		flooded := make(chan bool)
		go func() {
			var p pacer
			flooded <- p.tell(lines, notify)
		}()
		at := func(d time.Duration, text ...string) {
			time.Sleep(d - time.Since(begin))
			for _, s := range text {
				lines <- s
			}
		}
		at(0, "a", "b", " ")
		at(500*time.Millisecond, "c")
		at(3*time.Second, "d")
		at(3500*time.Millisecond, strings.Fields(strings.Repeat("x ", 25))...)
		at(10*time.Second, "e")
		at(10200*time.Millisecond, "last")
		close(lines)
		if <-flooded {
			t.Error("that was no flood")
		}
		want := []string{
			"0s 1 line: a", "1s 2 lines: b|c", "3s 1 line: d",
			"4s 25 lines, of which 5 are only in the output file: " + strings.TrimSuffix(strings.Repeat("x|", 20), "|"),
			"10s 1 line: e", "10.2s 1 line: last",
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// A command that always prints more than can be told is a flood, too, if a slow one.
func TestPacerKnowsASlowFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lines := make(chan string)
		flooded := make(chan bool, 1)
		go func() {
			var p pacer
			flooded <- p.tell(lines, func(string, string) {})
		}()
		for range 100 * 40 { // 40 lines a second
			select {
			case lines <- "x":
			case <-flooded:
				return
			}
			time.Sleep(25 * time.Millisecond)
		}
		t.Error("nobody minds")
	})
}

func TestLinesAreCut(t *testing.T) {
	t.Parallel()
	if got := plain([]byte(strings.Repeat("x", 5000))); len(got) > longestEvent+30 || !strings.HasSuffix(got, "[line cut]") {
		t.Errorf("%d bytes, ending %q", len(got), got[len(got)-20:])
	}
	if got := plain([]byte("50%\r100%\x1b[0m done\r")); got != "100% done" {
		t.Errorf("got %q", got)
	}
}
