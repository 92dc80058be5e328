package task

import (
	"context"
	"fmt"
	"slices"
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
// Cancelling ctx stops t, with the cause of ctx.
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
		if !t.backgrounded() { // otherwise it is not the caller's any more
			t.Stop(context.Cause(ctx))
			<-t.done
		}
	}
	// Several may have been ready, but the record holds exactly one answer.
	if t.backgrounded() {
		return Backgrounded
	}
	t.rt.take(t)
	return Finished
}

// take makes the end of a task that nobody else tells the return value of the call
// that started it.
func (r *Runtime) take(t *Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.snap.Carrier == "" && !t.snap.Told {
		r.carry(t, t.snap.ToolUseID)
	}
}

// Background tells the foreground waiter to leave. It does nothing once the task
// has ended or is in the background already.
func (t *Task) Background() {
	t.rt.mu.Lock()
	defer t.rt.mu.Unlock()
	if t.snap.Status.Terminal() || t.snap.Backgrounded {
		return
	}
	t.snap.Backgrounded = true
	close(t.background)
	t.rt.record(t)
	t.rt.changed()
}

// Background moves a task that somebody waits for to the background: [Task.Background]
// for those who have only its id. Without an id, it moves all.
func (r *Runtime) Background(id ID) (moved []Snapshot, err error) {
	var tasks []*Task
	r.mu.Lock()
	for _, t := range r.tasks {
		if (id == "" || t.ID == id) && !t.snap.Status.Terminal() && !t.snap.Backgrounded {
			tasks = append(tasks, t)
		}
	}
	r.mu.Unlock()
	for _, t := range tasks {
		t.Background()
		moved = append(moved, t.Snapshot())
	}
	if len(tasks) == 0 && id != "" {
		return nil, fmt.Errorf("task %s: %w in the foreground", id, ErrNotRunning)
	}
	return moved, nil
}

func (t *Task) backgrounded() bool {
	t.rt.mu.Lock()
	defer t.rt.mu.Unlock()
	return t.snap.Backgrounded
}

// Condition says when waiting for several tasks is over.
type Condition struct {
	// Count is how many must have ended: 1 is any; 0, or more than there are, is all.
	Count int
}

// Wait waits until as many of the tasks as c asks for have ended, and returns what
// is known of all; also when ctx is done, with its cause. A task that is not known
// is an error at once.
func (r *Runtime) Wait(ctx context.Context, ids []ID, c Condition) ([]Snapshot, error) {
	want := c.Count
	if want <= 0 || want > len(ids) {
		want = len(ids)
	}
	wake := newTrigger()
	tasks, err := r.follow(ids, wake)
	if err != nil {
		return nil, err
	}
	defer r.unfollow(tasks, wake)
	for {
		snaps, ended := r.look(tasks)
		if ended >= want {
			return snaps, nil
		}
		if err := context.Cause(ctx); err != nil {
			return snaps, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
		}
	}
}

// follow arranges for wake to be pulled when one of the tasks ends.
func (r *Runtime) follow(ids []ID, wake trigger) ([]*Task, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	tasks := make([]*Task, len(ids))
	for i, id := range ids {
		if tasks[i] = r.tasks[id]; tasks[i] == nil {
			return nil, fmt.Errorf("task %s: %w", id, ErrNotRunning)
		}
	}
	for _, t := range tasks {
		t.waiting = append(t.waiting, wake)
	}
	return tasks, nil
}

func (r *Runtime) unfollow(tasks []*Task, wake trigger) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tasks {
		t.waiting = slices.DeleteFunc(t.waiting, func(w trigger) bool { return w == wake })
	}
}

func (r *Runtime) look(tasks []*Task) (snaps []Snapshot, ended int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tasks {
		snaps = append(snaps, t.snap)
		if t.snap.Status.Terminal() {
			ended++
		}
	}
	return snaps, ended
}
