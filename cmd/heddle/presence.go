package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"heddle/internal/control"
	"heddle/internal/task"
	"heddle/internal/task/shell"
)

// A running session has a file in the run folder of heddle's home that says where its
// tasks are. Its lock goes with the process, whatever ends that: a file without a lock is
// what a crash leaves behind, and leads to the commands that may still run.

const presenceEnd = ".session"

func (p place) runDir() string { return filepath.Join(p.home, "run") }

// present makes the session known to other runs of heddle until release is called. The
// file appears whole and locked.
func present(p place, session string) (release func() error, err error) {
	dir := p.runDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the run folder: %w", err)
	}
	f, err := os.CreateTemp(dir, "new-*") // 0600
	if err != nil {
		return nil, fmt.Errorf("make the session known: %w", err)
	}
	path := filepath.Join(dir, session+presenceEnd)
	// Another start may be cleaning up after this session right now. That ends soon.
	if old, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0); err == nil {
		defer old.Close()
		for syscall.Flock(int(old.Fd()), syscall.LOCK_EX) == syscall.EINTR {
		}
	}
	_, err = f.WriteString(p.taskDir(session) + "\n")
	err = errors.Join(err, syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), os.Rename(f.Name(), path))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make the session known: %w", err), f.Close(), os.Remove(f.Name()))
	}
	return func() error { return errors.Join(os.Remove(path), f.Close()) }, nil
}

// crashed reports whether a session that is about to go on has died without an end of its
// own. Its lock is another's only while that cleans up.
func crashed(p place, session string) bool {
	_, err := os.Lstat(filepath.Join(p.runDir(), session+presenceEnd))
	return err == nil
}

// cleanUp ends what sessions left running that died without an end of their own, except
// the one that is about to go on. Ends that were not told before are told when such a
// session goes on.
func cleanUp(p place, except string, stderr io.Writer) {
	files, _ := filepath.Glob(filepath.Join(p.runDir(), "*"+presenceEnd)) // the pattern is good
	for _, path := range files {
		session := strings.TrimSuffix(filepath.Base(path), presenceEnd)
		if session == except {
			continue
		}
		ended, err := abandoned(path)
		for _, s := range ended {
			fmt.Fprintf(stderr, "heddle: ended what session %s left running when it died: task %s (%s)\n", session, s.ID, plainLine(s.Description))
		}
		if err != nil {
			fmt.Fprintf(stderr, "heddle: clean up after session %s: %v\n", session, err)
		}
	}
}

// abandoned takes over the session of a file, if its process is gone. It returns the
// tasks that had been running.
func abandoned(path string) (running []task.Snapshot, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // it has just ended
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil, nil // it runs
	}
	if mine, err := f.Stat(); err != nil || !stillThere(path, mine) {
		return nil, nil // somebody else has cleaned up meanwhile
	}
	text, err := io.ReadAll(io.LimitReader(f, 16<<10))
	if err != nil {
		return nil, err
	}
	dir := strings.TrimSuffix(string(text), "\n")
	// The file tells a path, and what is there gets written to: only where tasks can be.
	if _, err := os.Stat(dir); err == nil && filepath.Base(dir) == "tasks" {
		var mu sync.Mutex
		err := task.Abandon(dir, func(r task.Record) error {
			if !r.Status.Terminal() {
				mu.Lock()
				running = append(running, r.Snapshot)
				mu.Unlock()
			}
			return shell.End(r)
		})
		if err != nil {
			return running, err // the file stays: the next start tries again
		}
	}
	session := strings.TrimSuffix(filepath.Base(path), presenceEnd)
	if err := endExtensions(session); err != nil {
		return running, err
	}
	if err := control.Remove(filepath.Dir(path), session); err != nil {
		return running, err
	}
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return running, err
	}
	return running, nil
}

// stillThere reports whether path names the file that was opened.
func stillThere(path string, opened os.FileInfo) bool {
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(now, opened)
}

// defaultKeep is how long the output of tasks is kept.
const defaultKeep = 30 * 24 * time.Hour

// sweepTasks removes the task folders of sessions that ended long ago, once a day.
func sweepTasks(p place, keep time.Duration, stderr io.Writer) {
	if keep == 0 {
		keep = defaultKeep
	}
	stamp := filepath.Join(p.runDir(), "swept")
	if info, err := os.Stat(stamp); err == nil && time.Since(info.ModTime()) < 24*time.Hour {
		return
	}
	dirs, _ := filepath.Glob(filepath.Join(p.home, "projects", "*", "*", "tasks"))
	if _, err := task.Sweep(dirs, keep); err != nil {
		fmt.Fprintf(stderr, "heddle: remove old task output: %v\n", err)
	}
	// If it cannot be written, the next start sweeps again.
	if f, err := os.OpenFile(stamp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600); err == nil {
		_ = f.Close()
		_ = os.Chtimes(stamp, time.Time{}, time.Now())
	}
}
