package hook

import (
	"bytes"
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
	if err := exactly(text, &payload); err != nil {
		return reply{}, fmt.Errorf("read the input: %w", err)
	}
	if h.Input == nil {
		h.Input = json.RawMessage("{}")
	}
	if err := exactly(h.Input, &input); err != nil {
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

// exactly decodes text and leaves its numbers as they are written: an id may be longer
// than a float64 can tell.
func exactly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(v)
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

// verdictLimit is how many bytes from the end of an answer are searched for a verdict.
// The search takes time with the square of it where braces are nested.
const verdictLimit = 16 << 10

// parseVerdict finds the verdict in what a model wrote: models like to put prose and a
// fence around it. Of several the last counts, since they come to it in the end.
func parseVerdict(text string) (verdict, error) {
	text = text[max(0, len(text)-verdictLimit):]
	var last verdict
	for rest := text; ; {
		at := strings.IndexByte(rest, '{')
		if at < 0 {
			break
		}
		rest = rest[at:]
		d := json.NewDecoder(strings.NewReader(rest))
		var v verdict
		if !v.decode(d) {
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

// decode reports whether a verdict is next. A "no" counts also if its reason is of the
// wrong type.
func (v *verdict) decode(d *json.Decoder) bool {
	err := d.Decode(v)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" && wrong.Field != "ok" {
		err = nil
	}
	return err == nil && v.OK != nil
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
