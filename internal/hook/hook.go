// Package hook runs what people have tied to the events of a session: commands, HTTP
// requests, tools of servers and questions to a model. Each is told the event as one
// JSON object and may answer with a decision.
//
//	file ──Read──▶ []Hook ──NewRunner──▶ Runner ──Fire──▶ all that match, at once ──▶ Outcome
//	                                       └── Middleware: around every tool call
//
// What a hook says is text of a stranger. It reaches a model only as in [Wrap], and it
// can refuse a call, but what it allows is [Advice] that the permission rules overrule.
package hook

import (
	"encoding/json"
	"slices"
	"time"

	"heddle/internal/config"
)

// Kind is how a hook runs.
type Kind string

// The kinds of hooks.
const (
	Command Kind = "command"  // a process, told on standard input
	HTTP    Kind = "http"     // a POST request
	MCPTool Kind = "mcp_tool" // a tool of a server
	Prompt  Kind = "prompt"   // a question to a model
)

// Hook is one handler as a file gives it.
type Hook struct {
	Event   Event
	Matcher string // see the documentation of [Read]
	Kind    Kind
	If      string        // a permission rule that the call has to match
	Timeout time.Duration // 0: what is usual for the kind and the event
	Once    bool          // not again after it succeeded
	Status  string        // what to show while it runs

	Command string
	Args    []string // not nil: Command is a program that is run without a shell
	Shell   string   // bash, sh, or empty for sh
	// Async lets the session go on at once; what the hook says comes with [Runner.Delayed].
	// With Rewake, so does its standard error if it exits with 2.
	Async, Rewake bool

	URL        string
	Headers    map[string]string
	AllowedEnv []string // variables that Headers may name

	Server, Tool string
	Input        json.RawMessage // an object; strings in it may hold ${path.in.input}

	Prompt          string
	Model           string
	ContinueOnBlock bool // a "no" to a call does not end the turn

	Origin config.Origin
	Source string   // who brought it, for people: "settings", or the name of a plugin
	Env    []string // what else stands in its environment and in ${…}
}

// Dedupe leaves of hooks that would do the same only the first.
func Dedupe(hooks []Hook) []Hook {
	seen := map[string]bool{}
	var out []Hook
	for _, h := range hooks {
		if id := h.identity(); !seen[id] {
			seen[id] = true
			out = append(out, h)
		}
	}
	return out
}

// identity is equal for hooks that do the same, wherever they stand.
func (h Hook) identity() string {
	h.Origin, h.Source, h.Status = config.Origin{}, "", ""
	h.Env = slices.Sorted(slices.Values(h.Env))
	id, err := json.Marshal(h)
	if err != nil { // only for an Input that is not JSON, which no file can give
		return string(h.Input)
	}
	return string(id)
}

// name is how messages name the hook.
func (h Hook) name() string {
	place := h.Origin.String()
	if place == "" {
		place = h.Source
	}
	return "hook " + string(h.Event) + " (" + place + ")"
}
