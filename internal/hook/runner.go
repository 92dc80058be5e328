package hook

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"heddle/internal/tool"
)

// Options are what hooks are told, and what they may use.
type Options struct {
	Session, Transcript string
	Dir                 string          // where commands start
	Place               func() string   // where the agent works now, as hooks are told; nil: in Dir
	Project             string          // the root of the project
	Mode                func() string   // the permission mode; nil: hooks are not told
	Env                 func() []string // the environment of commands; nil: that of this program
	// Within is a mark that all commands carry, see [process.Spec], so that what a crash
	// leaves behind is found.
	Within string
	// Spill is the folder for texts that are too long, which the agent may read. Empty:
	// they are cut off.
	Spill string

	// Ask puts a question to a model, CallTool calls a tool of a server. Nil: hooks of
	// that kind fail.
	Ask      func(ctx context.Context, model, prompt string) (string, error)
	CallTool func(ctx context.Context, server, tool string, input json.RawMessage) (string, error)
	// Matches reports whether a permission rule is about a call. On an error, or if it is
	// nil, the hook runs: what is to be checked must not go unchecked.
	Matches func(rule string, c tool.Call) (bool, error)
	// Tell tells a person one line. It may be called from several goroutines.
	Tell func(text string)
	// Wake is called when a hook in the background wants the model to go on. May be nil.
	Wake   func()
	Client *http.Client // nil: one like the default
}

// Runner runs hooks. Its methods may be called from several goroutines.
type Runner struct {
	o Options

	mu    sync.Mutex
	hooks []*entry          // replaced, never changed
	stops map[string]string // by agent

	behind behind
}

// entry is a hook that is in use.
type entry struct {
	Hook
	matches matcher
	id      string
	spent   atomic.Bool // it ran, and was to run once
}

// NewRunner returns a runner of hooks, which run in this order of precedence.
func NewRunner(o Options, hooks []Hook) *Runner {
	r := &Runner{o: o, stops: map[string]string{}}
	r.Add(hooks)
	return r
}

// Add adds hooks behind those that are there. remove takes them back; those that run then
// run to their end.
func (r *Runner) Add(hooks []Hook) (remove func()) {
	var added []*entry
	for _, h := range hooks {
		m, err := newMatcher(h.Event, h.Matcher)
		if err != nil {
			r.tell(h, "it never runs: %v", err)
			continue
		}
		added = append(added, &entry{Hook: h, matches: m, id: h.identity()})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hooks = slices.Concat(r.hooks, added)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.hooks = slices.DeleteFunc(slices.Clone(r.hooks), func(e *entry) bool { return slices.Contains(added, e) })
	}
}

func (r *Runner) current() []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hooks
}

// Has reports whether there may be something to run at an event.
func (r *Runner) Has(e Event) bool {
	return slices.ContainsFunc(r.current(), func(h *entry) bool { return h.Event == e })
}
