package hook

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"heddle/internal/message"
	"heddle/internal/tool"
)

// Advice is what a hook thinks of a call, for the permission rules behind it to weigh.
type Advice struct {
	Decision string // [Allow] or [AskUser]
	Reason   string
}

type adviceKey struct{}

// AdviceOf returns the advice that [Runner.Middleware] gave about the call that runs
// with ctx.
func AdviceOf(ctx context.Context) (Advice, bool) {
	a, ok := ctx.Value(adviceKey{}).(Advice)
	return a, ok
}

// Middleware runs the hooks around a call. It stands before the permission rules, so
// that they judge what the hooks have made of the call.
func (r *Runner) Middleware(t tool.Tool, next tool.Handler) tool.Handler {
	return func(ctx context.Context, c tool.Call) tool.Result {
		before := r.before(ctx, t, c)
		if ctx.Err() != nil {
			return tool.Failf("The call was cancelled before it ran.") // and before every hook had its say
		}
		if before.Blocked || before.Stop {
			return refused(before)
		}
		if before.UpdatedInput != nil {
			c.Input = before.UpdatedInput
		}
		inner := context.WithValue(ctx, adviceKey{}, nil) // not that of a call around this one
		if before.Decision != "" {
			inner = context.WithValue(ctx, adviceKey{}, Advice{before.Decision, before.Reason})
		}
		started := time.Now()
		res := next(inner, c)
		var after Outcome
		e := eventAfter(res)
		if ctx.Err() == nil && !res.Denied && !res.TooDenied && !res.Interrupt { // it ran, and somebody waits for it
			after = r.after(ctx, e, t, c, res, time.Since(started))
		}
		if after.UpdatedOutput != nil {
			r.replace(&res, after.UpdatedOutput)
		}
		add(&res, PreToolUse, before.Context)
		if after.Blocked {
			add(&res, e, []string{after.Block})
		}
		add(&res, e, after.Context)
		return res
	}
}

// eventAfter is the event of the end of a call.
func eventAfter(res tool.Result) Event {
	if res.IsError {
		return PostToolUseFailure
	}
	return PostToolUse
}

// before fires PreToolUse.
func (r *Runner) before(ctx context.Context, t tool.Tool, c tool.Call) Outcome {
	if !r.Has(PreToolUse) {
		return Outcome{}
	}
	o := r.Fire(ctx, PreToolUse, t.Name, about(t, c), &c)
	r.remember(c, o)
	return o
}

// refused is the result of a call that hooks did not let run.
func refused(o Outcome) tool.Result {
	reason := o.Block
	if !o.Blocked {
		reason = join("the turn is to end", o.StopReason)
	}
	res := tool.Failf("A hook refused this call:\n%s\nDo not try the same again: do what it asks for, or ask the user.", Wrap(PreToolUse, reason))
	res.Denied = true
	add(&res, PreToolUse, o.Context)
	return res
}

// after fires the event of the end of a call. took is how long the call was under way,
// with what it waited for a permission.
func (r *Runner) after(ctx context.Context, e Event, t tool.Tool, c tool.Call, res tool.Result, took time.Duration) Outcome {
	if !r.Has(e) {
		return Outcome{}
	}
	input := about(t, c)
	input["duration_ms"] = took.Milliseconds()
	switch {
	case e == PostToolUseFailure:
		input["error"] = textOf(res)
	case res.Data != nil && !strings.HasPrefix(t.Name, "mcp__") && t.Name != "Agent":
		input["tool_response"] = res.Data
	default:
		input["tool_response"] = textOf(res)
	}
	o := r.Fire(ctx, e, t.Name, input, &c)
	r.remember(c, o)
	return o
}

// about returns the fields that every event about a call has.
func about(t tool.Tool, c tool.Call) map[string]any {
	fields := map[string]any{"tool_name": t.Name, "tool_use_id": c.ID, "tool_input": json.RawMessage("{}")}
	switch {
	case json.Valid(c.Input):
		fields["tool_input"] = c.Input
	case len(c.Input) > 0: // of a model that was cut off
		fields["tool_input"] = string(c.Input)
	}
	return fields
}

// replace puts what a hook made of a result in its place, also for programs that watch:
// the hook may have taken out a secret.
func (r *Runner) replace(res *tool.Result, output json.RawMessage) {
	text := string(output)
	res.Data = nil
	if json.Unmarshal(output, &text) != nil && isObject(output) {
		res.Data = output
	}
	res.Content = []message.Block{message.Text{Text: r.readable(text)}}
}

// add puts what hooks said behind a result.
func add(res *tool.Result, e Event, texts []string) {
	for _, t := range texts {
		if t != "" {
			res.Content = append(res.Content[:len(res.Content):len(res.Content)], message.Text{Text: Wrap(e, t)})
		}
	}
}

func textOf(res tool.Result) string {
	var texts []string
	for _, b := range res.Content {
		if t, ok := b.(message.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// remember keeps that a hook wants the turn to end.
func (r *Runner) remember(c tool.Call, o Outcome) {
	if !o.Stop {
		return
	}
	agent := ""
	if c.Scope != nil {
		agent = c.Scope.Agent
	}
	reason := o.StopReason
	if reason == "" {
		reason = "it did not say why"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stops[agent] = join(r.stops[agent], reason)
}

// TakeStop returns why hooks around the calls of an agent want its turn to end, once;
// empty: they do not.
func (r *Runner) TakeStop(agent string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	reason := r.stops[agent]
	delete(r.stops, agent)
	return reason
}
