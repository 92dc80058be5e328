package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// A child is a started process that nobody has collected yet.
type child struct{ pid int }

// launch starts s. There are no control groups here.
func launch(s Spec, null *os.File, _ *group) (child, *group, error) {
	pid, _, err := syscall.StartProcess(s.Path, s.Args, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Sys: &syscall.SysProcAttr{Setsid: true},
		Files: []uintptr{null.Fd(), s.Stdout.Fd(), s.Stderr.Fd()},
	})
	return child{pid: pid}, nil, err
}

// pollable is false: kqueue tells of exits, but not the poller of the runtime.
func (c child) pollable() bool { return false }

func (c child) wait(context.Context) (Exit, bool, error) { return Exit{}, false, errors.ErrUnsupported }

// block waits for the child and collects it. It takes a thread.
func (c child) block() (Exit, error) {
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(c.pid, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return Exit{Code: -1}, fmt.Errorf("wait for process %d: %w", c.pid, err)
		case status.Signaled():
			return Exit{Code: -1, Signal: status.Signal()}, nil
		default:
			return Exit{Code: status.ExitStatus()}, nil
		}
	}
}

// Adopt does nothing here: orphans go to the first process of the system, which
// collects them.
func Adopt() (release func(), err error) { return func() {}, nil }

// A group would be a control group, which this system does not have.
type group struct{}

func newGroup() *group        { return nil }
func openGroup(string) *group { return nil }

func (g *group) path() string { return "" }
func (g *group) pids() []int  { return nil }
func (g *group) kill() bool   { return false }
func (g *group) remove() bool { return false }
