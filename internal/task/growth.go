package task

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Limits bound the output of tasks. What is 0 has its default.
type Limits struct {
	Task    int64 // bytes of one output file; 5 GB, or half of a smaller disk
	Session int64 // bytes of all output files; 20 GB
}

const (
	defaultTaskLimit    = 5e9
	defaultSessionLimit = 20e9
	// reserve is how much of a disk is left free: 16 MB, or a hundredth of it.
	reserve = 16e6
)

// How often the output of running tasks is looked at: as often as it takes to notice a
// limit in time, given how fast they grow.
const (
	lookRarely = 2 * time.Second
	lookSoon   = 100 * time.Millisecond // after a task began
	lookOften  = 20 * time.Millisecond
)

// growth is what is known of an output file. Guarded by the lock of the runtime.
type growth struct {
	size  int64
	since time.Time // when it was last seen to have grown; the start, if it never did
	rate  float64   // bytes per second at the last look
}

// A Spectator is a [Runner] that wants to know how long its output has not grown. Quiet
// is called every few seconds while it runs, and must not block.
type Spectator interface {
	Quiet(t *Task, size int64, quiet time.Duration)
}

// watchOutput sees to it that the output of a task that begins is looked at soon. The
// caller holds the lock.
func (r *Runtime) watchOutput() {
	now := time.Now()
	switch {
	case r.closed:
	case r.patrol == nil:
		r.looked = now
		r.patrol = time.AfterFunc(lookSoon, r.inspect)
	case r.next.Sub(now) > lookSoon:
		r.patrol.Reset(lookSoon)
	default:
		return
	}
	r.next = now.Add(lookSoon)
}

func (r *Runtime) stopWatching() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.patrol != nil {
		r.patrol.Stop()
		r.patrol = nil
	}
}

// inspect looks at the output of all running tasks, once for all of them.
func (r *Runtime) inspect() {
	quiet, stop, again := r.measure(time.Now())
	for _, q := range quiet {
		q()
	}
	for t, cause := range stop {
		t.Stop(cause)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.patrol == nil: // the runtime was closed meanwhile
	case again == 0 && !r.busy():
		r.patrol = nil
	default:
		again = max(again, lookOften) // a task may have begun since the look
		r.patrol.Reset(again)
		r.next = time.Now().Add(again)
	}
}

// busy reports whether a task runs. The caller holds the lock.
func (r *Runtime) busy() bool {
	for _, t := range r.tasks {
		if !t.snap.Status.Terminal() {
			return true
		}
	}
	return false
}

// measure returns whom to tell how quiet it is, which tasks are to be stopped and why,
// and when to look again; 0 is never.
func (r *Runtime) measure(now time.Time) (quiet []func(), stop map[*Task]error, again time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	passed := max(now.Sub(r.looked).Seconds(), 1e-3)
	r.looked = now
	stop = map[*Task]error{}
	total := r.past
	var growing []*Task
	for _, t := range r.tasks {
		if t.snap.Status.Terminal() {
			total += t.grown.size
			continue
		}
		again = max(again, lookRarely)
		t.measure(now, passed)
		total += t.grown.size
		if s, ok := t.run.(Spectator); ok {
			size, still := t.grown.size, now.Sub(t.grown.since)
			quiet = append(quiet, func() { s.Quiet(t, size, still) })
		}
		if t.grown.rate > 0 {
			growing = append(growing, t)
		}
	}
	free, spare := r.space(len(growing) > 0)
	for _, t := range growing {
		left := min(r.opts.Limits.Task-t.grown.size, r.opts.Limits.Session-total)
		switch {
		case left < 0:
			stop[t] = ErrOutput
		case free < spare && t.grown.size > spare:
			stop[t] = ErrNoSpace
		}
		left = min(left, max(free-spare, 0))
		soon := time.Duration(float64(left) / t.grown.rate / 2 * float64(time.Second))
		again = min(again, max(soon, lookOften))
	}
	return quiet, stop, again
}

// measure looks at one output file. The caller holds the lock.
func (t *Task) measure(now time.Time, passed float64) {
	g := &t.grown
	if g.since.IsZero() {
		g.since = t.snap.StartedAt
	}
	g.rate = 0
	info, err := t.Output.Stat()
	if err != nil || info.Size() == g.size {
		return
	}
	g.rate = max(float64(info.Size()-g.size)/passed, 1)
	g.size, g.since = info.Size(), now
}

// space returns how much of the disk is free, and how much shall stay so. Nothing has to
// be known while nothing grows.
func (r *Runtime) space(wanted bool) (free, spare int64) {
	var disk syscall.Statfs_t
	if !wanted || syscall.Statfs(r.opts.Dir, &disk) != nil {
		return 1 << 62, 0
	}
	return int64(disk.Bavail) * int64(disk.Bsize), min(reserve, int64(disk.Blocks)*int64(disk.Bsize)/100)
}

// full reports whether nothing to speak of can be written beside f.
func full(f *os.File) bool {
	const little = 64 << 10 // files of ours that go at the end of a task leave some room
	var disk syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &disk) == nil && int64(disk.Bavail)*int64(disk.Bsize) < little
}

// bounded fills in what was not said about limits, for the disk that holds dir.
func (l Limits) bounded(dir string) Limits {
	if l.Session == 0 {
		l.Session = defaultSessionLimit
	}
	if l.Task == 0 {
		l.Task = defaultTaskLimit
		var disk syscall.Statfs_t
		if syscall.Statfs(dir, &disk) == nil {
			l.Task = min(l.Task, int64(disk.Blocks)*int64(disk.Bsize)/2)
		}
	}
	return l
}

// settle cuts output that went beyond its limit, in the moment before it was noticed, and
// says so in it. An end that is good in itself is not, if output is missing.
func (r *Runtime) settle(t *Task, status Status, reason Reason, err error) (Status, Reason, error) {
	info, statErr := t.Output.Stat()
	if statErr != nil {
		return status, reason, err
	}
	r.mu.Lock()
	limit := r.opts.Limits.Task
	t.grown.size = min(info.Size(), limit)
	r.mu.Unlock()
	if status == Failed && reason != ReasonLeaked && full(t.Output) { // before room is made below
		reason = ReasonNoSpace // what failed is what could not write
	}
	if info.Size() > limit {
		if err := t.Output.Truncate(limit); err != nil {
			r.fault(fmt.Errorf("cut the output of task %s: %w", t.ID, err))
		}
		if status == Completed {
			status, reason, err = Failed, ReasonOutputLimit, errors.New("it printed more than the limit of its output")
		}
	}
	if reason == ReasonOutputLimit {
		fmt.Fprintf(t.Output, "\n[output truncated: it reached the limit of %d bytes for a task, or of %d for the session]\n",
			limit, r.opts.Limits.Session)
	}
	return status, reason, err
}
