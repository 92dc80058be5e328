package builtin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"heddle/internal/tool"
)

// bom is the byte order mark that some editors put before UTF-8 text.
const bom = "\uFEFF"

// Locks lets one change at a time be made to a file, whichever agent of this
// process makes it. The tools that change files share one.
type Locks struct {
	mu   sync.Mutex
	held map[string]*lock // by real path
}

type lock struct {
	sync.Mutex
	users int // who hold it or wait for it; guarded by Locks.mu
}

// NewLocks returns a table in which no file is locked.
func NewLocks() *Locks { return &Locks{held: map[string]*lock{}} }

// lock waits until nobody else changes path.
func (l *Locks) lock(path string) (unlock func()) {
	l.mu.Lock()
	k := l.held[path]
	if k == nil {
		k = &lock{}
		l.held[path] = k
	}
	k.users++
	l.mu.Unlock()
	k.Lock()
	return func() {
		k.Unlock()
		l.mu.Lock()
		defer l.mu.Unlock()
		if k.users--; k.users == 0 {
			delete(l.held, path)
		}
	}
}

// change is what was done to a file.
type change struct {
	path     string // as the call named it, absolute
	created  bool
	old, new string
}

// change replaces the content of path by what edit makes of it. A file that the
// agent has not read, or that is not what it read, is left alone: the edit would
// undo a change that the agent does not know of.
func (l *Locks) change(ctx context.Context, s *tool.Scope, path string, edit func(old string, exists bool) (string, error)) (change, error) {
	target, err := real(path)
	if err != nil {
		return change{}, inaccessible(s, path, err)
	}
	defer l.lock(target)()

	c := change{path: path}
	info, err := os.Stat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.created = true
	case err != nil:
		return change{}, inaccessible(s, path, err)
	default:
		if c.old, err = current(ctx, s, path, target); err != nil {
			return change{}, err
		}
	}
	if c.new, err = edit(c.old, !c.created); err != nil {
		return change{}, err
	}
	if err := replace(target, info, c.old, c.new); err != nil {
		return change{}, unwritable(path, err)
	}
	s.Files.Seen(target, tool.VersionOf([]byte(c.new)))
	return c, nil
}

// current returns the content of a file, provided the agent knows it.
func current(ctx context.Context, s *tool.Scope, path, target string) (string, error) {
	f, _, err := openRegular(ctx, s, target)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := readAll(path, f, editLimit)
	if err != nil {
		return "", err
	}
	switch known, ok := s.Files.Version(target); {
	case !ok:
		return "", refuse("You have not read %s yet. Read it first, then change it.", show(path))
	case known != tool.VersionOf(data):
		return "", refuse("%s has changed since you read it: someone else edited it, or a command did. "+
			"Nothing was written. Read it again, then make your change.", show(path))
	}
	return string(data), nil
}

// unwritable says why a file could not be written.
func unwritable(path string, err error) error {
	var reason *fs.PathError
	if errors.As(err, &reason) {
		err = reason.Err
	}
	return refuse("%s was not changed: %v.", show(path), err)
}
