// Package tool says what a tool is: a definition that a model is shown, and a
// handler that runs a call. It also holds the set of tools of an agent, the
// middleware around them, and what their calls share: the scope of an agent.
package tool

import (
	"context"
	"encoding/json"
	"fmt"

	"heddle/internal/message"
)

// Tool is a definition and what runs it.
type Tool struct {
	Name        string
	Description string          // what the model reads
	Schema      json.RawMessage // compact JSON Schema of the input, an object
	// Parallel reports that calls change nothing, so that several may run at once.
	Parallel bool
	// Waits reports that calls wait for something else and cost nothing here, so that any
	// number of them may run at once. It means nothing without Parallel.
	Waits bool
	// Effects says what a call would do, as far as permission cares. It must not
	// do it. Nil means that no call of this tool needs permission.
	Effects func(Call) ([]Effect, error)
	Run     Handler
	// Proxy is set for a tool that calls others: it returns the call that c stands for,
	// which runs in its place, with the permissions of its own tool. Run is not used then.
	Proxy func(c Call) (Call, error)
}

// Handler runs one call. It returns when the call is over or ctx is done. What
// the model reads is not an error: a failure is a [Result] with IsError and a
// sentence that says what to do next.
type Handler func(ctx context.Context, c Call) Result

// Middleware wraps the handler of a tool, for instance to ask for permission.
type Middleware func(t Tool, next Handler) Handler

// Call is one use of a tool.
type Call struct {
	ID    string // of the tool_use block
	Name  string
	Input json.RawMessage
	Scope *Scope
}

// Result is what a call gives.
type Result struct {
	Content []message.Block // [message.Text] and [message.Image]
	IsError bool
	// Data is the structured result for programs that watch, or nil. It
	// marshals to a JSON object.
	Data any
	// Denied reports that permission was refused; TooDenied that it was refused so
	// often that the run should end; Interrupt that the person who refused wants
	// the turn to end.
	Denied    bool
	TooDenied bool
	Interrupt bool
}

// Text returns a result of one text.
func Text(s string) Result { return Result{Content: []message.Block{message.Text{Text: s}}} }

// Failf returns a failed result. The text should say what to do next.
func Failf(format string, args ...any) Result {
	r := Text(fmt.Sprintf(format, args...))
	r.IsError = true
	return r
}

// Action is a kind of effect on the world.
type Action string

const (
	Read  Action = "read"  // Target is an absolute path
	Write Action = "write" // Target is an absolute path
	Run   Action = "run"   // Target is a shell command
	Fetch Action = "fetch" // Target is a URL
	Ask   Action = "ask"   // a person must always be asked; Target is empty
	Use   Action = "use"   // what the tool does is not known here; Target is empty
)

// Effect is one thing that a call would do.
type Effect struct {
	Action Action
	Target string
}

// Decode reads the input of a call into T. Unknown fields are ignored, since
// models invent some; a wrong type or a missing required field is an error
// that names it. Missing fields are the tool's to check.
func Decode[T any](c Call) (T, error) {
	var v T
	if err := json.Unmarshal(c.Input, &v); err != nil {
		return v, fmt.Errorf("input of %s: %w", c.Name, err)
	}
	return v, nil
}
