package permission

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An agent has the mode of whoever it works for, unless that leaves it open; and it may
// always ask for less.
func TestModesOfAgents(t *testing.T) {
	for _, test := range []struct{ main, parent, own, want Mode }{
		{Default, "", "", Default},
		{Default, "", AcceptEdits, AcceptEdits},
		{Default, "", DontAsk, DontAsk},
		{Default, "", Plan, Plan},
		{AcceptEdits, "", Default, AcceptEdits},
		{AcceptEdits, "", DontAsk, AcceptEdits},
		{Bypass, "", Default, Bypass},
		{Bypass, "", Plan, Plan},
		{DontAsk, "", AcceptEdits, DontAsk},
		{Plan, "", AcceptEdits, Plan},
		{Plan, "", Bypass, Plan},
		{Default, Plan, AcceptEdits, Plan},
		{Default, AcceptEdits, "", AcceptEdits},
		{Default, AcceptEdits, Default, AcceptEdits},
	} {
		g := newPlace(t).gate(t, Default, lists{}, nil)
		g.bypass = nil
		if err := g.SetMode(test.main); err != nil {
			t.Fatal(err)
		}
		parent := ""
		if test.parent != "" {
			parent = "a1"
			if err := g.Join(parent, "", test.parent); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.Join("a2", parent, test.own); err != nil {
			t.Fatal(err)
		}
		if got := g.ModeOf("a2"); got != test.want {
			t.Errorf("mode %q of an agent of %q below %q: %s, want %s", test.own, test.parent, test.main, got, test.want)
		}
	}
}

// What the main conversation is switched to counts for agents that run.
func TestAgentsFollowTheConversation(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, Default, lists{}, nil)
	g.bypass = errors.New("not available")
	if err := g.Join("a1", "", Bypass); err == nil {
		t.Error("an agent got bypassPermissions, which nobody made available")
	}
	if err := g.Join("a1", "", AcceptEdits); err != nil {
		t.Fatal(err)
	}
	if err := g.SetMode(Plan); err != nil {
		t.Fatal(err)
	}
	if got := g.ModeOf("a1"); got != Plan {
		t.Errorf("in plan mode an agent works in mode %s", got)
	}
	if err := g.SetMode(Default); err != nil {
		t.Fatal(err)
	}
	if got := g.ModeOf("a1"); got != AcceptEdits {
		t.Errorf("after plan mode an agent works in mode %s, want its own", got)
	}
	scope := p.scope()
	scope.Agent = "a1"
	g.Grant("", nil, p.rules(t, []string{"Bash(touch *)"}))
	if r := do(t, g, scope, "touch x"); !r.Denied {
		t.Error("an agent does what a skill has forbidden to those who sent it")
	}
	if got := g.Leave("a1"); len(got) != 1 || g.ModeOf("a1") != Default || len(g.Denied("a1")) != 0 {
		t.Errorf("an agent left with %+v, and something of it stayed", got)
	}
}

// A question of an agent that nobody answers is answered in the end: whoever sent it waits.
func TestQuestionsOfAgentsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		g := p.gate(t, Default, lists{}, people(func(ctx context.Context, _ Question) (Answer, error) {
			<-ctx.Done()
			return Answer{}, ctx.Err()
		}))
		g.patience = time.Hour
		scope := p.scope()
		scope.Agent = "a1"
		began := time.Now()
		if r := do(t, g, scope, "make x"); !r.Denied || !strings.Contains(textOf(r), "nobody") || time.Since(began) != time.Hour {
			t.Errorf("after %v: %s", time.Since(began), textOf(r))
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Hour, errors.New("the person left"))
		defer cancel()
		tl := bashTool()
		began = time.Now()
		g.Middleware(tl, nil)(ctx, call(t, tl, p.scope(), "command", "make x"))
		if time.Since(began) != 100*time.Hour {
			t.Errorf("a question of the main conversation ended after %v", time.Since(began))
		}
	})
}
