package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"
)

// Options configure a [Runtime].
type Options struct {
	Dir string // for output files and the journal; made when first needed, 0700
	// Notifier hears of the ends of background tasks. Nil tells nobody.
	Notifier Notifier
	// Grace is how long an ended task stays listed; 0 means 30 s.
	Grace time.Duration
	// Patience is how long a runner may take to return once it was told to stop
	// before it is given up as leaked; 0 means 10 s.
	Patience time.Duration
}

const (
	defaultGrace    = 30 * time.Second
	defaultPatience = 10 * time.Second
)

// Runtime runs tasks and knows them all. It is safe for use by many goroutines.
type Runtime struct {
	Options
	ctx    context.Context // ends with the runtime
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup // the goroutines of tasks

	mu      sync.Mutex
	tasks   map[ID]*entry
	journal *journal
	closed  bool
	watch   chan struct{} // closed and replaced at each change
}

// entry pairs what is known about a task with the running thing itself.
type entry struct {
	Snapshot
	live  *Task
	pins  int
	timer *time.Timer // evicts, after the end
}

// NewRuntime returns a runtime that keeps its files in o.Dir.
func NewRuntime(o Options) (*Runtime, error) {
	if !filepath.IsAbs(o.Dir) {
		return nil, fmt.Errorf("task directory %q is not absolute", o.Dir)
	}
	if o.Grace == 0 {
		o.Grace = defaultGrace
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Runtime{Options: o, ctx: ctx, cancel: cancel, tasks: map[ID]*entry{}, watch: make(chan struct{})}, nil
}

// Start registers a task and runs it in its own goroutine. Its context derives
// from its owner's, so that ending an owner ends what it owns.
func (r *Runtime) Start(s Spec, run Runner) (*Task, error) {
	if letters[s.Kind] == 0 {
		return nil, fmt.Errorf("there is no kind of task %q", s.Kind)
	}
	id := newID(s.Kind)
	out, err := r.createOutput(id)
	if err != nil {
		return nil, err
	}
	t := &Task{ID: id, Output: out, rt: r, done: make(chan struct{}), background: make(chan struct{})}
	if err := r.register(t, s); err != nil {
		return nil, errors.Join(err, out.Close(), os.Remove(out.Name()))
	}
	go r.run(t, run)
	return t, nil
}

func (r *Runtime) register(t *Task, s Spec) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrShutdown
	}
	parent := r.ctx
	if s.Owner != "" {
		owner := r.tasks[s.Owner]
		if owner == nil || owner.Status.Terminal() {
			return fmt.Errorf("owner %s: %w", s.Owner, ErrNotRunning)
		}
		parent = owner.live.ctx
	}
	snap := Snapshot{
		ID: t.ID, Kind: s.Kind, Status: Pending, Owner: s.Owner, Description: s.Description,
		ToolUseID: s.ToolUseID, StartedAt: time.Now(), OutputFile: t.Output.Name(),
	}
	if err := r.write(snap); err != nil {
		return err
	}
	t.ctx, t.cancel = context.WithCancelCause(parent)
	r.tasks[t.ID] = &entry{live: t, Snapshot: snap}
	r.wg.Add(1) // under the lock, so that Close waits for whatever was registered
	r.changed()
	return nil
}

// run is the life of a task, top to bottom.
func (r *Runtime) run(t *Task, run Runner) {
	defer r.wg.Done()
	r.move(t, Running, "", nil)
	err := r.supervise(t, run)
	status, reason := verdict(t.ctx, err)
	t.cancel(ErrOwnerEnded) // whatever the task still owns ends with it
	t.Output.Close()
	r.finish(t, status, reason, err)
}

// supervise runs the runner, and gives it up if it does not return after it was
// told to stop.
func (r *Runtime) supervise(t *Task, run Runner) error {
	over := make(chan error, 1) // room for the result of a runner that was given up
	go func() { over <- protect(t, run) }()
	select {
	case err := <-over:
		return err
	case <-t.ctx.Done():
	}
	patience := time.NewTimer(r.Patience)
	defer patience.Stop()
	select {
	case err := <-over:
		return err
	case <-patience.C:
		return &EndError{ReasonLeaked, fmt.Errorf("it did not stop within %v of being told to, and may have leaked", r.Patience)}
	}
}

// protect turns a panic into an ordinary failure.
func protect(t *Task, run Runner) (err error) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(t.Output, "panic: %v\n%s", v, debug.Stack())
			err = &EndError{ReasonPanic, fmt.Errorf("panic: %v", v)}
		}
	}()
	return run.Run(t.ctx, t)
}

// finish puts the end on record, and tells it if nobody waits.
func (r *Runtime) finish(t *Task, status Status, reason Reason, err error) {
	s, moved := r.move(t, status, reason, err)
	close(t.done)
	if moved && s.Backgrounded {
		r.tell(t.ID)
	}
}

// move is the only writer of Status; it reports whether the move happened. The
// journal has it before anyone can see it.
func (r *Runtime) move(t *Task, to Status, reason Reason, err error) (Snapshot, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.tasks[t.ID]
	if !ok || e.live != t || !e.Status.mayBecome(to) {
		return Snapshot{}, false
	}
	e.Status, e.Reason = to, reason
	if err != nil {
		e.Error = err.Error()
	}
	if to.Terminal() {
		e.EndedAt = time.Now()
		e.timer = time.AfterFunc(r.Grace, func() { r.evict(t.ID) })
	}
	// A journal that cannot be written must not keep a task from ending.
	_ = r.write(e.Snapshot)
	r.changed()
	return e.Snapshot, true
}

// Kill ends a task and returns when the end is on record. The cause says who ends
// it: [ErrKilled], [ErrStopped]. The end counts as told: the caller knows.
func (r *Runtime) Kill(id ID, cause error) error {
	r.mu.Lock()
	e := r.tasks[id]
	if e == nil || e.Status.Terminal() {
		r.mu.Unlock()
		return fmt.Errorf("task %s: %w", id, ErrNotRunning)
	}
	e.Told = true
	t := e.live
	r.mu.Unlock()
	t.cancel(cause)
	<-t.done
	if s := t.Snapshot(); s.Reason == ReasonLeaked {
		return fmt.Errorf("task %s: %s", id, s.Error)
	}
	return nil
}

// Close ends all tasks and waits for them. When ctx is done it stops waiting
// and names those that still run.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel(ErrShutdown)
	all := make(chan struct{})
	go func() { r.wg.Wait(); close(all) }()
	var err error
	select {
	case <-all:
	case <-ctx.Done():
		err = r.stragglers()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.tasks {
		if e.timer != nil {
			e.timer.Stop()
		}
	}
	return errors.Join(err, r.journal.close())
}

func (r *Runtime) stragglers() error {
	var errs []error
	for _, s := range r.List() {
		if !s.Status.Terminal() {
			errs = append(errs, fmt.Errorf("task %s (%s) has not ended", s.ID, s.Description))
		}
	}
	return errors.Join(errs...)
}
