package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A child is a started process that nobody has collected yet.
type child struct {
	pid   int
	pidfd *os.File // nil: the kernel has none
}

// launch starts s in g, or without it if that is not possible. It returns the
// group that the child is in.
func launch(s Spec, null *os.File, g *group) (child, *group, error) {
	if g != nil {
		dir, err := os.Open(g.dir)
		if err == nil {
			c, err := s.fork(null, dir)
			dir.Close()
			if err == nil {
				return c, g, nil
			}
		}
		// Whether the group or the program was at fault, the next try tells.
		g.remove()
	}
	c, err := s.fork(null, nil)
	return c, nil, err
}

func (s Spec) fork(null, into *os.File) (child, error) {
	pidfd := -1
	sys := &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	if into != nil {
		sys.UseCgroupFD, sys.CgroupFD = true, int(into.Fd())
	}
	pid, _, err := syscall.StartProcess(s.Path, s.Args, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Sys: sys,
		Files: []uintptr{null.Fd(), s.Stdout.Fd(), s.Stderr.Fd()},
	})
	if err != nil {
		return child{}, err
	}
	c := child{pid: pid}
	if pidfd >= 0 {
		// Only a non-blocking descriptor is given to the poller of the runtime.
		if err := unix.SetNonblock(pidfd, true); err == nil {
			c.pidfd = os.NewFile(uintptr(pidfd), "pidfd")
		} else {
			unix.Close(pidfd)
		}
	}
	return c, nil
}

// pollable reports whether the kernel tells the poller of the runtime of the exit.
func (c child) pollable() bool { return c.pidfd != nil }

// wait waits for the child and collects it, unless ctx is done before: then it is not over.
// The goroutine is parked in the poller of the runtime: waiting for a thousand processes
// takes no thousand threads. If the poller will not have it, that is an error, and not over.
func (c child) wait(ctx context.Context) (exit Exit, over bool, err error) {
	conn, err := c.pidfd.SyscallConn()
	if err != nil {
		return Exit{}, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.pidfd.SetReadDeadline(time.Unix(1, 0)) })
	var failed error
	err = conn.Read(func(uintptr) bool {
		exit, over, failed = collect(c.pid, unix.WNOHANG)
		return over
	})
	stop()
	switch {
	case over:
		return exit, true, errors.Join(failed, c.pidfd.Close())
	case errors.Is(err, os.ErrDeadlineExceeded):
		return Exit{}, false, c.pidfd.SetReadDeadline(time.Time{}) // for who waits next
	}
	return Exit{}, false, err
}

// block waits for the child and collects it. It takes a thread.
func (c child) block() (Exit, error) {
	exit, _, err := collect(c.pid, 0)
	if c.pidfd != nil {
		err = errors.Join(err, c.pidfd.Close())
	}
	return exit, err
}

// collect collects the child pid. It is never asked for "any child": that would
// take the exits of others.
func collect(pid, flags int) (exit Exit, done bool, err error) {
	var status syscall.WaitStatus
	for {
		got, err := syscall.Wait4(pid, &status, flags, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return Exit{Code: -1}, true, fmt.Errorf("wait for process %d: %w", pid, err)
		case got != pid:
			return Exit{}, false, nil
		case status.Signaled():
			return Exit{Code: -1, Signal: status.Signal()}, true, nil
		default:
			return Exit{Code: status.ExitStatus()}, true, nil
		}
	}
}
