// Package mcp connects to servers of the Model Context Protocol: it starts them beside
// the conversation, keeps them up, and calls what they offer. Whatever a server does, it
// costs only itself.
//
//	pending ──▶ connected ──▶ pending (it died; after a pause it is started again)
//	   │
//	   └──▶ failed, needs-auth (it did not come up; Reconnect tries again)
//
// What servers say is untrusted: names, schemas and sizes are checked before anybody
// else sees them.
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"heddle/internal/tool"
)

// State is what a server is like at a moment.
type State string

// The states. The text is what clients of the stream protocol read.
const (
	Pending   State = "pending"
	Connected State = "connected"
	Failed    State = "failed"
	NeedsAuth State = "needs-auth"
	Disabled  State = "disabled"
)

// Options say how servers run.
type Options struct {
	Dir     string // where commands start
	Version string // of this program
	// Env returns the environment of commands, to which a server adds its own.
	Env func() []string
	// StartLimit is how long a server may take to come up; 0: 30 s.
	StartLimit time.Duration
	// Elicit answers what a server asks the user. Nil declines.
	Elicit func(ctx context.Context, server string, e Elicitation) Answer
	// Within is a mark that all commands carry, see [process.Spec], so that what a crash
	// leaves behind is found.
	Within string
	Logger *slog.Logger // nil: none
}

// defaultStartLimit leaves time for a package manager to fetch a server first.
const defaultStartLimit = 30 * time.Second

// Set is the servers of one agent. Its methods may be called from any goroutine.
type Set struct {
	opts    Options
	changed chan struct{} // capacity 1: something changed, look again

	mu      sync.Mutex
	servers map[string]*server // by [Config.Name]
	names   map[string]string  // what models call a server → its name
	closed  bool
}

// NewSet returns a set without servers.
func NewSet(o Options) *Set {
	o.StartLimit = cmp.Or(o.StartLimit, defaultStartLimit)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Set{opts: o, changed: make(chan struct{}, 1), servers: map[string]*server{}, names: map[string]string{}}
}

// Open starts servers and returns at once. One whose name is taken is refused.
func (s *Set) Open(configs ...Config) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, c := range configs {
		switch {
		case s.closed:
			return errors.New("the servers are closed")
		case s.servers[c.Name] != nil:
			errs = append(errs, fmt.Errorf("there is an MCP server %q already", c.Name))
		default:
			s.servers[c.Name] = s.start(c)
		}
	}
	return errors.Join(errs...)
}

// start is called with the lock held.
func (s *Set) start(c Config) *server {
	shown := tool.ServerName(c.Name)
	if other, taken := s.names[shown]; taken && other != c.Name {
		shown = tool.Marked(shown, c.Name, tool.MaxServer)
	}
	s.names[shown] = c.Name
	ctx, cancel := context.WithCancel(context.Background())
	v := &server{
		Config: c, shown: shown, opts: s.opts, cancel: cancel, tell: s.tell,
		state: Pending, settled: make(chan struct{}), over: make(chan struct{}),
		lists: make(chan struct{}, 1), again: make(chan struct{}, 1),
	}
	if c.Disabled {
		v.state = Disabled
		close(v.settled)
		close(v.over)
		return v
	}
	go v.run(ctx) // Close and Remove wait for it
	return v
}

func (s *Set) tell() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Changed gets an element when servers came, went, or changed what they offer.
func (s *Set) Changed() <-chan struct{} { return s.changed }

// Settled waits until each server has come up or failed once, or ctx is done.
func (s *Set) Settled(ctx context.Context) {
	for _, v := range s.all() {
		select {
		case <-v.settled:
		case <-ctx.Done():
			return
		}
	}
}

// all returns the servers by name.
func (s *Set) all() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*server, 0, len(s.servers))
	for _, v := range s.servers {
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b *server) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// get finds a server by its own name or by what models call it.
func (s *Set) get(name string) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.servers[name]; v != nil {
		return v, nil
	}
	if v := s.servers[s.names[name]]; v != nil {
		return v, nil
	}
	return nil, fmt.Errorf("there is no MCP server %q", name)
}

// Status says what a server is like now.
type Status struct {
	Name         string
	Shown        string // in the names of its tools
	State        State
	Error        string // why it is not connected
	Source       string
	Version      string // of the server, as it says
	Instructions string // for models, as it says
	Tools        int
	Prompts      int
	Resources    bool
	Warnings     []string // of what it offers and cannot be used
	Took         time.Duration
}

// Status returns what all servers are like, by name.
func (s *Set) Status() []Status {
	var list []Status
	for _, v := range s.all() {
		list = append(list, v.status())
	}
	return list
}

// Tools returns the tools of all servers that are up, always in the same order. Where
// several have one name, it is that of the tool that is really called so, since rules mean
// that one; the others get a suffix, which only depends on the names.
func (s *Set) Tools() []Tool {
	var list []Tool
	many := map[string]int{}
	for _, v := range s.all() {
		for _, t := range v.offer().tools {
			many[t.Full]++
		}
	}
	taken := map[string]bool{}
	for _, v := range s.all() {
		for _, t := range v.offer().tools {
			if many[t.Full] > 1 && t.Full != "mcp__"+v.shown+"__"+t.Name {
				t.Full = tool.Marked(t.Full, v.Name+"\x00"+t.Name, tool.MaxName)
			}
			if taken[t.Full] {
				continue // two of one name even so: the server names one tool twice
			}
			taken[t.Full] = true
			list = append(list, t)
		}
	}
	return list
}

// Reconnect starts a server anew, whatever it is doing.
func (s *Set) Reconnect(name string) error {
	v, err := s.get(name)
	if err != nil {
		return err
	}
	if v.status().State == Disabled {
		return fmt.Errorf("the MCP server %q is disabled", name)
	}
	select {
	case v.again <- struct{}{}:
	default: // it is going to
	}
	return nil
}

// Remove ends a server with everything that it started.
func (s *Set) Remove(name string) error {
	s.mu.Lock()
	v := s.servers[name]
	if v == nil {
		s.mu.Unlock()
		return fmt.Errorf("there is no MCP server %q", name)
	}
	delete(s.servers, name)
	delete(s.names, v.shown)
	s.mu.Unlock()
	v.cancel()
	<-v.over
	s.tell()
	return nil
}

// Close ends all servers, at once, and waits until they are gone or ctx is done.
func (s *Set) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	all := s.all()
	for _, v := range all {
		v.cancel()
	}
	var errs []error
	for _, v := range all {
		select {
		case <-v.over:
			errs = append(errs, v.survivors)
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("the MCP server %q has not ended in time", v.Name))
		}
	}
	return errors.Join(errs...)
}
