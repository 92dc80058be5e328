package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// errHeld is what [tryLock] returns when another has the lock.
var errHeld = errors.New("it is locked")

// tryLock locks a file, which is made if it is not there. The lock is gone when the
// returned file is closed, here and in every process that got it, or when these ended.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	err = flock(f)
	if err == nil && !stillAt(f, path) {
		err = errHeld // who had it took the file away; what is there now is another's
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return errHeld
		case err != nil:
			return fmt.Errorf("lock %q: %w", f.Name(), err)
		default:
			return nil
		}
	}
}

func stillAt(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// The system cannot wait for a lock and for a context at once, so it is asked again and
// again, at times that grow from the first to the second of these.
const (
	lockFirst = time.Millisecond
	lockLast  = 30 * time.Millisecond
)

// lock is tryLock that waits until ctx is done.
func lock(ctx context.Context, path string) (*os.File, error) {
	for pause := lockFirst; ; pause = min(2*pause, lockLast) {
		f, err := tryLock(path)
		if !errors.Is(err, errHeld) {
			return f, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %q: %w", path, context.Cause(ctx))
		}
	}
}
