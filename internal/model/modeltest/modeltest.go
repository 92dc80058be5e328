// Package modeltest is the suite that every provider over HTTP must pass. A
// [Wire] writes what a server of the provider's protocol sends; the suite says
// what must come of it.
package modeltest

import (
	"context"
	"net/http"
	"testing"

	"heddle/internal/message"
	"heddle/internal/model"
)

// Wire writes the protocol of one provider.
type Wire interface {
	// New returns the provider with its usual settings.
	New(baseURL string, client *http.Client) model.Provider

	// Stream returns the events of an answer, in order, with what ends each.
	Stream(Answer) []string
	// Enough is how many of these events hold all of the answer. A stream that
	// ends sooner is cut.
	Enough(events []string) int
	// Ping is an event, or a comment, that says nothing.
	Ping() string
	// Strange are events that no version of the protocol has, to be passed over
	// anywhere but at the beginning.
	Strange() []string

	// Failure is the status and the body of an error of this class.
	Failure(model.Class) (status int, body string)
	// ErrorEvent is an error of this class within a stream.
	ErrorEvent(model.Class) string
}

// Answer is what a model says.
type Answer struct {
	ID       string
	Thinking string
	Text     string
	Calls    []Call
	Stop     message.StopReason
	Usage    message.Usage
	// Unfinished leaves out the end of the last block.
	Unfinished bool
}

// Call is a tool call as the model writes it: its input may be anything.
type Call struct{ ID, Name, Input string }

// Split cuts s into pieces of n characters, none for an empty s.
func Split(s string, n int) []string {
	var out []string
	for r := []rune(s); len(r) > 0; {
		k := min(n, len(r))
		out = append(out, string(r[:k]))
		r = r[k:]
	}
	return out
}

// Outcome is what came of a stream.
type Outcome struct {
	Events    []model.Event // without the responses
	Responses []model.Response
	Err       error
}

// Collect reads a stream to its end.
func Collect(t testing.TB, ctx context.Context, p model.Provider, r *model.Request) Outcome {
	t.Helper()
	var out Outcome
	for ev, err := range p.Stream(ctx, r) {
		if out.Err != nil || len(out.Responses) > 0 {
			t.Errorf("after the last element came %#v, %v", ev, err)
		}
		switch ev := ev.(type) {
		case nil:
			if out.Err = err; err == nil {
				t.Error("neither an event nor an error")
			}
		case model.Response:
			out.Responses = append(out.Responses, ev)
		default:
			out.Events = append(out.Events, ev)
		}
	}
	if out.Err == nil && len(out.Responses) == 0 {
		t.Error("the stream ended with neither a response nor an error")
	}
	return out
}

// Texts joins the deltas of text, those of thinking, and the pieces of input by
// block. Deltas before a retry that discards them do not count.
func (o Outcome) Texts() (text, thinking string, input map[int]string) {
	input = map[int]string{}
	for _, ev := range o.Events {
		switch ev := ev.(type) {
		case model.TextDelta:
			text += ev.Text
		case model.ThinkingDelta:
			thinking += ev.Text
		case model.InputDelta:
			input[ev.Index] += ev.JSON
		case model.Retrying:
			if ev.Discard {
				text, thinking, input = "", "", map[int]string{}
			}
		}
	}
	return text, thinking, input
}

// NewRequest returns a small request of p.
func NewRequest(p model.Provider) *model.Request {
	return &model.Request{
		Model: model.Info{Provider: p.Name(), ID: "m-1", Window: 200_000, MaxOutput: 8_000},
		Prefix: p.EncodePrefix(model.Prompt{
			System: []string{"You weave."},
			Tools:  []model.Tool{{Name: "Bash", Description: "Runs a command.", Schema: []byte(`{"type":"object"}`)}},
		}),
		Messages:  [][]byte{p.EncodeMessage(message.FromUser("go on"))},
		MaxTokens: 1000,
	}
}
