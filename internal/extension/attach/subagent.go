package attach

import (
	"context"
	"strings"

	"heddle/internal/agent"
	"heddle/internal/hook"
	"heddle/internal/message"
	"heddle/internal/tool"
)

// AgentHooks runs the hooks at the turning points of an agent that works for the
// conversation.
type AgentHooks struct {
	*Hooks
	kind string // of agent
}

// Agent returns the hooks of an agent whose calls run in scope.
func (h *Hooks) Agent(scope *tool.Scope, kind string) *AgentHooks {
	o := h.o
	o.Scope = scope
	return &AgentHooks{NewHooks(h.runner, o), kind}
}

func (a *AgentHooks) about(fields map[string]any) map[string]any {
	fields["agent_id"], fields["agent_type"] = a.o.Scope.Agent, a.kind
	return fields
}

// Begin tells that the agent begins. What it returns is for the agent.
func (a *AgentHooks) Begin(ctx context.Context) string {
	if !a.runner.Has(hook.SubagentStart) {
		return ""
	}
	o := a.runner.Fire(ctx, hook.SubagentStart, a.kind, a.about(map[string]any{}), nil)
	return wrapped(hook.SubagentStart, o.Context)
}

// Stopping asks whether the agent is done.
func (a *AgentHooks) Stopping(ctx context.Context, text string, again int) []agent.Input {
	if !a.runner.Has(hook.SubagentStop) {
		return nil
	}
	o := a.runner.Fire(ctx, hook.SubagentStop, a.kind, a.about(map[string]any{
		"stop_hook_active": again > 0, "last_assistant_message": text, "background_tasks": []any{}, "session_crons": []any{},
	}), nil)
	if !o.Blocked || o.Stop {
		return nil
	}
	content := wrapped(hook.SubagentStop, append([]string{o.Block}, o.Context...))
	return []agent.Input{{Content: message.FromUser(strings.TrimSpace(content)).Content, Origin: agent.System}}
}

// Compacted is not told: what hooks say to the conversation is not for its agents.
func (a *AgentHooks) Compacted(context.Context, agent.Trigger, string) {}
