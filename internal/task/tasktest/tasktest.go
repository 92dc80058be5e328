// Package tasktest is the suite that every kind of task passes: whatever it runs,
// it starts, ends, is ended and is told of in the same way.
package tasktest

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/internal/task"
)

// A Kind says how to make runners of a kind of task. Each call makes a fresh one.
type Kind struct {
	Kind task.Kind
	// Quick ends well by itself, soon, and leaves the word "quick" in its output.
	Quick func(t *testing.T) task.Runner
	// Endless leaves the word "ready" in its output, and then runs until it is told to stop.
	Endless func(t *testing.T) task.Runner
	// Broken fails.
	Broken func(t *testing.T) task.Runner
}

// Run runs the suite.
func Run(t *testing.T, k Kind) {
	for _, part := range []struct {
		name string
		test func(*testing.T, Kind)
	}{
		{"ends by itself", endsByItself},
		{"fails", fails},
		{"is killed", isKilled},
		{"times out", timesOut},
		{"ends with its owner", endsWithItsOwner},
		{"ends with the session", endsWithTheSession},
		{"ends while being killed", endsWhileBeingKilled},
		{"ends while being backgrounded", endsWhileBeingBackgrounded},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t, k)
		})
	}
}

// Recorder is a [task.Notifier] that remembers what it was told.
type Recorder struct {
	mu  sync.Mutex
	all []task.Notification
}

// Notify remembers n.
func (r *Recorder) Notify(n task.Notification) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, n)
}

// Withdraw reports that what was told counts as read.
func (r *Recorder) Withdraw(string) bool { return false }

// All returns all notifications.
func (r *Recorder) All() []task.Notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// Ends returns the notifications of ends.
func (r *Recorder) Ends() []task.Notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ends []task.Notification
	for _, n := range r.all {
		if n.Text == "" {
			ends = append(ends, n)
		}
	}
	return ends
}

// NewRuntime returns a runtime in a folder of the test, which ends with it, and
// what its background tasks tell.
func NewRuntime(t testing.TB) (*task.Runtime, *Recorder) {
	t.Helper()
	rec := &Recorder{}
	rt, err := task.NewRuntime(task.Options{Dir: t.TempDir(), Notifier: rec})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return rt, rec
}

func (k Kind) start(t *testing.T, rt *task.Runtime, owner task.ID, run task.Runner) *task.Task {
	t.Helper()
	tk, err := rt.Start(task.Spec{Kind: k.Kind, Owner: owner, Description: t.Name()}, run)
	if err != nil {
		t.Fatal(err)
	}
	return tk
}

// output returns what a task has printed.
func output(t *testing.T, tk *task.Task) string {
	t.Helper()
	b, err := os.ReadFile(tk.Snapshot().OutputFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// ready waits until an endless task is at work. Output has no event to wait for.
func ready(t *testing.T, tk *task.Task) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	late := time.After(20 * time.Second)
	for !strings.Contains(output(t, tk), "ready") {
		select {
		case <-look.C:
		case <-tk.Done():
			t.Fatalf("ended before it was ready: %+v", tk.Snapshot())
		case <-late:
			t.Fatal("not ready after 20 s")
		}
	}
}

func check(t *testing.T, tk *task.Task, status task.Status, reason task.Reason) {
	t.Helper()
	select {
	case <-tk.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("not over after 20 s")
	}
	if s := tk.Snapshot(); s.Status != status || s.Reason != reason {
		t.Errorf("end is %s, %q, %q; want %s, %q", s.Status, s.Reason, s.Error, status, reason)
	}
}

func endsByItself(t *testing.T, k Kind) {
	rt, rec := NewRuntime(t)
	tk := k.start(t, rt, "", k.Quick(t))
	if out := tk.Attach(t.Context(), 0); out != task.Finished {
		t.Errorf("Attach = %v, want Finished", out)
	}
	check(t, tk, task.Completed, "")
	if out := output(t, tk); !strings.Contains(out, "quick") {
		t.Errorf("output = %q", out)
	}
	if n := len(rec.Ends()); n != 0 {
		t.Errorf("told %d times besides", n)
	}
	if d := tk.Snapshot().Detail; d != nil && d.Kind() != k.Kind {
		t.Errorf("detail is of kind %s, want %s", d.Kind(), k.Kind)
	}
}

func fails(t *testing.T, k Kind) {
	rt, _ := NewRuntime(t)
	tk := k.start(t, rt, "", k.Broken(t))
	<-tk.Done()
	if s := tk.Snapshot(); s.Status != task.Failed || s.Error == "" {
		t.Errorf("end is %s, %q; want failed, and why", s.Status, s.Error)
	}
}

func isKilled(t *testing.T, k Kind) {
	rt, rec := NewRuntime(t)
	tk := k.start(t, rt, "", k.Endless(t))
	tk.Background()
	ready(t, tk)
	if err := rt.Kill(tk.ID, task.ErrKilled); err != nil {
		t.Error(err)
	}
	check(t, tk, task.Killed, task.ReasonStoppedByUser)
	if n := len(rec.Ends()); n != 1 {
		t.Errorf("told %d times, want once", n)
	}
}

func timesOut(t *testing.T, k Kind) {
	rt, _ := NewRuntime(t)
	tk := k.start(t, rt, "", k.Endless(t))
	ready(t, tk)
	tk.Stop(task.ErrTimeout)
	check(t, tk, task.Killed, task.ReasonTimeout)
}

func endsWithItsOwner(t *testing.T, k Kind) {
	rt, _ := NewRuntime(t)
	release := make(chan struct{})
	owner, err := rt.Start(task.Spec{Kind: task.LocalAgent}, task.RunnerFunc(func(context.Context, *task.Task) error {
		<-release
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	tk := k.start(t, rt, owner.ID, k.Endless(t))
	ready(t, tk)
	close(release)
	check(t, owner, task.Completed, "")
	check(t, tk, task.Killed, task.ReasonOwnerEnded)
}

func endsWithTheSession(t *testing.T, k Kind) {
	rt, _ := NewRuntime(t)
	tk := k.start(t, rt, "", k.Endless(t))
	ready(t, tk)
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
	check(t, tk, task.Killed, task.ReasonSessionClosed)
}

func endsWhileBeingKilled(t *testing.T, k Kind) {
	for range 10 {
		rt, rec := NewRuntime(t)
		tk := k.start(t, rt, "", k.Quick(t))
		tk.Background()
		knew := tk.Snapshot().Backgrounded // it may have been over already
		var stops sync.WaitGroup
		for range 3 {
			stops.Go(func() { tk.Stop(task.ErrKilled) })
		}
		stops.Wait()
		<-tk.Done()
		if s := tk.Snapshot(); s.Status != task.Completed && s.Status != task.Killed {
			t.Errorf("end is %s, %q, %q", s.Status, s.Reason, s.Error)
		}
		if n := len(rec.Ends()); knew && n != 1 || n > 1 {
			t.Errorf("told %d times, want once", n)
		}
	}
}

func endsWhileBeingBackgrounded(t *testing.T, k Kind) {
	for range 10 {
		rt, rec := NewRuntime(t)
		tk := k.start(t, rt, "", k.Quick(t))
		var leaving sync.WaitGroup
		leaving.Go(tk.Background)
		out := tk.Attach(t.Context(), 0)
		leaving.Wait()
		check(t, tk, task.Completed, "")
		if n := len(rec.Ends()); n != int(out) {
			t.Errorf("Attach returned %v, and the end was told %d times", out, n)
		}
	}
}
