package agent

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/tool"
)

// bulky is a tool whose results fill a small window in a few turns.
func bulky(bytes int) tool.Tool {
	return tool.Tool{Name: "Bulky", Run: func(context.Context, tool.Call) tool.Result {
		return tool.Text(strings.Repeat("x", bytes))
	}}
}

// honest reports the prompt's true length at 3.5 bytes a token, and refuses what
// is longer than its window, as an API does.
func honest(window int, answer func(n int, body []byte) model.Response) *fake {
	f := &fake{}
	f.answer = func(n int, _ context.Context) (model.Response, error) {
		tokens := int(float64(len(f.bodies[n-1])) / 3.5)
		if tokens > window {
			return model.Response{}, &model.Error{Class: model.ContextFull, Status: 400}
		}
		resp := answer(n, f.bodies[n-1])
		resp.Usage = message.Usage{Input: tokens, Output: 10}
		return resp, nil
	}
	return f
}

func summaryAsked(body []byte) bool { return bytes.Contains(body, []byte("Write a summary")) }

// A model with a small window and large results must end with an answer, not with
// a full window.
func TestWindowThatFillsIsCompacted(t *testing.T) {
	turns := 0
	f := honest(20_000, func(n int, body []byte) model.Response {
		if summaryAsked(body) {
			return says("SUMMARY")
		}
		if turns++; turns <= 8 {
			return calls(use("t"+string(rune('0'+turns)), "Bulky"))
		}
		return says("done")
	})
	b := newBed(t, f, bulky(21_000)) // 6,000 tokens
	b.info.Window = 20_000
	b.Brief = func() string { return "BRIEF" }
	events, end := b.run(t, t.Context(), human("the task"))
	if end.Reason != Completed || end.Text != "done" {
		t.Fatalf("end = %+v", end)
	}
	boundaries := 0
	for _, ev := range events {
		if c, ok := ev.(Compacted); ok {
			boundaries++
			if c.Err != nil || c.Trigger != Automatic || c.Before == 0 || c.Messages != 1 {
				t.Errorf("compacted = %+v", c)
			}
		}
	}
	if boundaries == 0 {
		t.Error("nothing was compacted")
	}
	first, origin := b.Context.History.Message(0)
	if text := first.Text(); origin != System || !strings.HasPrefix(text, "BRIEF") || !strings.Contains(text, "SUMMARY") {
		t.Errorf("the new history begins with %q (%s)", text, origin)
	}
}

func TestCompactionKeepsWhatNobodyAnswered(t *testing.T) {
	f := honest(20_000, func(n int, body []byte) model.Response {
		switch {
		case summaryAsked(body):
			return says("SUMMARY")
		case n == 1:
			return calls(use("t1", "Bulky"))
		}
		return says("ok")
	})
	b := newBed(t, f, bulky(55_000))
	b.info.Window = 20_000
	b.run(t, t.Context(), human("one"))
	b.run(t, t.Context(), human("the open question"))
	last := f.bodies[len(f.bodies)-1]
	if !bytes.Contains(last, []byte("the open question")) || !bytes.Contains(last, []byte("SUMMARY")) {
		t.Errorf("last request = %.300s", last)
	}
}

// A single result that is longer than the window leaves an abridged copy as the
// only thing that can be summarised.
func TestResultLongerThanTheWindow(t *testing.T) {
	f := honest(30_000, func(n int, body []byte) model.Response {
		switch {
		case summaryAsked(body):
			return says("SUMMARY")
		case n == 1:
			return calls(use("t1", "Bulky"))
		}
		return says("ok")
	})
	b := newBed(t, f, bulky(1_000_000))
	b.info.Window = 30_000
	if _, end := b.run(t, t.Context(), human("go")); end.Text != "ok" {
		t.Errorf("end = %+v", end)
	}
}

func TestFailedCompactionLeavesTheHistory(t *testing.T) {
	broken := &model.Error{Class: model.ServerError, Status: 500}
	f := answers(says("hello"))
	b := newBed(t, f)
	b.run(t, t.Context(), human("hi"))
	f.answer = func(int, context.Context) (model.Response, error) { return model.Response{}, broken }
	var last Event
	for ev, err := range Compact(t.Context(), b.Config, "") {
		if err != nil {
			t.Fatal(err)
		}
		last = ev
	}
	if end, ok := last.(Ended); !ok || end.Reason != Failed || end.Err != broken {
		t.Errorf("last event = %+v", last)
	}
	if b.Context.History.Len() != 2 {
		t.Errorf("the history has %d messages, want the 2 it had", b.Context.History.Len())
	}
}

// A summary that could not be made because the provider is down is that failure, not a
// full window.
func TestCompactionDuringAnOutage(t *testing.T) {
	outage := &model.Error{Class: model.Overloaded, Status: 529}
	f := honest(20_000, func(int, []byte) model.Response { return calls(use("t1", "Bulky")) })
	answer := f.answer
	f.answer = func(n int, ctx context.Context) (model.Response, error) {
		if summaryAsked(f.bodies[n-1]) {
			return model.Response{}, outage
		}
		return answer(n, ctx)
	}
	b := newBed(t, f, bulky(55_000))
	b.info.Window = 20_000
	if _, end := b.run(t, t.Context(), human("go")); end.Reason != Failed || end.Err != outage {
		t.Errorf("end = %+v", end)
	}
}

func TestManualCompactionPassesOnTheUsersWords(t *testing.T) {
	f := answers(says("hello"), says("SUMMARY"), says("later"))
	b := newBed(t, f)
	b.run(t, t.Context(), human("hi"))
	for _, err := range Compact(t.Context(), b.Config, "keep the ports") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Contains(f.bodies[1], []byte("keep the ports")) || !bytes.HasPrefix(f.bodies[1], f.bodies[0]) {
		t.Errorf("the summary was asked with %.200s", f.bodies[1])
	}
	if _, end := b.run(t, t.Context(), human("go on")); end.Text != "later" {
		t.Errorf("end = %+v", end)
	}
	if b.Context.History.Len() != 3 {
		t.Errorf("history has %d messages, want summary, question, answer", b.Context.History.Len())
	}
}
