package task

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// recorder is a [Notifier] that remembers what it was told. It counts as read at once.
type recorder struct {
	mu  sync.Mutex
	all []Notification
}

func (r *recorder) Withdraw(string) bool { return false }

func (r *recorder) Notify(n Notification) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, n)
}

func (r *recorder) got() []Notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all
}

// newRuntime returns a runtime that the test closes at its end.
func newRuntime(t *testing.T, o Options) *Runtime {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	rt, err := NewRuntime(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return rt
}

func start(t *testing.T, rt *Runtime, s Spec, run Runner) *Task {
	t.Helper()
	if s.Kind == "" {
		s.Kind = LocalBash
	}
	tk, err := rt.Start(s, run)
	if err != nil {
		t.Fatal(err)
	}
	return tk
}

// takes is a runner that works for d, unless it is told to stop.
func takes(d time.Duration, then error) RunnerFunc {
	return func(ctx context.Context, t *Task) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			fmt.Fprintln(t.Output, "worked")
			return then
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

const ages = 1000 * time.Hour
