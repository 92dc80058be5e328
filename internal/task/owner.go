package task

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// ownerName is a file in the folder of a runtime. Its lock says that the runtime lives:
// the system takes it away when the program ends, in whatever way.
const ownerName = "owner.lock"

// ErrOwned is returned for a folder that a running program works in.
var ErrOwned = errors.New("its session is running")

// own makes the folder of the runtime, and claims it.
func (r *Runtime) own() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.owner != nil {
		return nil
	}
	if r.closed {
		return ErrShutdown
	}
	if err := os.MkdirAll(r.opts.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder for task output: %w", err)
	}
	f, err := lockFolder(r.opts.Dir)
	if err != nil {
		return fmt.Errorf("use the task folder %s: %w", r.opts.Dir, err)
	}
	r.owner = f
	r.opts.Limits = r.opts.Limits.bounded(r.opts.Dir)
	return nil
}

// lockFolder takes the lock of a folder, or returns [ErrOwned].
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, ownerName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	err = flock(f, syscall.LOCK_EX)
	for try := 0; errors.Is(err, syscall.EWOULDBLOCK) && try < 10; try++ { // somebody may only look; see Live
		<-time.After(5 * time.Millisecond)
		err = flock(f, syscall.LOCK_EX)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = ErrOwned
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func flock(f *os.File, how int) error { return syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB) }

// Live reports whether a running program works in a task folder. The only way to find out
// is to take the lock for a moment: shared, so that two who look do not take each other
// for the owner.
func Live(dir string) bool {
	f, err := os.OpenFile(filepath.Join(dir, ownerName), os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(flock(f, syscall.LOCK_SH), syscall.EWOULDBLOCK)
}

// foreign reports whether a record was written for another folder, which is still there:
// the session was copied, and what runs is not this one's.
func foreign(dir string, rec Record) bool {
	if rec.OutputFile == "" {
		return false
	}
	there, err := os.Stat(filepath.Dir(rec.OutputFile))
	if err != nil {
		return false // moved
	}
	here, err := os.Stat(dir)
	return err == nil && !os.SameFile(here, there)
}

// Abandon takes over the folder of a program that died, ends what is left of its running
// tasks, and puts their ends on record, so that the session hears of them when it goes on.
// end ends what the record tells of, for instance processes. A folder whose program runs
// is left alone: that is [ErrOwned].
func Abandon(dir string, end func(Record) error) error {
	f, err := lockFolder(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	records, err := ReadJournal(dir)
	if err != nil {
		return err
	}
	j := journal{path: filepath.Join(dir, journalName)}
	errs := make([]error, len(records))
	var ending sync.WaitGroup // all at once: each may want its grace
	for i, rec := range records {
		if !foreign(dir, rec) {
			ending.Go(func() { errs[i] = end(rec) })
		}
	}
	ending.Wait()
	for _, rec := range records {
		if rec.Status.Terminal() {
			continue
		}
		s := rec.Snapshot
		s.Detail = rawDetail{s.Kind, rec.Detail}
		s.Status, s.Reason, s.EndedAt = Killed, ReasonInterrupted, time.Now()
		s.Error = "the program that ran it died"
		errs = append(errs, j.write(s))
	}
	return errors.Join(append(errs, j.close())...)
}

// Sweep removes the task folders among dirs that nobody has used for as long as age, and
// whose program does not run. It returns which they were.
func Sweep(dirs []string, age time.Duration) (removed []string, err error) {
	var errs []error
	for _, dir := range dirs {
		info, err := os.Lstat(filepath.Join(dir, journalName))
		if err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		f, err := lockFolder(dir)
		if err != nil {
			continue // in use, or not ours to touch
		}
		err = os.RemoveAll(dir)
		errs = append(errs, err, f.Close())
		if err == nil {
			removed = append(removed, dir)
		}
	}
	return removed, errors.Join(errs...)
}
