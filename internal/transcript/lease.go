package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"
)

// ErrInUse is what every [InUseError] is.
var ErrInUse = errors.New("session is in use")

// InUseError says that another writer has the session.
type InUseError struct {
	Path  string
	Owner Owner
}

func (e *InUseError) Error() string {
	who := "another process"
	if e.Owner.PID != 0 {
		who = fmt.Sprintf("process %d", e.Owner.PID)
		if host, _ := os.Hostname(); host != e.Owner.Host {
			who += " on " + e.Owner.Host
		}
		who += " since " + e.Owner.Since.Local().Format("2006-01-02 15:04")
	}
	return fmt.Sprintf("session is in use by %s; end it there, or go on in a copy with --fork-session", who)
}

// Is makes errors.Is(err, ErrInUse) true.
func (e *InUseError) Is(target error) bool { return target == ErrInUse }

// Owner is the process that holds a lease.
type Owner struct {
	PID     int       `json:"pid"`
	Started string    `json:"started"` // when the process began, as its system counts
	Host    string    `json:"host"`
	Since   time.Time `json:"since"` // when it took the lease
}

// alive reports whether o still runs. Of a process on another host nothing is
// known: it counts as alive.
func (o Owner) alive() bool {
	if o.PID == 0 {
		return false
	}
	if host, _ := os.Hostname(); host != o.Host {
		return true
	}
	started, ok := processStart(o.PID)
	return ok && started == o.Started
}

// lease is the right to write a transcript: a lock on a file beside it, which
// the system gives back when its process ends in whatever way. A stopped
// process keeps it.
type lease struct {
	f *os.File
}

func lockPath(path string) string { return path + ".lock" }

// takeLease takes the lease of the transcript at path, or returns an [*InUseError].
func takeLease(path string) (*lease, error) {
	const tries = 1000 // an owner can be done only so often in between
	for range tries {
		f, err := os.OpenFile(lockPath(path), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, fmt.Errorf("take the lease of the session: %w", err)
		}
		err = lock(f)
		owner := readOwner(f)
		switch {
		case errors.Is(err, syscall.EWOULDBLOCK):
			f.Close()
			return nil, &InUseError{path, owner}
		case err != nil && owner.alive():
			// A file system without locks: the owner's word has to do.
			f.Close()
			return nil, &InUseError{path, owner}
		case !current(f):
			f.Close() // its owner removed it when it was done; another one may be there
			continue
		}
		// With a lock, the name is only for people: a full disk must not keep
		// them from their session.
		if werr := writeOwner(f); werr != nil && err != nil {
			f.Close()
			return nil, fmt.Errorf("take the lease of the session: %w", werr)
		}
		return &lease{f}, nil
	}
	return nil, fmt.Errorf("take the lease of the session: %s changes all the time", lockPath(path))
}

func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EINTR {
			return err
		}
	}
}

// current reports whether f is still the file of its name.
func current(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, named)
}

// release gives the lease back. The file goes first: who opens the old one
// finds out in takeLease.
func (l *lease) release() error {
	err := os.Remove(l.f.Name())
	return errors.Join(err, l.f.Close())
}

func writeOwner(f *os.File) error {
	host, _ := os.Hostname()
	o := Owner{PID: os.Getpid(), Host: host, Since: time.Now().UTC()}
	o.Started, _ = processStart(o.PID)
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, '\n'), 0)
	return err
}

// readOwner returns no owner when the file does not name one.
func readOwner(r io.ReaderAt) Owner {
	var o Owner
	text := make([]byte, 4096)
	n, _ := r.ReadAt(text, 0)
	if json.Unmarshal([]byte(strings.TrimSpace(string(text[:n]))), &o) != nil {
		return Owner{}
	}
	return o
}

// holder returns who holds the lease of the transcript at path, without
// touching it.
func holder(path string) (Owner, bool) {
	f, err := os.OpenFile(lockPath(path), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Owner{}, false
	}
	defer f.Close()
	o := readOwner(f)
	return o, o.alive()
}
