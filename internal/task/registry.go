package task

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// register puts a task on record, if its owner still runs.
func (r *Runtime) register(t *Task) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrShutdown
	}
	t.parent = r.ctx
	if id := t.snap.Owner; id != "" {
		owner := r.tasks[id]
		if owner == nil || owner.snap.Status.Terminal() {
			return fmt.Errorf("owner %s: %w", id, ErrNotRunning)
		}
		t.parent = owner.ctx
	}
	if old := r.tasks[t.ID]; old != nil {
		if !old.snap.Status.Terminal() {
			return fmt.Errorf("task %s is running already", t.ID)
		}
		old.forget()
	}
	if t.snap.Backgrounded {
		close(t.background)
	}
	t.ctx, t.cancel = context.WithCancelCause(t.parent)
	t.calm = context.AfterFunc(t.ctx, func() { r.hurry(t) })
	r.tasks[t.ID] = t
	r.open.Add(1) // under the lock, so that Close waits for whatever was registered
	r.record(t)
	r.watchOutput()
	r.changed()
	return nil
}

// forget ends what is left of a task that is not listed any more. The caller holds
// the lock.
func (t *Task) forget() {
	if t.timer != nil {
		t.timer.Stop()
	}
}

// began is the move to running.
func (r *Runtime) began(t *Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.move(t, Running)
}

// ended is the move to a terminal status. It reports whether that is the first,
// and whether the end is to be told by a notification.
func (r *Runtime) ended(t *Task, to Status, why Reason, err error) (s Snapshot, tell, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !t.snap.Status.mayBecome(to) {
		return Snapshot{}, false, false
	}
	t.snap.Reason, t.snap.EndedAt = why, time.Now()
	if err != nil {
		t.snap.Error = err.Error()
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	if tell = t.snap.Backgrounded && t.claims == 0; tell {
		t.snap.Carrier = noticeID(t.snap)
	}
	r.move(t, to)
	for _, wake := range t.waiting {
		wake.pull()
	}
	return t.snap, tell, true
}

// move is the only writer of a status. The journal has the new one before anyone
// can see it. The caller holds the lock.
func (r *Runtime) move(t *Task, to Status) {
	if !t.snap.Status.mayBecome(to) {
		return
	}
	t.snap.Status = to
	r.record(t)
	r.changed()
}

// Get returns what is known of a task.
func (r *Runtime) Get(id ID) (Snapshot, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.tasks[id]
	if t == nil {
		return Snapshot{}, false
	}
	return t.snap, true
}

// Find returns what is known of a task, also of one that is forgotten: the journal
// remembers.
func (r *Runtime) Find(id ID) (Snapshot, bool) {
	if s, ok := r.Get(id); ok {
		return s, true
	}
	records, err := ReadJournal(r.opts.Dir)
	if err != nil {
		return Snapshot{}, false // it cannot be told from one that never was
	}
	for _, rec := range records {
		if rec.ID == id {
			s := rec.Snapshot
			s.Detail = rawDetail{s.Kind, rec.Detail}
			return s, true
		}
	}
	return Snapshot{}, false
}

// List returns all tasks that are known, in the order in which they started.
func (r *Runtime) List() []Snapshot {
	r.mu.Lock()
	out := make([]Snapshot, 0, len(r.tasks))
	for _, t := range r.tasks {
		out = append(out, t.snap)
	}
	r.mu.Unlock()
	slices.SortFunc(out, func(a, b Snapshot) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func (r *Runtime) ownedBy(id ID) []*Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	var owned []*Task
	for _, t := range r.tasks {
		if t.snap.Owner == id {
			owned = append(owned, t)
		}
	}
	return owned
}

// Watch yields all tasks, now and after each change, until ctx is done. It may
// skip a state that did not last, never the newest.
func (r *Runtime) Watch(ctx context.Context) iter.Seq[[]Snapshot] {
	return func(yield func([]Snapshot) bool) {
		change := newTrigger()
		r.mu.Lock()
		r.watchers[change] = struct{}{}
		r.mu.Unlock()
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.watchers, change)
		}()
		for yield(r.List()) {
			select {
			case <-change:
			case <-ctx.Done():
				return
			}
		}
	}
}

// changed wakes all who watch. The caller holds the lock.
func (r *Runtime) changed() {
	for w := range r.watchers {
		w.pull()
	}
}

// Update changes the description and the detail of a task that has not ended.
// What else f sets is ignored.
func (t *Task) Update(f func(*Snapshot)) {
	t.rt.mu.Lock()
	defer t.rt.mu.Unlock()
	t.update(f)
}

// Record sets the detail of a task that has not ended, and puts it into the
// journal: it is what a later run of the program has to know, such as the process
// that runs.
func (t *Task) Record(d Detail) {
	t.rt.mu.Lock()
	defer t.rt.mu.Unlock()
	if t.update(func(s *Snapshot) { s.Detail = d }) {
		t.rt.record(t)
	}
}

func (t *Task) update(f func(*Snapshot)) bool {
	if t.snap.Status.Terminal() {
		return false
	}
	s := t.snap
	f(&s)
	t.snap.Detail, t.snap.Description = s.Detail, s.Description
	t.rt.changed()
	return true
}

// Pin keeps a task listed for as long as someone looks at it, also through further
// attempts. Unpin may be called more than once.
func (r *Runtime) Pin(id ID) (unpin func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tasks[id] == nil {
		return func() {}
	}
	r.pins[id]++
	pinned := true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !pinned {
			return
		}
		pinned = false
		if r.pins[id]--; r.pins[id] == 0 {
			delete(r.pins, id)
			r.retire(r.tasks[id])
		}
	}
}

// retire starts the grace after which a task is forgotten, if its end was told and
// nobody looks at it. Its output stays on disk. The caller holds the lock.
func (r *Runtime) retire(t *Task) {
	if !t.snap.Told || r.pins[t.ID] > 0 || r.closed {
		return
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	t.timer = time.AfterFunc(r.opts.Grace, func() { r.evict(t) })
}

func (r *Runtime) evict(t *Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pins[t.ID] > 0 || r.tasks[t.ID] != t {
		return
	}
	r.past += t.grown.size
	delete(r.tasks, t.ID)
	r.changed()
}
