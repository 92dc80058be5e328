package permission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"heddle/internal/tool"
)

// maxRefusals is after how many refusals by a person a run should end.
const maxRefusals = 3

// ErrNobody is the answer of an [Asker] behind which nobody is.
var ErrNobody = errors.New("nobody is there to ask")

// errSettled ends a question that the answer to another one has settled.
var errSettled = errors.New("settled by another answer")

// errUnanswered ends a question of an agent that nobody has answered for too long.
var errUnanswered = errors.New("nobody has answered")

// waiting is a call whose question is not answered yet.
type waiting struct {
	tool   tool.Tool
	call   tool.Call
	advice Advice
	cancel context.CancelCauseFunc
}

// Middleware lets a call of t reach next only if it may run.
func (g *Gate) Middleware(t tool.Tool, next tool.Handler) tool.Handler {
	return func(ctx context.Context, c tool.Call) tool.Result {
		var a Advice
		if g.advice != nil {
			a = g.advice(ctx)
		}
		v := g.judge(t, c, a)
		if v.Behavior == Ask {
			return g.question(ctx, waiting{tool: t, call: c, advice: a}, v, next)
		}
		return g.finish(ctx, c, v, next)
	}
}

// finish carries out a verdict that is not a question.
func (g *Gate) finish(ctx context.Context, c tool.Call, v Verdict, next tool.Handler) tool.Result {
	switch {
	case v.Behavior == Allow:
		return next(ctx, c)
	case v.Invalid:
		return tool.Failf("%s", v.Reason)
	}
	return g.refuse(c, v.Reason, refusedText(v))
}

// question asks until the question is answered or settled.
func (g *Gate) question(ctx context.Context, w waiting, v Verdict, next tool.Handler) tool.Result {
	t, c := w.tool, w.call
	for {
		g.mu.Lock()
		asker := g.asker
		g.mu.Unlock()
		if asker == nil {
			return g.refuse(c, v.Reason, nobodyText(v))
		}
		a, err := g.put(ctx, asker, w, v)
		switch {
		case err == nil:
			return g.answered(ctx, t, c, a, next)
		case errors.Is(err, ErrNobody), errors.Is(err, errUnanswered):
			return g.refuse(c, v.Reason, nobodyText(v))
		case ctx.Err() != nil:
			return tool.Failf("Interrupted while waiting for permission. It did not run.")
		case !errors.Is(err, errSettled):
			return g.refuse(c, v.Reason, fmt.Sprintf("Not permitted: %s, and asking for permission did not work: %v. Do what you can without it.", v.Reason, err))
		}
		if v = g.judge(t, c, w.advice); v.Behavior != Ask {
			return g.finish(ctx, c, v, next)
		}
	}
}

// put asks one question. The error is errSettled if an update has made the
// answer unnecessary.
func (g *Gate) put(ctx context.Context, asker Asker, w waiting, v Verdict) (Answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w.cancel = cancel
	g.mu.Lock()
	g.waiting[&w] = struct{}{}
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		delete(g.waiting, &w)
		g.mu.Unlock()
	}()
	// An update between the judgement and here has not seen this question.
	if g.judge(w.tool, w.call, w.advice).Behavior != Ask {
		return Answer{}, errSettled
	}
	c := w.call
	q := Question{Call: c, Effects: v.Effects, Reason: v.Reason, Path: v.Path, Suggestions: v.Suggestions, Person: slices.ContainsFunc(v.Effects, func(e tool.Effect) bool { return e.Action == tool.Ask })}
	if c.Scope != nil {
		q.Agent, q.Dir = c.Scope.Agent, c.Scope.Dir()
	}
	if g.patience > 0 && q.Agent != "" {
		defer time.AfterFunc(g.patience, func() { cancel(errUnanswered) }).Stop()
	}
	a, err := asker.Ask(ctx, q)
	if cause := context.Cause(ctx); err != nil && (cause == errSettled || cause == errUnanswered) {
		return Answer{}, cause
	}
	return a, err
}

// settle ends the questions whose answer is known now.
func (g *Gate) settle() {
	g.mu.Lock()
	list := make([]*waiting, 0, len(g.waiting))
	for w := range g.waiting {
		list = append(list, w)
	}
	g.mu.Unlock()
	for _, w := range list {
		if g.judge(w.tool, w.call, w.advice).Behavior != Ask {
			w.cancel(errSettled)
		}
	}
}

// answered does what the answer says.
func (g *Gate) answered(ctx context.Context, t tool.Tool, c tool.Call, a Answer, next tool.Handler) tool.Result {
	if len(a.Updates) > 0 {
		if err := g.Apply(a.Updates); err != nil {
			return g.refuse(c, "the answer was not usable", fmt.Sprintf("Permission was answered with a change that cannot be made: %v. It did not run.", err))
		}
	}
	if !a.Allow {
		return g.refusedByUser(c, a)
	}
	if len(a.Input) > 0 && string(a.Input) != "null" {
		c.Input = a.Input
		// A changed call was seen by whoever changed it, but deny rules hold for all, and
		// so does what is off limits.
		if v := g.Judge(t, c); v.Behavior == Deny && (v.final || v.Rule != nil || v.Invalid) {
			return g.finish(ctx, c, v, next)
		}
	}
	return next(ctx, c)
}

// refusedText tells the model of a refusal that nobody was asked about.
func refusedText(v Verdict) string {
	if v.Rule != nil {
		return fmt.Sprintf("Not permitted: %s. The rule is the user's: do not do the same in another way. Go on without it, and say so in your answer if it matters.", v.Reason)
	}
	return fmt.Sprintf("Not permitted: %s.", v.Reason)
}

// nobodyText tells the model that a call needs a person who is not there.
func nobodyText(v Verdict) string {
	text := fmt.Sprintf("Not permitted: %s, and nobody is there to ask. Do not repeat it or look for a way round; do what you can without it, and say in your answer what was not done", v.Reason)
	var rules []string
	for _, u := range v.Suggestions {
		for _, r := range u.Rules {
			rules = append(rules, r.String())
		}
	}
	if len(rules) == 0 {
		return text + "."
	}
	return fmt.Sprintf("%s and that the user can permit it with %s.", text, strings.Join(rules, ", "))
}
