// Package task gives every concurrent unit of work one identity, one state, one
// output file and one end, which is told exactly once.
//
//	                  ┌─────────────▶ failed | killed
//	Start ──▶ pending ┴▶ running ──▶ completed | failed | killed ──▶ evicted
//	                        │                                │
//	                        │             somebody waits: Attach returns it
//	  Background: the waiter leaves       nobody waits: a Notification tells it
//
// Foreground is a way of waiting, not a way of running: every task runs in a
// goroutine of its own from the start, and moving it to the background means
// that the waiter leaves.
package task

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"time"
)

// ID is the letter of a kind and 8 characters of 0–9a–z from a cryptographic
// source. Output paths are built from it, so it must not be guessable.
type ID string

// valid reports whether an id that was read can be one: names of files are made of it.
func (id ID) valid() bool {
	return id != "" && strings.Trim(string(id), alphabet) == ""
}

// Kind is a type of task.
type Kind string

// The seven kinds. The constant is what other processes read.
const (
	LocalBash   Kind = "local_bash"
	LocalAgent  Kind = "local_agent"
	RemoteAgent Kind = "remote_agent"
	Teammate    Kind = "in_process_teammate"
	Workflow    Kind = "local_workflow"
	MonitorMCP  Kind = "monitor_mcp"
	Dream       Kind = "dream"
)

var letters = map[Kind]byte{
	LocalBash: 'b', LocalAgent: 'a', RemoteAgent: 'r', Teammate: 't', Workflow: 'w', MonitorMCP: 'm', Dream: 'd',
}

// Spec describes a task to be started.
type Spec struct {
	Kind        Kind
	Owner       ID // the task that starts this one; empty: the session
	Description string
	ToolUseID   string
	Background  bool // nobody will wait: the end is told by a [Notification]
	// Awaited says that a run without a person waits for the end, as it does for all
	// kinds but shells.
	Awaited bool
	// Timer says that the task does nothing but let time pass.
	Timer bool
}

// Runner is a kind of task. Run does the work and returns when it is over or ctx
// is done; [context.Cause] then says who ended it.
type Runner interface {
	Run(ctx context.Context, t *Task) error
}

// RunnerFunc is a function that is a [Runner].
type RunnerFunc func(ctx context.Context, t *Task) error

// Run calls f.
func (f RunnerFunc) Run(ctx context.Context, t *Task) error { return f(ctx, t) }

// Detail is what only one kind of task has to say. It is plain data: it is copied
// with the snapshot and must not change afterwards.
type Detail interface{ Kind() Kind }

// Snapshot is what is known of a task at a moment. It is plain data.
type Snapshot struct {
	ID          ID        `json:"id"`
	Kind        Kind      `json:"type"`
	Status      Status    `json:"status"`
	Reason      Reason    `json:"reason,omitempty"`
	Owner       ID        `json:"owner,omitempty"`
	Description string    `json:"description"`
	ToolUseID   string    `json:"tool_use_id,omitempty"`
	StartedAt   time.Time `json:"start_time"`
	EndedAt     time.Time `json:"end_time,omitzero"`
	OutputFile  string    `json:"output_file"`
	// Backgrounded reports that nobody waits for the task, so that its end reaches
	// the owner as a [Notification] instead of a return value.
	Backgrounded bool `json:"is_backgrounded,omitempty"`
	// Awaited and Timer are those of the [Spec].
	Awaited bool `json:"awaited,omitempty"`
	Timer   bool `json:"timer,omitempty"`
	// Carrier names what brings the end to the owner: the tool call that returns it, or
	// the [Notification], by its ID. It is empty until that is settled.
	Carrier string `json:"carrier,omitempty"`
	// Told reports that what brings the end has arrived.
	Told bool `json:"told,omitempty"`
	// Attempt counts how often an ended task was started again.
	Attempt int    `json:"attempt,omitempty"`
	Error   string `json:"error,omitempty"`
	Detail  Detail `json:"detail,omitempty"`
}

// Task is a running thing: the living half of a [Snapshot].
type Task struct {
	ID ID
	// Output is the output file, open for appending. It is closed when the task ends.
	Output *os.File

	rt         *Runtime
	run        Runner
	parent     context.Context // of the owner
	ctx        context.Context // the task's own; it ends with parent
	cancel     context.CancelCauseFunc
	calm       func() bool   // nobody has to hurry the runner any more
	done       chan struct{} // closed when the end is on record, and told if nobody waits
	background chan struct{} // closed when nobody waits any more

	// Guarded by rt.mu.
	snap    Snapshot
	claims  int         // callers who will take the end as their return value
	waiting []trigger   // pulled at the end
	timer   *time.Timer // before the end: patience; after it: the grace
	grown   growth      // of the output
}

// Done is closed when the task has ended and the end is on record.
func (t *Task) Done() <-chan struct{} { return t.done }

// Snapshot returns what is known of t now, also after it was evicted.
func (t *Task) Snapshot() Snapshot {
	t.rt.mu.Lock()
	defer t.rt.mu.Unlock()
	return t.snap
}

// Stop ends a task without waiting for the end. The cause says why: [ErrKilled],
// [ErrTimeout] and their like.
func (t *Task) Stop(cause error) { t.cancel(&stopped{t.ID, cause}) }

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"

// newID returns a fresh id. Bytes of 252 and above are rejected, so that each
// of the 36 characters is equally likely.
func newID(k Kind) ID {
	id := []byte{letters[k]}
	var b [16]byte
	for {
		rand.Read(b[:]) // never fails
		for _, c := range b {
			if c < 252 {
				id = append(id, alphabet[c%36])
			}
			if len(id) == 9 {
				return ID(id)
			}
		}
	}
}
