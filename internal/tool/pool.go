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
	tools []Tool
	index map[string]int
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

// Wrap returns a pool whose handlers are wrapped in ms. The first is outermost.
func (p *Pool) Wrap(ms ...Middleware) *Pool {
	q := &Pool{tools: slices.Clone(p.tools), index: p.index}
	for i, t := range p.tools {
		for _, m := range slices.Backward(ms) {
			q.tools[i].Run = m(t, q.tools[i].Run)
		}
	}
	return q
}

// Keep returns a pool of the tools for which keep is true.
func (p *Pool) Keep(keep func(Tool) bool) *Pool {
	q := &Pool{index: map[string]int{}}
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

// Get returns the tool of that name.
func (p *Pool) Get(name string) (Tool, bool) {
	i, ok := p.index[name]
	if !ok {
		return Tool{}, false
	}
	return p.tools[i], true
}

// Call runs c. A tool that is not there, and one that panics, give a failed result.
func (p *Pool) Call(ctx context.Context, c Call) (r Result) {
	t, ok := p.Get(c.Name)
	if !ok {
		return Failf("There is no tool named %q. Use one of the tools you were given.", c.Name)
	}
	defer func() {
		if v := recover(); v != nil {
			r = Failf("The tool %s failed inside heddle: %v\n%s", c.Name, v, debug.Stack())
		}
	}()
	return t.Run(ctx, c)
}
