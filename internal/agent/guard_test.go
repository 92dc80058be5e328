package agent

import (
	"context"
	"errors"
	"strings"
	"testing"

	"heddle/internal/message"
	"heddle/internal/model"
)

// guard lets everything pass unless a test says otherwise.
type guard struct {
	stopping   func(text string, again int) []Input
	toolsDone  func(calls []Done) ([]message.Block, string)
	compacting func(Trigger) error
	summaries  []string
}

func (g *guard) Stopping(_ context.Context, text string, again int) []Input {
	if g.stopping == nil {
		return nil
	}
	return g.stopping(text, again)
}

func (g *guard) ToolsDone(_ context.Context, calls []Done) ([]message.Block, string) {
	if g.toolsDone == nil {
		return nil, ""
	}
	return g.toolsDone(calls)
}

func (g *guard) Compacting(_ context.Context, t Trigger, _ string) error {
	if g.compacting == nil {
		return nil
	}
	return g.compacting(t)
}

func (g *guard) Compacted(_ context.Context, _ Trigger, summary string) {
	g.summaries = append(g.summaries, summary)
}

func TestGuardMakesTheModelGoOn(t *testing.T) {
	b := newBed(t, answers(says("done"), says("really done")))
	b.Guard = &guard{stopping: func(text string, again int) []Input {
		if again == 0 && text == "done" {
			return []Input{{Content: message.FromUser("the tests fail").Content, Origin: System}}
		}
		return nil
	}}
	_, end := b.run(t, t.Context(), human("go"))
	if end.Reason != Completed || end.Text != "really done" {
		t.Errorf("it ended with %s, %q", end.Reason, end.Text)
	}
	if n := b.Context.History.Len(); n != 4 {
		t.Errorf("the history has %d messages, want 4", n)
	}
}

// Whoever always wants more does not get an endless turn.
func TestGuardThatNeverLetsGo(t *testing.T) {
	b := newBed(t, &fake{answer: func(int, context.Context) (model.Response, error) { return says("done"), nil }})
	asked := []int{}
	b.Guard = &guard{stopping: func(_ string, again int) []Input {
		asked = append(asked, again)
		return []Input{human("more")}
	}}
	events, end := b.run(t, t.Context(), human("go"))
	if end.Reason != Completed || end.Turns != 1+maxAgain || len(asked) != 1+maxAgain || asked[maxAgain] != maxAgain {
		t.Errorf("it ended with %s after %d turns, and the guard was asked with %v", end.Reason, end.Turns, asked)
	}
	told := false
	for _, ev := range events {
		n, ok := ev.(Notice)
		told = told || ok && strings.Contains(n.Text, "did not let the model stop")
	}
	if !told {
		t.Error("nobody was told")
	}
}

func TestGuardHearsOfCalls(t *testing.T) {
	b := newBed(t, answers(calls(use("1", "Echo"), use("2", "Echo")), says("done")), echo("Echo"))
	b.Guard = &guard{toolsDone: func(calls []Done) ([]message.Block, string) {
		if len(calls) != 2 || calls[1].Use.ID != "2" || len(calls[1].Result.Content) == 0 {
			t.Errorf("it heard of %v", calls)
		}
		return []message.Block{message.Text{Text: "mind the gap"}}, ""
	}}
	if _, end := b.run(t, t.Context(), human("go")); end.Reason != Completed {
		t.Errorf("it ended with %s", end.Reason)
	}
	m, _ := b.Context.History.Message(2)
	if len(m.Content) != 3 || !strings.Contains(m.Text(), "mind the gap") {
		t.Errorf("the results are %v", m)
	}
	checkPairs(t, b.Context.History)
}

func TestGuardEndsTheRun(t *testing.T) {
	b := newBed(t, answers(calls(use("1", "Echo")), says("never said")), echo("Echo"))
	b.Guard = &guard{toolsDone: func([]Done) ([]message.Block, string) { return nil, "enough" }}
	_, end := b.run(t, t.Context(), human("go"))
	if end.Reason != Stopped || end.Err == nil || end.Err.Error() != "enough" {
		t.Errorf("it ended with %s, %v", end.Reason, end.Err)
	}
	checkPairs(t, b.Context.History)
}

func TestGuardKeepsTheHistory(t *testing.T) {
	b := newBed(t, answers(says("one"), says("a summary")))
	g := &guard{compacting: func(Trigger) error { return errors.New("not now") }}
	b.Guard = g
	b.run(t, t.Context(), human("go"))
	compact := func() (done Compacted) {
		for ev := range Compact(t.Context(), b.Config, "") {
			if c, ok := ev.(Compacted); ok {
				done = c
			}
		}
		return done
	}
	if done := compact(); done.Err == nil || done.Err.Error() != "not now" || b.Context.History.Len() != 2 {
		t.Errorf("compacted: %v", done)
	}
	g.compacting = nil
	if done := compact(); done.Err != nil || len(g.summaries) != 1 || g.summaries[0] != "a summary" {
		t.Errorf("compacted: %v, and the guard heard %q", done, g.summaries)
	}
}
