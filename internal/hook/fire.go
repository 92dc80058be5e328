package hook

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"heddle/internal/tool"
)

// Fire runs all hooks of an event whose matchers fit subject, at once, and waits for them.
// input are the fields of the event; c is the call that it is about, and may be nil. When
// ctx is done the hooks are ended and have said nothing.
func (r *Runner) Fire(ctx context.Context, e Event, subject string, input map[string]any, c *tool.Call) Outcome {
	if ctx.Err() != nil {
		return Outcome{}
	}
	chosen := r.choose(e, subject, c)
	if len(chosen) == 0 {
		return Outcome{}
	}
	text, err := r.payload(e, input, c)
	if err != nil {
		r.tell(chosen[0].Hook, "no hook ran: %v", err)
		return Outcome{}
	}
	total := limits(e, chosen)
	outcomes := make([]Outcome, len(chosen))
	var all sync.WaitGroup
	for i, h := range chosen {
		if h.Kind == Command && h.Async {
			r.detach(ctx, h, text)
			continue
		}
		all.Go(func() { outcomes[i] = r.run(ctx, h, min(h.limit(), total), text) })
	}
	all.Wait()
	return r.combine(chosen, outcomes)
}

// choose returns the hooks to run, each that would do the same only once.
func (r *Runner) choose(e Event, subject string, c *tool.Call) []*entry {
	seen := map[string]bool{}
	var chosen []*entry
	for _, h := range r.current() {
		if h.Event != e || seen[h.id] || !h.matches(subject) || !r.applies(h.Hook, c) {
			continue
		}
		seen[h.id] = true
		if h.Once && !h.spent.CompareAndSwap(false, true) {
			continue
		}
		chosen = append(chosen, h)
	}
	return chosen
}

// applies reports whether the "if" of a hook holds.
func (r *Runner) applies(h Hook, c *tool.Call) bool {
	if h.If == "" {
		return true
	}
	if !known[h.Event].call {
		return false
	}
	if c == nil || r.o.Matches == nil {
		return true
	}
	ok, err := r.o.Matches(h.If, *c)
	if err != nil {
		r.tell(h, "it runs though its \"if\" cannot be judged: %v", err)
	}
	return ok || err != nil
}

// errLimit is the cause of the end of a hook that took too long.
var errLimit = errors.New("time limit")

// run runs one hook to its end.
func (r *Runner) run(ctx context.Context, h *entry, limit time.Duration, text []byte) Outcome {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errLimit)
	defer cancel()
	o, err := r.ask(ctx, h.Hook, text)
	if err != nil {
		h.spent.Store(false) // it did not get its one turn
		r.fail(ctx, h.Hook, limit, err)
		return Outcome{}
	}
	r.tidy(&o)
	for _, m := range o.Messages {
		r.tell(h.Hook, "%s", m)
	}
	return o
}

// fail tells why a hook did not get to answer. Who cancelled it knows.
func (r *Runner) fail(ctx context.Context, h Hook, limit time.Duration, err error) {
	switch {
	case errors.Is(context.Cause(ctx), errLimit):
		r.tell(h, "ended at its time limit of %v", limit)
	case ctx.Err() == nil:
		r.tell(h, "%v", err)
	}
}

// ask runs a hook of any kind and reads its answer.
func (r *Runner) ask(ctx context.Context, h Hook, text []byte) (Outcome, error) {
	var rep reply
	var err error
	switch h.Kind {
	case Command:
		rep, err = r.command(ctx, h, text)
	case HTTP:
		rep, err = r.post(ctx, h, text)
	case MCPTool:
		rep, err = r.callTool(ctx, h, text)
	case Prompt:
		return r.question(ctx, h, text)
	default:
		err = fmt.Errorf("hooks of type %q are not supported", h.Kind)
	}
	if err != nil {
		return Outcome{}, err
	}
	return r.read(h, rep), nil
}

// read reads the answer of a hook and tells what is wrong with it.
func (r *Runner) read(h Hook, rep reply) Outcome {
	o, notes, keep := rep.outcome(h.Event)
	for _, n := range notes {
		r.tell(h, "%s", n)
	}
	if !keep {
		r.discard(rep)
	}
	return o
}

// combine joins the outcomes in the order of their hooks.
func (r *Runner) combine(hooks []*entry, outcomes []Outcome) Outcome {
	var all Outcome
	for i, o := range outcomes {
		if all.add(o) {
			r.tell(hooks[i].Hook, "it replaced the input that another hook had changed")
		}
	}
	return all
}

// limit is how long a hook may run.
func (h Hook) limit() time.Duration {
	switch {
	case h.Timeout > 0:
		return h.Timeout
	case h.Kind == Prompt, h.Event == UserPromptSubmit:
		return 30 * time.Second
	}
	return 10 * time.Minute
}

// limits returns how long all hooks of an event may take together. At the end of a
// session somebody waits for the terminal.
func limits(e Event, hooks []*entry) time.Duration {
	if e != SessionEnd {
		return longest
	}
	total := 1500 * time.Millisecond
	for _, h := range hooks {
		total = max(total, h.Timeout)
	}
	return min(total, time.Minute)
}
