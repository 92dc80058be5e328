package task

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// Continue runs a task that is on record but not running: one that ended is started
// again, as a new attempt under the same id, and one that an earlier run of the program
// left running goes on. Its output is appended to what is there, and its end is told by
// a notification.
func (r *Runtime) Continue(s Snapshot, run Runner) (*Task, error) {
	if err := r.own(); err != nil {
		return nil, err
	}
	if s.Status.Terminal() {
		s.Attempt++
		s.Status = Pending
		s.Reason, s.Error, s.EndedAt = "", "", time.Time{}
	}
	s.Carrier, s.Told, s.Backgrounded = "", false, true
	out, err := r.reopenOutput(s.ID)
	if err != nil {
		return nil, err
	}
	s.OutputFile = out.Name()
	t := r.newTask(run, out, s)
	if err := r.register(t); err != nil {
		return nil, errors.Join(err, out.Close())
	}
	go r.live(t)
	return t, nil
}

// reopenOutput opens the output file of a task for more, or makes it if it is gone.
func (r *Runtime) reopenOutput(id ID) (*os.File, error) {
	path := outputPath(r.opts.Dir, id)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return createOutput(r.opts.Dir, id)
	}
	if err != nil {
		return nil, fmt.Errorf("open the output of task %s: %w", id, err)
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is not a regular file any more", path), f.Close())
	}
	return f, nil
}

// An Heir takes over what an earlier run of the program left.
type Heir interface {
	// Adopt returns a runner for a task that was running, or nil if nothing of it can
	// go on. It is called before any task is started.
	Adopt(Record) Runner
	// Left returns what ends the things that a task left behind when it ended, or nil
	// if there are none; see [Task.Leave].
	Left(Record) (end func() error)
}

// Recover takes up what the journal says of an earlier run of the program that ended
// without closing it, or before all was told. arrived says whether what a carrier brings
// reached the owner. A task that was running goes on with the runner that heir returns;
// without one, it counts as killed by the interruption. Every end that the owner does not
// know of is told by a notification. It is called before any task is started.
func (r *Runtime) Recover(arrived func(carrier string) bool, heir Heir) error {
	records, err := ReadJournal(r.opts.Dir)
	if err != nil || len(records) == 0 {
		return err
	}
	if err := r.own(); err != nil {
		return err
	}
	var errs []error
	for _, rec := range records {
		errs = append(errs, r.recover(rec, arrived, heir))
	}
	return errors.Join(errs...)
}

func (r *Runtime) recover(rec Record, arrived func(string) bool, heir Heir) error {
	s, copied := rec.Snapshot, foreign(r.opts.Dir, rec)
	s.Detail = rawDetail{s.Kind, rec.Detail}
	s.OutputFile = outputPath(r.opts.Dir, s.ID) // the session may have been moved
	if s.Status.Terminal() && !copied {
		if end := heir.Left(rec); end != nil {
			r.leave(r.ctx, s.ID, end)
		}
	}
	switch {
	case s.Told:
		return nil
	case !s.Status.Terminal():
		if run := adopt(heir, rec, copied); run != nil {
			s.Detail = nil // the runner knows better
			s.Owner = ""   // who owned it is gone
			_, err := r.Continue(s, run)
			return err
		}
		s.Status, s.Reason, s.EndedAt = Killed, ReasonInterrupted, time.Now()
		s.Error = "it was lost when the program was interrupted"
	case s.Carrier != "" && arrived(s.Carrier):
		s.Told = true
	}
	s.Backgrounded = true
	s.Carrier = noticeID(s)
	s.Told = s.Told || arrived(s.Carrier)
	t := r.newTask(nil, nil, s)
	close(t.done)
	close(t.background)
	r.mu.Lock()
	r.tasks[t.ID] = t
	r.record(t)
	if s.Told {
		r.retire(t)
	}
	r.mu.Unlock()
	if !s.Told {
		r.announce(t, s)
	}
	return nil
}

func adopt(heir Heir, rec Record, copied bool) Runner {
	if copied {
		return nil
	}
	return heir.Adopt(rec)
}

// rawDetail is the detail of a task that this run of the program only reports.
type rawDetail struct {
	kind Kind
	json []byte
}

func (d rawDetail) Kind() Kind { return d.kind }

// MarshalJSON returns the detail as it was written.
func (d rawDetail) MarshalJSON() ([]byte, error) {
	if len(d.json) == 0 {
		return []byte("null"), nil
	}
	return d.json, nil
}
