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
	// Notifier hears of the ends of background tasks. Nil: nobody wants to know.
	Notifier Notifier
	Limits   Limits
	// Grace is how long a task whose end was told stays listed; 0 means 30 s.
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
	opts   Options
	ctx    context.Context // ends with the runtime
	cancel context.CancelCauseFunc
	open   sync.WaitGroup // tasks that have not ended, and what they left behind

	mu       sync.Mutex
	tasks    map[ID]*Task
	pins     map[ID]int // how many look at a task
	journal  journal
	closed   bool
	watchers map[trigger]struct{} // pulled at each change
	faults   []error              // for Close to report
	carried  map[string][]*Task   // ended tasks by their Carrier, until it arrives
	owner    *os.File             // the lock on Dir, once there is a file in it
	patrol   *time.Timer          // looks at the output of running tasks, if there are any
	looked   time.Time            // when it did so last
	next     time.Time            // when it does so next
	past     int64                // bytes of output of tasks that are forgotten
}

// A trigger means "something changed, look again". It has a capacity of 1, so
// that pulling it never blocks, and pulling it twice is as good as once.
type trigger chan struct{}

func newTrigger() trigger { return make(trigger, 1) }

func (t trigger) pull() {
	select {
	case t <- struct{}{}:
	default:
	}
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
	return &Runtime{
		opts: o, ctx: ctx, cancel: cancel,
		tasks: map[ID]*Task{}, pins: map[ID]int{}, watchers: map[trigger]struct{}{}, carried: map[string][]*Task{},
		journal: journal{path: filepath.Join(o.Dir, journalName)},
	}, nil
}

// Start registers a task and runs it in its own goroutine. Its context derives
// from its owner's, so that ending an owner ends what it owns.
func (r *Runtime) Start(s Spec, run Runner) (*Task, error) {
	if letters[s.Kind] == 0 {
		return nil, fmt.Errorf("there is no kind of task %q", s.Kind)
	}
	if err := r.own(); err != nil {
		return nil, err
	}
	id := newID(s.Kind)
	out, err := createOutput(r.opts.Dir, id)
	if err != nil {
		return nil, err
	}
	t := r.newTask(run, out, Snapshot{
		ID: id, Kind: s.Kind, Status: Pending, Owner: s.Owner, Description: s.Description,
		ToolUseID: s.ToolUseID, StartedAt: time.Now(), OutputFile: out.Name(), Backgrounded: s.Background,
		Awaited: s.Awaited || s.Kind != LocalBash, Timer: s.Timer,
	})
	if err := r.register(t); err != nil {
		return nil, errors.Join(err, out.Close(), os.Remove(out.Name()))
	}
	go r.live(t)
	return t, nil
}

func (r *Runtime) newTask(run Runner, out *os.File, s Snapshot) *Task {
	return &Task{ID: s.ID, Output: out, rt: r, run: run, snap: s, done: make(chan struct{}), background: make(chan struct{})}
}

// live is the life of a task, top to bottom.
func (r *Runtime) live(t *Task) {
	// Stands if the runner ends the goroutine instead of returning.
	err := error(&EndError{ReasonPanic, errors.New("the runner ended its goroutine")})
	defer func() { r.finish(t, err) }()
	if t.ctx.Err() != nil {
		err = context.Cause(t.ctx) // ended before it ran
		return
	}
	r.began(t)
	err = protect(t)
}

// protect turns a panic into an ordinary failure.
func protect(t *Task) (err error) {
	defer func() {
		if v := recover(); v != nil {
			fmt.Fprintf(t.Output, "panic: %v\n%s", v, debug.Stack())
			err = &EndError{ReasonPanic, fmt.Errorf("panic: %v", v)}
		}
	}()
	return t.run.Run(t.ctx, t)
}

// hurry is called when t was told to stop. A runner that has not returned when
// patience is over is left alone, and its task ends without it.
func (r *Runtime) hurry(t *Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t.snap.Status.Terminal() {
		return
	}
	t.timer = time.AfterFunc(r.opts.Patience, func() {
		r.finish(t, &EndError{ReasonLeaked, fmt.Errorf(
			"%w; it did not stop within %v of being told to, and may have leaked", context.Cause(t.ctx), r.opts.Patience)})
	})
}

