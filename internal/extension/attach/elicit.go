package attach

import (
	"context"
	"encoding/json"
	"fmt"

	"heddle/internal/hook"
	"heddle/internal/mcp"
	"heddle/internal/permission"
	"heddle/internal/tool"
)

// Person is who answers questions that are no calls of the model's.
type Person interface {
	Put(ctx context.Context, c tool.Call, reason string) (permission.Answer, error)
}

// Elicitor asks the hooks, and then the person, what servers want to know. hooks may be
// nil; with nobody there, what servers ask is declined.
func Elicitor(hooks *Hooks, person Person) func(ctx context.Context, server string, e mcp.Elicitation) mcp.Answer {
	return func(ctx context.Context, server string, e mcp.Elicitation) mcp.Answer {
		a, decided := hooks.elicit(ctx, server, e)
		if !decided {
			a = put(ctx, hooks, person, server, e)
		}
		return hooks.elicited(ctx, server, e, a)
	}
}

// put asks the person. The content of the answer is what stands under "content" in the
// input that they return.
func put(ctx context.Context, hooks *Hooks, person Person, server string, e mcp.Elicitation) mcp.Answer {
	fields := map[string]any{"server": server, "message": e.Message}
	if e.URL != "" {
		fields["url"] = e.URL
	}
	if e.Schema != nil {
		fields["requestedSchema"] = e.Schema
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return mcp.Answer{Action: mcp.Cancel}
	}
	if hooks != nil {
		defer hooks.notify(ctx, "elicitation_dialog", fmt.Sprintf("the MCP server %s asks: %s", server, e.Message))()
	}
	a, err := person.Put(ctx, tool.Call{Name: "Elicitation", Input: text}, fmt.Sprintf("the MCP server %q asks for it", server))
	switch {
	case err != nil && ctx.Err() != nil, a.Interrupt:
		return mcp.Answer{Action: mcp.Cancel}
	case err != nil, !a.Allow:
		return mcp.Answer{Action: mcp.Decline}
	}
	var answer struct {
		Content map[string]any `json:"content"`
	}
	if len(a.Input) > 0 && json.Unmarshal(a.Input, &answer) != nil {
		return mcp.Answer{Action: mcp.Decline}
	}
	return mcp.Answer{Action: mcp.Accept, Content: answer.Content}
}

// elicit asks the hooks of Elicitation.
func (h *Hooks) elicit(ctx context.Context, server string, e mcp.Elicitation) (a mcp.Answer, decided bool) {
	if h == nil || !h.runner.Has(hook.Elicitation) {
		return a, false
	}
	fields := map[string]any{"mcp_server_name": server, "message": e.Message, "mode": mode(e)}
	if e.URL != "" {
		fields["url"], fields["elicitation_id"] = e.URL, e.ID
	}
	if e.Schema != nil {
		fields["requested_schema"] = e.Schema
	}
	return answered(h.runner.Fire(ctx, hook.Elicitation, server, fields, nil))
}

// elicited lets the hooks of ElicitationResult change an answer.
func (h *Hooks) elicited(ctx context.Context, server string, e mcp.Elicitation, a mcp.Answer) mcp.Answer {
	if h == nil || !h.runner.Has(hook.ElicitationResult) {
		return a
	}
	fields := map[string]any{"mcp_server_name": server, "action": a.Action, "mode": mode(e), "content": a.Content}
	if e.ID != "" {
		fields["elicitation_id"] = e.ID
	}
	if changed, ok := answered(h.runner.Fire(ctx, hook.ElicitationResult, server, fields, nil)); ok {
		return changed
	}
	return a
}

func mode(e mcp.Elicitation) string {
	if e.URL != "" {
		return "url"
	}
	return "form"
}

// answered is the answer that hooks gave, if they did.
func answered(o hook.Outcome) (a mcp.Answer, ok bool) {
	switch {
	case o.Blocked:
		return mcp.Answer{Action: mcp.Decline}, true
	case o.Action == "":
		return a, false
	}
	a.Action = o.Action
	if len(o.Content) > 0 && json.Unmarshal(o.Content, &a.Content) != nil {
		return mcp.Answer{Action: mcp.Decline}, true
	}
	return a, true
}
