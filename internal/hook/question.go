package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// callTool runs a hook that is a tool of a server. Its text is read like the output of a
// command.
func (r *Runner) callTool(ctx context.Context, h Hook, text []byte) (reply, error) {
	if r.o.CallTool == nil {
		return reply{}, errors.New("tools of servers are not available")
	}
	var payload, input any
	if err := json.Unmarshal(text, &payload); err != nil {
		return reply{}, fmt.Errorf("read the input: %w", err)
	}
	if h.Input == nil {
		h.Input = json.RawMessage("{}")
	}
	if err := json.Unmarshal(h.Input, &input); err != nil {
		return reply{}, fmt.Errorf("read the input for the tool: %w", err)
	}
	filled, err := json.Marshal(fillInput(input, payload))
	if err != nil {
		return reply{}, fmt.Errorf("write the input for the tool: %w", err)
	}
	out, err := r.o.CallTool(ctx, h.Server, h.Tool, filled)
	if err != nil {
		return reply{}, fmt.Errorf("call %s of the server %s: %w", h.Tool, h.Server, err)
	}
	return reply{stdout: out}, nil
}

// question runs a hook that asks a model.
func (r *Runner) question(ctx context.Context, h Hook, text []byte) (Outcome, error) {
	if r.o.Ask == nil {
		return Outcome{}, errors.New("there is no model to ask")
	}
	const arguments = "$ARGUMENTS"
	input := strings.TrimSpace(string(text))
	prompt := strings.ReplaceAll(h.Prompt, arguments, input)
	if !strings.Contains(h.Prompt, arguments) {
		prompt += "\n\n" + input
	}
	prompt += "\n\n" + `Answer with one JSON object and nothing else: {"ok": true}, or {"ok": false, "reason": "why, and what to do"}. ` +
		`Add "impossible": true if nothing can be done about it.`
	answer, err := r.o.Ask(ctx, h.Model, prompt)
	if err != nil {
		return Outcome{}, fmt.Errorf("ask the model: %w", err)
	}
	v, err := parseVerdict(answer)
	if err != nil {
		return Outcome{}, err
	}
	return v.outcome(h), nil
}

// verdict is the answer of a model.
type verdict struct {
	OK         *bool  `json:"ok"`
	Reason     string `json:"reason"`
	Impossible bool   `json:"impossible"`
}

// parseVerdict finds the verdict in what a model wrote: models like to put prose and a
// fence around it. Of several the last counts, since they come to it in the end.
func parseVerdict(text string) (verdict, error) {
	text = first(text, textLimit)
	var last verdict
	for rest := text; ; {
		at := strings.IndexByte(rest, '{')
		if at < 0 {
			break
		}
		rest = rest[at:]
		d := json.NewDecoder(strings.NewReader(rest))
		var v verdict
		if d.Decode(&v) != nil || v.OK == nil {
			rest = rest[1:]
			continue
		}
		last, rest = v, rest[d.InputOffset():]
	}
	if last.OK == nil {
		return last, fmt.Errorf("the model gave no verdict: %s", oneLine(text))
	}
	return last, nil
}

// outcome is what a "no" means to the event.
func (v verdict) outcome(h Hook) (o Outcome) {
	if *v.OK {
		return o
	}
	switch h.Event {
	case PermissionRequest, PermissionDenied:
		return o
	case Stop, SubagentStop:
		if v.Impossible {
			return o // to go on would be in vain
		}
	}
	o.block(h.Event, v.Reason)
	if h.Event == PreToolUse && !h.ContinueOnBlock {
		o.Stop, o.StopReason = true, o.Block
	}
	return o
}
