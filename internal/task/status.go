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
	Failed    Status = "failed"    // it ended by itself, and badly; or it may not have ended at all
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
	ReasonExit           Reason = "exit code"
	ReasonSignal         Reason = "signal"
	ReasonTimeout        Reason = "timeout"
	ReasonOutputLimit    Reason = "output limit"
	ReasonNoSpace        Reason = "no space"
	ReasonFlood          Reason = "too many events"
	ReasonStoppedByUser  Reason = "stopped by user"
	ReasonStoppedByModel Reason = "stopped by model"
	ReasonOwnerEnded     Reason = "owner ended"
	ReasonSessionClosed  Reason = "session closed"
	ReasonInterrupted    Reason = "interrupted" // the program that ran it died
	ReasonPanic          Reason = "panic"
	ReasonLeaked         Reason = "may have leaked" // it was told to stop, and something of it goes on
)

// Causes with which the context of a task is cancelled. The end of a task that
// was stopped for any other cause counts as the user's wish, like [ErrKilled].
var (
	ErrKilled     = errors.New("task killed")
	ErrStopped    = errors.New("task stopped by the model")
	ErrTimeout    = errors.New("task timed out")
	ErrOutput     = errors.New("the output reached its limit")
	ErrNoSpace    = errors.New("no space left for the output")
	ErrOwnerEnded = errors.New("owner ended")
	ErrShutdown   = errors.New("session closing")
)

// ErrNotRunning is returned for a task that has ended or never existed.
var ErrNotRunning = errors.New("task not running")

var reasons = []struct {
	cause  error
	reason Reason
}{
	{ErrShutdown, ReasonSessionClosed},
	{ErrOwnerEnded, ReasonOwnerEnded},
	{ErrTimeout, ReasonTimeout},
	{ErrOutput, ReasonOutputLimit},
	{ErrNoSpace, ReasonNoSpace},
	{ErrStopped, ReasonStoppedByModel},
}

// stopped is the cause of a context that [Task.Stop] cancelled.
type stopped struct {
	id    ID // who was stopped
	cause error
}

func (s *stopped) Error() string { return s.cause.Error() }
func (s *stopped) Unwrap() error { return s.cause }

// EndError is what a runner returns that knows better than its context why it
// ended. The task has failed, for that reason.
type EndError struct {
	Reason Reason
	Err    error
}

func (e *EndError) Error() string { return e.Err.Error() }
func (e *EndError) Unwrap() error { return e.Err }

// verdict turns what the runner of t returned into the end of t. A runner that
// finished its work in spite of a cancelled context has completed it.
func verdict(t *Task, err error) (Status, Reason) {
	var end *EndError
	switch {
	case err == nil:
		return Completed, ""
	case errors.As(err, &end):
		return Failed, end.Reason
	case t.ctx.Err() == nil:
		return Failed, ""
	}
	cause := context.Cause(t.ctx)
	if !meant(cause, t) && !errors.Is(cause, ErrShutdown) {
		return Killed, ReasonOwnerEnded
	}
	for _, row := range reasons {
		if errors.Is(cause, row.cause) {
			return Killed, row.reason
		}
	}
	return Killed, ReasonStoppedByUser
}

// meant reports whether cause is about t itself: a context is cancelled with its
// parent and shows the cause of the parent.
func meant(cause error, t *Task) bool {
	var s *stopped
	return !errors.As(cause, &s) || s.id == t.ID
}
