package shell

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"heddle/internal/process"
	"heddle/internal/task"
	"heddle/internal/task/tasktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(adopted{m}) }

// adopted runs the tests in a program that adopts orphans, as heddle does.
type adopted struct{ m *testing.M }

func (a adopted) Run() int {
	release, err := process.Adopt()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer release()
	return a.m.Run()
}

// ended is a command that is over.
type ended struct {
	task.Snapshot
	Detail
	output string
}

// run runs a command in the foreground, in a runtime of its own.
func run(t *testing.T, r *Runner) ended {
	t.Helper()
	rt, _ := tasktest.NewRuntime(t)
	return runIn(t, rt, r)
}

func runIn(t *testing.T, rt *task.Runtime, r *Runner) ended {
	t.Helper()
	if r.Dir == "" {
		r.Dir = t.TempDir()
	}
	if r.Env == nil {
		r.Env = Environment(os.Environ(), nil, nil)
	}
	tk, err := rt.Start(task.Spec{Kind: task.LocalBash}, r)
	if err != nil {
		t.Fatal(err)
	}
	tk.Attach(t.Context(), 0)
	s := tk.Snapshot()
	out, err := os.ReadFile(s.OutputFile)
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(strings.TrimSuffix(s.OutputFile, ".output") + ".*")
	if err != nil || len(left) != 1 {
		t.Errorf("files besides the output: %v, %v", left, err)
	}
	d, _ := s.Detail.(Detail)
	return ended{s, d, string(out)}
}

// alive reports whether a process whose command line holds mark runs.
func alive(t *testing.T, mark string) bool {
	t.Helper()
	list, err := exec.Command("ps", "-A", "-o", "stat=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if strings.Contains(line, mark) && !strings.HasPrefix(line, "Z") {
			return true
		}
	}
	return false
}

// forever returns how long a sleep is to take that no other test has.
func forever(t *testing.T) string {
	return fmt.Sprintf("300.%d", time.Now().UnixNano())
}

// resolved is the name that pwd -P gives a folder of the test.
func resolved(t *testing.T, dir string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// agent is a task that owns others until it is released.
func agent(release <-chan struct{}) task.Runner {
	return task.RunnerFunc(func(context.Context, *task.Task) error {
		<-release
		return nil
	})
}
