// Package attach puts what people brought along into a session: the tools of servers into
// its pool, hooks at its turning points, skills and commands behind its slash.
//
//	mcp.Set        ──Servers──▶ tool.Pool, tool.Shelf, the first message
//	hook.Runner    ──Hooks────▶ session.Hooks, permission.Asker
//	skill.Catalog  ──Commands─▶ session.Commander, builtin.Skills
//
// Each is a value of its own, made for one agent, and can be taken away when that ends.
package attach

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"heddle/internal/mcp"
	"heddle/internal/session"
	"heddle/internal/task/call"
	"heddle/internal/tool"
)

// ServerOptions say how the tools of servers are shown and run.
type ServerOptions struct {
	Set   *mcp.Set
	Calls call.Options
	// Wait is how long the first request waits for servers that are still starting.
	Wait time.Duration
	// ShowLimit is how many bytes of definitions stand in the prompt at most; with more,
	// all are found by ToolSearch. Negative: there is no limit.
	ShowLimit int
	// Hidden reports tools that need not be shown, since no call of them could run.
	Hidden func(tool.Tool) bool
	// Resumed says that the model knows servers of an earlier time, and which they were.
	Resumed bool
}

// Servers gives an agent what servers offer.
type Servers struct {
	o ServerOptions

	mu    sync.Mutex
	shown map[string]offered // what stands in the prompt; not changed, only replaced
	told  map[string]account // what the model was told, by server; nil: nothing yet
}

// offered is a tool of a server.
type offered struct {
	tool.Tool
	server string
}

// NewServers returns what set offers.
func NewServers(o ServerOptions) *Servers { return &Servers{o: o} }

// Gather waits for servers, and returns base with their tools: in the prompt, or behind it
// if they are too many. It fixes what stands in the prompt.
func (s *Servers) Gather(ctx context.Context, base *tool.Pool) *tool.Pool {
	wait, cancel := context.WithTimeout(ctx, s.o.Wait)
	defer cancel()
	s.o.Set.Settled(wait)
	var show []tool.Tool
	shown := map[string]offered{}
	size := 0
	for _, t := range s.offered() {
		show = append(show, t.Tool)
		shown[t.Name] = t
		size += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	pool, err := base.Add(show...)
	if err != nil || s.o.ShowLimit >= 0 && size > s.o.ShowLimit { // err: one is named like one of ours
		pool, shown = base, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shown = shown
	return pool.Behind(tool.Shelf(s.Shelf).Get)
}

// offered returns the tools of the servers that are up and that need not be hidden, in a
// stable order.
func (s *Servers) offered() []offered {
	var list []offered
	for _, t := range s.o.Set.Tools() {
		if one := s.tool(t); s.o.Hidden == nil || !s.o.Hidden(one) {
			list = append(list, offered{one, t.Server})
		}
	}
	return list
}

// inPrompt returns a copy of what stands in the prompt, by name.
func (s *Servers) inPrompt() map[string]offered {
	s.mu.Lock()
	defer s.mu.Unlock()
	shown := map[string]offered{}
	maps.Copy(shown, s.shown)
	return shown
}

// tool makes a tool of a server one of ours. What the server says about effects is a hint
// at most: a call needs permission whatever it says.
func (s *Servers) tool(t mcp.Tool) tool.Tool {
	effect := tool.Effect{Action: tool.Use}
	if t.NeedsUser {
		effect.Action = tool.Ask
	}
	return tool.Tool{
		Name: t.Full, Description: t.Description, Schema: t.Schema, Parallel: t.ReadOnly,
		Effects: func(tool.Call) ([]tool.Effect, error) { return []tool.Effect{effect}, nil },
		Run: s.o.Calls.Of(t.Server, t.Name, func(ctx context.Context, c tool.Call, report func(string)) tool.Result {
			return s.o.Set.Call(ctx, t.Server, t.Name, c.Input, report)
		}),
	}
}

// Shelf lists the tools that do not stand in the prompt as they are now.
func (s *Servers) Shelf() []tool.Tool {
	shown := s.inPrompt()
	var list []tool.Tool
	for _, t := range s.offered() {
		if old, ok := shown[t.Name]; !ok || !sameDefinition(old.Tool, t.Tool) {
			list = append(list, t.Tool)
		}
	}
	return list
}

func sameDefinition(a, b tool.Tool) bool {
	return a.Description == b.Description && string(a.Schema) == string(b.Schema)
}

// patience is how long a search waits for servers that are still starting.
const patience = 10 * time.Second

// Coming waits a while for servers that are still starting, and names those that still do.
func (s *Servers) Coming(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	s.o.Set.Settled(ctx)
	var late []string
	for _, st := range s.o.Set.Status() {
		if st.State == mcp.Pending {
			late = append(late, "the server "+st.Name)
		}
	}
	return late
}

// Status returns the servers for those who watch the session.
func (s *Servers) Status() []session.Server {
	list := []session.Server{}
	for _, st := range s.o.Set.Status() {
		list = append(list, session.Server{Name: st.Name, Status: string(st.State), Error: st.Error, Tools: st.Tools})
	}
	return list
}

// CallText calls a tool for a hook and returns its text.
func (s *Servers) CallText(ctx context.Context, server, name string, input []byte) (string, error) {
	res := s.o.Set.Call(ctx, server, name, input, nil)
	text := textOf(res.Content)
	if res.IsError {
		return "", toolError(cmp.Or(text, "it failed without a word"))
	}
	return text, nil
}

// toolError is what a failed call says.
type toolError string

func (e toolError) Error() string { return string(e) }
