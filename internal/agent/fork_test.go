package agent

import (
	"bytes"
	"context"
	"testing"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/scripted"
	"heddle/internal/tool"
)

// encoder counts what it encodes.
type encoder struct {
	Model
	count int
}

func (e *encoder) EncodeMessage(m message.Message) []byte {
	e.count++
	return e.Model.EncodeMessage(m)
}

func long(n int) (*History, *encoder) {
	e := &encoder{Model: &scripted.Provider{}}
	h := NewHistory(model.Prompt{System: []string{"system"}})
	h.use(e)
	for range n {
		h.Append(message.FromUser("question"), Human)
		h.Append(message.Message{Role: message.Assistant, Content: []message.Block{message.Thinking{Text: "hm"}, message.Text{Text: "answer"}}}, FromModel)
	}
	return h, e
}

func TestForkSharesItsBeginning(t *testing.T) {
	h, e := long(10)
	h.Append(message.FromUser("last"), Human)
	_, before, _ := h.request()
	encoded := e.count
	f := h.Fork(h.Len())
	f.use(e)
	h.Append(message.FromUser("for the first"), Human)
	f.Append(message.FromUser("for the fork"), FromAgent)
	_, theirs, _ := f.request()
	_, ours, _ := h.request()
	if e.count != encoded+2 {
		t.Errorf("forking encoded %d messages anew", e.count-encoded-2)
	}
	for i := range before {
		if &theirs[i][0] != &before[i][0] {
			t.Fatalf("message %d has bytes of its own", i)
		}
	}
	if bytes.Equal(theirs[len(before)], ours[len(before)]) || len(theirs) != len(ours) {
		t.Error("what came after is shared, too")
	}
	// What changes one leaves the other alone.
	f.DropThinking()
	h.Truncate(3)
	h.Append(message.FromUser("anew"), Human)
	if m, _ := h.Message(1); len(m.Content) != 2 {
		t.Error("dropping the reasoning of the fork dropped that of the first")
	}
	if m, _ := f.Message(4); f.Len() != 22 || m.Text() != "question" {
		t.Errorf("the fork has %d messages, and message 4 is %q", f.Len(), m.Text())
	}
}

func TestForkKeepsIDsApart(t *testing.T) {
	h := NewHistory(model.Prompt{System: []string{"system"}})
	call := func(id string) message.Message {
		return message.Message{Role: message.Assistant, Content: []message.Block{message.ToolUse{ID: id, Name: "x"}}}
	}
	h.Append(call("a"), FromModel)
	f := h.Fork(1)
	h.Append(call("b"), FromModel)
	if got := f.withOwnIDs(call("a")).ToolUses()[0].ID; got == "a" {
		t.Error("a fork uses the id of a call of before again")
	}
	if got := f.withOwnIDs(call("b")).ToolUses()[0].ID; got != "b" {
		t.Errorf("an id of the other's later call became %q", got)
	}
}

func TestForkCostsTheSame(t *testing.T) {
	cost := func(n int) float64 {
		h, _ := long(n)
		h.request()
		return testing.AllocsPerRun(50, func() { h.Fork(h.Len()).Append(message.FromUser("x"), FromAgent) })
	}
	if a, b := cost(5), cost(5000); b > a {
		t.Errorf("a fork of 10,000 messages costs %v allocations, one of 10 costs %v", b, a)
	}
}

func TestCallerFork(t *testing.T) {
	var fork *Context
	split := tool.Tool{Name: "Split", Run: func(ctx context.Context, c tool.Call) tool.Result {
		caller, ok := CallerOf(ctx)
		if !ok {
			return tool.Failf("nobody")
		}
		fork = caller.Fork(c.Scope, "do your part")
		return tool.Text("done")
	}}
	b := newBed(t, answers(calls(use("a", "Split"), use("b", "Split")), says("over")), split)
	if _, end := b.run(t, t.Context(), human("go")); end.Text != "over" {
		t.Fatalf("the run ended with %v", end)
	}
	checkPairs(t, fork.History)
	last, _ := fork.History.Message(fork.History.Len() - 1)
	if fork.History.Len() != 3 || len(last.Content) != 3 || last.Text() != "do your part" {
		t.Errorf("the fork has %d messages, the last is %v", fork.History.Len(), last)
	}
	if _, ok := CallerOf(t.Context()); ok {
		t.Error("there is a caller where nothing was called")
	}
}

func TestLedger(t *testing.T) {
	top := NewLedger(Spending{USD: 10})
	a, b := top.Below(Spending{}), top.Below(Spending{USD: 2})
	b.Add(Spending{USD: 1.5})
	if b.Exhausted() || top.Spent().USD != 1.5 {
		t.Errorf("spent %v above", top.Spent())
	}
	b.Add(Spending{USD: 0.5})
	if !b.Exhausted() || a.Exhausted() {
		t.Error("the limit of one counts for the other")
	}
	a.Add(Spending{USD: 8})
	if !a.Exhausted() || !top.Exhausted() {
		t.Error("what is used up above is not used up below")
	}
	words := a.Below(Spending{Tokens: 100})
	words.Add(spending(message.Usage{Input: 10, CacheRead: 1000, CacheWrite: 40, Output: 20}, 0))
	if got := words.Used(); got < 1 { // all of it above, 0.7 here
		t.Errorf("%v of the limit is used", got)
	}
	if got := NewLedger(Spending{}).Below(Spending{Tokens: 100}); got.Used() != 0 || words.Spent().Tokens != 70 {
		t.Errorf("a fresh ledger is used by %v; 70 tokens count as %d", got.Used(), words.Spent().Tokens)
	}
	var none *Ledger
	none.Add(Spending{USD: 1})
	if none.Exhausted() || none.Below(Spending{USD: 1}) == nil {
		t.Error("no ledger is one with a limit")
	}
}