// finish ends a task: on record first, then for those who are to know. A second
// call does nothing: the runner of a task that was given up has returned at last.
func (r *Runtime) finish(t *Task, err error) {
	status, reason := verdict(t, err)
	status, reason, err = r.settle(t, status, reason, err)
	s, tell, first := r.ended(t, status, reason, err)
	if !first {
		return
	}
	t.calm()
	t.cancel(ErrOwnerEnded) // whatever the task still owns ends with it
	_ = t.Output.Close()    // nothing is buffered, so nothing can be lost
	if tell {
		r.announce(t, s)
	}
	close(t.done)
	r.open.Done()
}

// Kill ends a task and what it owns, and returns when the ends are on record, or
// says what may still run. The cause says who wants it: [ErrKilled] for a person,
// [ErrStopped] for the model, which holds a [Claim] so that its call tells the end.
func (r *Runtime) Kill(id ID, cause error) error {
	r.mu.Lock()
	t := r.tasks[id]
	if t == nil || t.snap.Status.Terminal() {
		r.mu.Unlock()
		return fmt.Errorf("task %s: %w", id, ErrNotRunning)
	}
	r.mu.Unlock()
	t.Stop(cause)
	return r.verify(t)
}

// verify waits for the ends of t and of what it owns, at any depth.
func (r *Runtime) verify(t *Task) error {
	<-t.done
	var errs []error
	if s := t.Snapshot(); s.Reason == ReasonLeaked {
		errs = append(errs, fmt.Errorf("task %s (%s): %s", s.ID, s.Description, s.Error))
	}
	for _, owned := range r.ownedBy(t.ID) { // now that t has ended, no more are added
		errs = append(errs, r.verify(owned))
	}
	return errors.Join(errs...)
}

// Leave hands over something that outlives the task, such as a process that a
// command left behind. It belongs to the owner of the task from now on: end is called
// when the owner ends or the session closes. To be called by the runner.
func (t *Task) Leave(end func() error) { t.rt.leave(t.parent, t.ID, end) }

// leave arranges for end to be called when owner ends.
func (r *Runtime) leave(owner context.Context, id ID, end func() error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := func() {}
	if t := r.tasks[id]; t == nil || !t.snap.Status.Terminal() { // otherwise Close may have stopped waiting
		r.open.Add(1)
		done = r.open.Done
	}
	context.AfterFunc(owner, func() {
		defer done()
		if err := end(); err != nil {
			r.fault(fmt.Errorf("what task %s left behind: %w", id, err))
		}
	})
}

// Close ends all tasks and what they left behind, and returns when that is done.
// When ctx is done it stops waiting. The error names what may still run, and
// what the journal lacks.
func (r *Runtime) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.cancel(ErrShutdown)
	defer r.stopWatching()
	all := make(chan struct{})
	go func() { r.open.Wait(); close(all) }()
	var waited error
	select {
	case <-all:
	case <-ctx.Done():
		waited = fmt.Errorf("tasks were still ending: %w", context.Cause(ctx))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := append([]error{waited}, r.faults...)
	for _, t := range r.tasks {
		switch {
		case !t.snap.Status.Terminal():
			errs = append(errs, fmt.Errorf("task %s (%s) has not ended", t.ID, t.snap.Description))
		case t.snap.Reason == ReasonLeaked:
			errs = append(errs, fmt.Errorf("task %s (%s): %s", t.ID, t.snap.Description, t.snap.Error))
		}
		if t.timer != nil && t.snap.Status.Terminal() {
			t.timer.Stop() // nobody asks any more
		}
	}
	r.faults = nil
	if r.owner != nil {
		errs = append(errs, r.owner.Close())
		r.owner = nil
	}
	return errors.Join(append(errs, r.journal.close())...)
}

// fault remembers an error that has nobody to go to before Close.
func (r *Runtime) fault(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, err)
}
