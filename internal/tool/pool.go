package tool

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
)

// Pool is the set of tools of an agent, in the order in which the model is
// shown them. It does not change once a conversation uses it: the definitions
// stand at the front of every prompt.
type Pool struct {
	tools  []Tool
	index  map[string]int
	behind func(name string) (Tool, bool) // finds tools that are not shown; nil: there are none
}

// NewPool returns a pool of tools. A second tool of one name is an error.
func NewPool(tools ...Tool) (*Pool, error) {
	p := &Pool{tools: slices.Clone(tools), index: make(map[string]int, len(tools))}
	for i, t := range p.tools {
		if _, twice := p.index[t.Name]; twice {
			return nil, fmt.Errorf("two tools are named %s", t.Name)
		}
		p.index[t.Name] = i
	}
	return p, nil
}

// Behind returns a pool that can also call the tools that find knows by name, without
// showing them. Its own come first. What find returns may change at any time.
func (p *Pool) Behind(find func(name string) (Tool, bool)) *Pool {
	return &Pool{tools: p.tools, index: p.index, behind: find}
}

// Wrap returns a pool whose handlers are wrapped in ms. The first is outermost.
func (p *Pool) Wrap(ms ...Middleware) *Pool {
	q := &Pool{tools: slices.Clone(p.tools), index: p.index}
	for i, t := range p.tools {
		q.tools[i] = wrap(t, ms)
	}
	if p.behind != nil {
		q.behind = func(name string) (Tool, bool) {
			t, ok := p.behind(name)
			return wrap(t, ms), ok
		}
	}
	return q
}

func wrap(t Tool, ms []Middleware) Tool {
	bare := t
	for _, m := range slices.Backward(ms) {
		t.Run = m(bare, t.Run)
	}
	return t
}

// Add returns a pool with more tools, behind those of p. One whose name is taken is an
// error.
func (p *Pool) Add(tools ...Tool) (*Pool, error) {
	q, err := NewPool(slices.Concat(p.tools, tools)...)
	if err != nil {
		return nil, err
	}
	q.behind = p.behind
	return q, nil
}

// Keep returns a pool of the tools for which keep is true, of those that are shown.
func (p *Pool) Keep(keep func(Tool) bool) *Pool {
	q := &Pool{index: map[string]int{}, behind: p.behind}
	for _, t := range p.tools {
		if keep(t) {
			q.index[t.Name] = len(q.tools)
			q.tools = append(q.tools, t)
		}
	}
	return q
}

// Tools returns the tools in order.
func (p *Pool) Tools() []Tool { return p.tools }

// Get returns the tool of that name, also if it is not shown.
func (p *Pool) Get(name string) (Tool, bool) {
	if i, ok := p.index[name]; ok {
		return p.tools[i], true
	}
	if p.behind != nil {
		return p.behind(name)
	}
	return Tool{}, false
}

// Resolve returns the call that really runs for c, which is c or what it stands for, and
// its tool. If there is none, why is what the model reads.
func (p *Pool) Resolve(c Call) (t Tool, runs Call, why string) {
	t, ok := p.Get(c.Name)
	if !ok {
		return t, c, fmt.Sprintf("There is no tool named %q. Use one of the tools you were given.", c.Name)
	}
	if t.Proxy == nil {
		return t, c, ""
	}
	runs, err := t.Proxy(c)
	if err != nil {
		return t, c, err.Error()
	}
	switch t, ok = p.Get(runs.Name); {
	case !ok:
		why = fmt.Sprintf("There is no tool named %q, or not any more. Look for it with ToolSearch.", runs.Name)
	case t.Proxy != nil:
		why = fmt.Sprintf("%s cannot be called by way of another tool. Call it directly.", runs.Name)
	}
	return t, runs, why
}

// Call runs c. A tool that is not there, and one that panics, give a failed result.
func (p *Pool) Call(ctx context.Context, c Call) (r Result) {
	t, c, why := p.Resolve(c)
	if why != "" {
		return Failf("%s", why)
	}
	defer func() {
		if v := recover(); v != nil {
			r = Failf("The tool %s failed inside heddle: %v\n%s", c.Name, v, debug.Stack())
		}
	}()
	return t.Run(ctx, c)
}
