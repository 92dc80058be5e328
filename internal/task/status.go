package task

import (
	"context"
	"errors"
	"slices"
)

// Status is where a task is in its life.
type Status string

const (
	Pending   Status = "pending"   // registered, not yet running
	Running   Status = "running"   // its goroutine runs
	Completed Status = "completed" // it did what it was to do
	Failed    Status = "failed"    // it ended by itself, and badly
	Killed    Status = "killed"    // it was ended, and the end was verified
)

// Terminal reports whether a task in s has ended.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Killed }

// moves lists the legal moves. A task may end before it ever ran. A move that is
// not here does not happen.
var moves = map[Status][]Status{
	Pending: {Running, Failed, Killed},
	Running: {Completed, Failed, Killed},
}

func (s Status) mayBecome(to Status) bool { return slices.Contains(moves[s], to) }

// Reason says why a task ended as it did. It stands beside the status, not in it.
type Reason string

const (
	ReasonTimeout       Reason = "timeout"
	ReasonOutputLimit   Reason = "output limit"
	ReasonNoSpace       Reason = "no space"
	ReasonStoppedByUser Reason = "stopped by user"
	ReasonStoppedByTool Reason = "stopped by model"
	ReasonOwnerEnded    Reason = "owner ended"
	ReasonSessionClosed Reason = "session closed"
	ReasonInterrupted   Reason = "interrupted" // the process that ran it died
	ReasonExit          Reason = "exit code"
	ReasonSignal        Reason = "signal"
	ReasonPanic         Reason = "panic"
	ReasonLeaked        Reason = "may have leaked" // it did not stop when told to
)

// Causes with which the context of a task is cancelled. Whatever else cancels it
// counts as [ErrKilled].
var (
	ErrKilled     = errors.New("task killed")
	ErrStopped    = errors.New("task stopped by the model")
	ErrTimeout    = errors.New("task timed out")
	ErrOwnerEnded = errors.New("owner ended")
	ErrShutdown   = errors.New("session closing")
)

// ErrNotRunning is returned for a task that has ended or never existed.
var ErrNotRunning = errors.New("task not running")

// EndError lets a runner say why it ended: as a status that [Runtime] sets by
// itself otherwise.
type EndError struct {
	Reason Reason
	Err    error
}

func (e *EndError) Error() string {
	if e.Err == nil {
		return string(e.Reason)
	}
	return e.Err.Error()
}

func (e *EndError) Unwrap() error { return e.Err }

// verdict turns what a runner returned into the end of its task. A runner that
// finished its work in spite of a cancelled context has completed it.
func verdict(ctx context.Context, err error) (Status, Reason) {
	if err == nil {
		return Completed, ""
	}
	var end *EndError
	known := errors.As(err, &end)
	if ctx.Err() == nil {
		if known {
			return Failed, end.Reason
		}
		return Failed, ""
	}
	if known && (end.Reason == ReasonLeaked || end.Reason == ReasonPanic) {
		return Failed, end.Reason
	}
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, ErrTimeout):
		return Killed, ReasonTimeout
	case errors.Is(cause, ErrOwnerEnded):
		return Killed, ReasonOwnerEnded
	case errors.Is(cause, ErrShutdown):
		return Killed, ReasonSessionClosed
	case errors.Is(cause, ErrStopped):
		return Killed, ReasonStoppedByTool
	default:
		return Killed, ReasonStoppedByUser
	}
}
