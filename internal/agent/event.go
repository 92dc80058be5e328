package agent

import (
	"time"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/tool"
)

// Event is what happens in a run: [Added], [Streamed], [Requested], [ToolBegan], [ToolEnded],
// [Compacting], [Compacted], [Dropped],
// [Notice] or [Ended].
//
// The consumer handles an event before the loop goes on. So a message that was
// written to disk on [Added] is durable before anything follows from it.
type Event interface{ event() }

// Added says that a message now stands in the history.
type Added struct {
	Message message.Message
	Origin  Origin
	// Of an assistant message:
	ResponseID string
	Model      string
	Stop       message.StopReason
	Usage      message.Usage
	Cost       float64 // US dollars
	// Of a message of tool results: the structured results, by tool_use id.
	Data map[string]any
	// InputID is the id that the sender of a user message gave it, if any.
	InputID string
}

// Origin says where a message came from. What is not a person's never counts
// as a person's consent.
type Origin string

const (
	Human        Origin = "human"             // a person, or the program that speaks for one
	FromModel    Origin = "model"             // an assistant message
	FromTools    Origin = "tools"             // tool results
	Notification Origin = "task-notification" // the end or the news of a task
	FromAgent    Origin = "agent"             // another agent
	System       Origin = "system"            // heddle itself: a summary, a nudge
)

// Requested says that a request is about to be made.
type Requested struct{ Turn int }

// Streamed passes on what the model streams: deltas, retries. Not the response.
type Streamed struct{ Event model.Event }

// ToolBegan says that a call starts to run.
type ToolBegan struct{ Use message.ToolUse }

// ToolEnded says that a call is over. Calls that run at once end in any order;
// the message that carries their results keeps the order of the calls.
type ToolEnded struct {
	Use      message.ToolUse
	Result   tool.Result
	Duration time.Duration
}

// Compacting says that a summary of the conversation is being made.
type Compacting struct{ Trigger Trigger }

// Compacted says that the history now begins with a summary. What was before
// stays in the transcript, but is not sent any more. The messages of the new
// history follow as [Added].
type Compacted struct {
	Trigger Trigger
	Before  int // tokens of the prompt before
	// Messages is how many messages the new history begins with.
	Messages int
	Usage    message.Usage
	Cost     float64
	Err      error // the summary failed, and the history is as it was
}

// Trigger is why a conversation was compacted.
type Trigger string

const (
	Manual    Trigger = "manual"
	Automatic Trigger = "auto"
)

// Dropped says that only the first Keep messages stand in the history any more.
type Dropped struct{ Keep int }

// Notice is something that a person should know and the model need not.
type Notice struct{ Text string }

// Ended is the last event of a run that was not broken by an error of the program itself.
type Ended struct {
	Reason  Reason
	Text    string // the newest text of the model
	Final   bool   // Text is of the last answer, not of one before it
	Turns   int    // requests answered in this run
	Usage   message.Usage
	Cost    float64       // US dollars, of this run
	API     time.Duration // spent waiting for the model
	Denials []Denial
	Stop    message.StopReason
	Err     error // with Failed: usually a [*model.Error]; with Stopped: why
}

// Reason says why a run ended.
type Reason string

const (
	Completed    Reason = "completed"
	MaxTurns     Reason = "max_turns"
	MaxBudget    Reason = "max_budget"
	Interrupted  Reason = "interrupted"
	Refused      Reason = "refusal"
	Truncated    Reason = "max_tokens"      // the answer was cut, and going on did not help
	ContextLimit Reason = "prompt_too_long" // the window is full, and compacting did not help
	TooDenied    Reason = "denied"          // permission was refused too often
	Stopped      Reason = "stopped"         // a hook wanted the run to end
	Failed       Reason = "failed"          // the model could not be reached, or answered nonsense
)

// Denial is a call that permission refused.
type Denial struct {
	Use     message.ToolUse
	Message string
}

func (Added) event()      {}
func (Streamed) event()   {}
func (Requested) event()  {}
func (ToolBegan) event()  {}
func (ToolEnded) event()  {}
func (Compacting) event() {}
func (Compacted) event()  {}
func (Dropped) event()    {}
func (Notice) event()     {}
func (Ended) event()      {}
