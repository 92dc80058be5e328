// Package agent is the loop that runs one agent: it asks a model, runs the tools
// that the model calls, and goes on until the model has nothing more to do.
//
// The main conversation is an agent like any other; it just has no parent. What
// an agent knows is its [Context], which lives from run to run; a run is one
// call of [Run], from an input to the end of the turn.
package agent

import (
	"context"
	"iter"
	"time"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/tool"
)

// Model asks a language model. Both [model.Provider] and [model.Client] are one.
type Model interface {
	Name() string
	EncodePrefix(model.Prompt) []byte
	EncodeMessage(message.Message) []byte
	Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error]
}

// Choice is the model that an agent uses, and how.
type Choice struct {
	Model  Model
	Info   model.Info
	Effort string
}

// Input is a message for an agent, before it stands in a history.
type Input struct {
	Content []message.Block
	Origin  Origin
	ID      string // given by the sender, may be empty
}

// Inbox holds what arrives for an agent while it works.
type Inbox interface {
	// Take returns what should be read between two requests, oldest first. idle says
	// that the model is done otherwise: then what can wait is read, too. It does not wait.
	Take(idle bool) []Input
}

// Limits bound one run. Zero is no limit.
type Limits struct {
	Turns int     // requests
	USD   float64 // of the whole context, not only this run
}

// Config is what a run needs.
type Config struct {
	Context *Context
	Tools   *tool.Pool
	// Choose is asked before each request, so a change of model takes effect at
	// the next round trip.
	Choose func() Choice
	Inbox  Inbox // may be nil
	Limits Limits
	Agent  model.Agent
	// Brief is put in front of a history that begins anew, after compaction as at
	// the start: what the agent must always know. May be nil.
	Brief func() string
	// Ledger is where the costs of the run are written down, and those of all that work for
	// the agent; when it is exhausted, the run ends. May be nil.
	Ledger *Ledger
	// Depth says how many agents are above this one.
	Depth int
	// Remind is asked before each request, with the number of those that were answered;
	// what it returns is read next. May be nil.
	Remind func(turns int) []Input
	// Guard has a say at the turning points of a run. May be nil.
	Guard Guard
}

// Guard is asked at the turning points of a run, for instance because people have hooks
// there. It is called by the goroutine of the loop, which waits for it.
type Guard interface {
	// Stopping is asked when the model is done, and text is its answer. What it returns
	// goes to the model, which goes on; nothing lets the run end. again is how often it
	// has made this run go on already; after three times the run ends all the same.
	Stopping(ctx context.Context, text string, again int) []Input
	// ToolsDone is told the calls of one answer when all are over, before their results go
	// to the model. What it returns is added to them; a reason to stop ends the run.
	ToolsDone(ctx context.Context, calls []Done) (add []message.Block, stop string)
	// Compacting is asked before a compaction; an error keeps it from happening.
	Compacting(ctx context.Context, t Trigger, instructions string) error
	// Compacted is told the summary that has taken the place of the history.
	Compacted(ctx context.Context, t Trigger, summary string)
}

// Done is a tool call that is over.
type Done struct {
	Use    message.ToolUse
	Result tool.Result
}

// Run works on input until the model ends its turn, a limit is reached, or ctx is
// cancelled. A cancelled run leaves a history that can be continued: every
// tool call has a result. An error is the last element and means that the
// program failed; whatever happens to the model is told by [Ended].
//
// Only the goroutine that ranges over the events yields them. Stopping the range
// cancels the run.
func Run(ctx context.Context, cfg Config, input ...Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r := &run{Config: cfg, yield: yield, cancel: cancel, started: time.Now()}
		r.work(ctx, input)
	}
}

// Compact replaces the history by a summary of it. Instructions, if any, are the
// user's own words on what to keep.
func Compact(ctx context.Context, cfg Config, instructions string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		r := &run{Config: cfg, yield: yield, cancel: cancel, started: time.Now()}
		r.choose()
		reason, err := Completed, error(nil)
		if r.compact(ctx, Manual, instructions) {
			r.text = "The conversation was compacted."
		} else {
			reason, err = Failed, r.failure
			if ctx.Err() != nil {
				reason = Interrupted
			}
		}
		r.end(reason, err)
	}
}

// Note puts input into the history without asking the model.
func Note(cfg Config, input ...Input) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := &run{Config: cfg, yield: yield, cancel: func() {}}
		r.receive(input)
	}
}
