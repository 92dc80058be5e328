package task

import (
	"cmp"
	"context"
	"iter"
	"slices"
)

// Get returns what is known of a task.
func (r *Runtime) Get(id ID) (Snapshot, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.tasks[id]
	if e == nil {
		return Snapshot{}, false
	}
	return e.Snapshot, true
}

// List returns all tasks that are known, in the order in which they started.
func (r *Runtime) List() []Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.list()
}

func (r *Runtime) list() []Snapshot {
	out := make([]Snapshot, 0, len(r.tasks))
	for _, e := range r.tasks {
		out = append(out, e.Snapshot)
	}
	slices.SortFunc(out, func(a, b Snapshot) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Watch yields all tasks, now and after each change, until ctx is done. It may
// skip a state that did not last, never the newest.
func (r *Runtime) Watch(ctx context.Context) iter.Seq[[]Snapshot] {
	return func(yield func([]Snapshot) bool) {
		for {
			r.mu.Lock()
			list, change := r.list(), r.watch
			r.mu.Unlock()
			if !yield(list) {
				return
			}
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
	close(r.watch)
	r.watch = make(chan struct{})
}

// Pin keeps a task listed for as long as someone looks at it. Unpin may be
// called more than once.
func (r *Runtime) Pin(id ID) (unpin func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.tasks[id]
	if e == nil {
		return func() {}
	}
	e.pins++
	pinned := true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !pinned {
			return
		}
		pinned = false
		if e.pins--; e.pins == 0 && e.timer != nil {
			e.timer.Reset(r.Grace)
		}
	}
}

// evict forgets a task, unless someone looks at it or nobody knows of its end. Its output
// stays on disk.
func (r *Runtime) evict(id ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.tasks[id]
	if e == nil || e.pins > 0 {
		return
	}
	if !e.Told {
		e.timer.Reset(r.Grace)
		return
	}
	delete(r.tasks, id)
	r.changed()
}
