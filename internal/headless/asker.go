package headless

import (
	"context"
	"encoding/json"
	"fmt"

	"heddle/internal/permission"
)

// asker asks the host whether a call may run.
type asker struct{ host *host }

// canUseTool is the question as the protocol words it.
type canUseTool struct {
	Subtype     string              `json:"subtype"`
	Tool        string              `json:"tool_name"`
	Input       json.RawMessage     `json:"input"`
	Use         string              `json:"tool_use_id"`
	Suggestions []permission.Update `json:"permission_suggestions"`
	BlockedPath *string             `json:"blocked_path"`
	Reason      string              `json:"decision_reason,omitempty"`
	Agent       string              `json:"agent_id,omitempty"`
}

// decision is the answer.
type decision struct {
	Behavior  string              `json:"behavior"` // allow or deny
	Input     json.RawMessage     `json:"updatedInput"`
	Updates   []permission.Update `json:"updatedPermissions"`
	Message   string              `json:"message"`
	Interrupt bool                `json:"interrupt"`
}

// Ask implements [permission.Asker]. It waits as long as the host takes.
func (a *asker) Ask(ctx context.Context, q permission.Question) (permission.Answer, error) {
	request := canUseTool{
		Subtype: "can_use_tool", Tool: q.Call.Name, Input: q.Call.Input, Use: q.Call.ID,
		Suggestions: q.Suggestions, Reason: q.Reason, Agent: q.Agent,
	}
	if q.Path != "" {
		request.BlockedPath = &q.Path
	}
	raw, err := a.host.ask(ctx, request)
	if err != nil {
		return permission.Answer{}, err
	}
	var d decision
	if err := decode(raw, &d); err != nil {
		return permission.Answer{}, fmt.Errorf("the answer to can_use_tool cannot be read: %w", err)
	}
	switch d.Behavior {
	case "allow":
		if string(d.Input) == "null" {
			d.Input = nil
		}
		return permission.Answer{Allow: true, Input: d.Input, Updates: d.Updates}, nil
	case "deny":
		return permission.Answer{Message: d.Message, Updates: d.Updates, Interrupt: d.Interrupt}, nil
	}
	return permission.Answer{}, fmt.Errorf("the answer to can_use_tool has behavior %q: want allow or deny", d.Behavior)
}
