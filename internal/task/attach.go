package task

import (
	"context"
	"fmt"
	"time"
)

// Outcome is how waiting in the foreground ended.
type Outcome int

const (
	Finished     Outcome = iota // the task has ended, and the caller now knows it
	Backgrounded                // the task goes on; a notification will tell its end
)

// Attach waits for t in the foreground. It returns early, leaving t running, when
// budget runs out or someone calls Background; a budget of 0 has no end.
// Cancelling ctx kills t, with the cause of ctx.
func (t *Task) Attach(ctx context.Context, budget time.Duration) Outcome {
	var out <-chan time.Time
	if budget > 0 {
		timer := time.NewTimer(budget)
		defer timer.Stop()
		out = timer.C
	}
	select {
	case <-t.done:
	case <-t.background:
	case <-out:
		t.Background()
	case <-ctx.Done():
		t.cancel(context.Cause(ctx))
		<-t.done
	}
	return t.outcome()
}

// Background tells the foreground waiter to leave. It does nothing once the task
// has ended or is in the background already.
func (t *Task) Background() {
	t.rt.mu.Lock()
	defer t.rt.mu.Unlock()
	e := t.rt.tasks[t.ID]
	if e == nil || e.live != t || e.Status.Terminal() || e.Backgrounded {
		return
	}
	e.Backgrounded = true
	close(t.background)
	t.rt.changed()
}

// Stop ends a task without waiting for the end.
func (t *Task) Stop(cause error) { t.cancel(cause) }

// outcome settles a race between ending and backgrounding: both channels may be
// ready, but the record holds exactly one answer.
func (t *Task) outcome() Outcome {
	t.rt.mu.Lock()
	defer t.rt.mu.Unlock()
	e := t.rt.tasks[t.ID]
	if e == nil {
		return Finished // ended and evicted: it was told to whoever asked
	}
	if e.Backgrounded {
		return Backgrounded
	}
	e.Told = true
	return Finished
}

// Condition says when waiting for several tasks is over.
type Condition struct {
	// Count is how many must have ended; 0 means all.
	Count int
}

// Wait waits until as many of the tasks as c asks for have ended, and returns what
// is known of all. A task that is not known is an error at once.
func (r *Runtime) Wait(ctx context.Context, ids []ID, c Condition) ([]Snapshot, error) {
	want := c.Count
	if want == 0 || want > len(ids) {
		want = len(ids)
	}
	for {
		r.mu.Lock()
		snaps, ended := make([]Snapshot, 0, len(ids)), 0
		for _, id := range ids {
			e := r.tasks[id]
			if e == nil {
				r.mu.Unlock()
				return nil, fmt.Errorf("task %s: %w", id, ErrNotRunning)
			}
			if e.Status.Terminal() {
				ended++
			}
			snaps = append(snaps, e.Snapshot)
		}
		change := r.watch
		r.mu.Unlock()
		if ended >= want {
			return snaps, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return snaps, context.Cause(ctx)
		}
	}
}
