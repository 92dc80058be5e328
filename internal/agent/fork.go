package agent

import (
	"context"
	"fmt"

	"heddle/internal/message"
	"heddle/internal/tool"
)

// Caller is the agent on whose behalf a tool runs. It may be asked until the tool returns:
// meanwhile the agent waits.
type Caller struct {
	r    *run
	uses []message.ToolUse
}

type callerKey struct{}

// CallerOf returns the agent whose tool call runs with ctx.
func CallerOf(ctx context.Context) (*Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(*Caller)
	return c, ok
}

// Choice is the model that answered, and how.
func (c *Caller) Choice() Choice { return c.r.choice }

// Ledger is what the agent's costs are written into; nil: none.
func (c *Caller) Ledger() *Ledger { return c.r.Ledger }

// Depth says how many agents are above this one.
func (c *Caller) Depth() int { return c.r.Config.Depth }

// Fork returns the context of an agent that goes on from the conversation of the caller, as
// it is while its call runs. It shares that conversation, and with it what the provider
// remembers. No API takes a call without a result, so the calls of the newest answer get
// one that says where it is; they are the same in all forks of that answer, and only what
// directive says is not.
func (c *Caller) Fork(scope *tool.Scope, directive string) *Context {
	h := c.r.Context.History
	fork := h.Fork(h.Len())
	m := message.Message{Role: message.User}
	for _, u := range c.uses {
		text := fmt.Sprintf("(Not for you: the result of this call of %s goes to the agent that you were forked from.)", u.Name)
		m.Content = append(m.Content, message.ToolResult{ToolUseID: u.ID, Content: []message.Block{message.Text{Text: text}}})
	}
	m.Content = append(m.Content, message.Text{Text: directive})
	fork.Append(m, FromAgent)
	return &Context{History: fork, Scope: scope, LastModel: c.r.Context.LastModel}
}
