package attach

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/mcp"
	"heddle/internal/permission"
	"heddle/internal/tool"
)

// answerer is a person who always says the same.
type answerer struct {
	answer permission.Answer
	err    error
	asked  tool.Call
	reason string
}

func (a *answerer) Put(_ context.Context, c tool.Call, reason string) (permission.Answer, error) {
	a.asked, a.reason = c, reason
	return a.answer, a.err
}

func TestAnswersOfPeopleToServers(t *testing.T) {
	t.Parallel()
	input := func(text string) permission.Answer {
		return permission.Answer{Allow: true, Input: json.RawMessage(text)}
	}
	for name, c := range map[string]struct {
		answer permission.Answer
		err    error
		want   mcp.Answer
	}{
		"content":     {input(`{"message":"m","content":{"colour":"blue"}}`), nil, mcp.Answer{Action: mcp.Accept, Content: map[string]any{"colour": "blue"}}},
		"no content":  {permission.Answer{Allow: true}, nil, mcp.Answer{Action: mcp.Accept}},
		"unchanged":   {input(`{"message":"m"}`), nil, mcp.Answer{Action: mcp.Accept}},
		"a text":      {input(`{"content":"blue"}`), nil, mcp.Answer{Action: mcp.Decline}},
		"no JSON":     {input(`{`), nil, mcp.Answer{Action: mcp.Decline}},
		"refused":     {permission.Answer{Message: "no"}, nil, mcp.Answer{Action: mcp.Decline}},
		"interrupted": {permission.Answer{Interrupt: true}, nil, mcp.Answer{Action: mcp.Cancel}},
		"nobody":      {permission.Answer{}, permission.ErrNobody, mcp.Answer{Action: mcp.Decline}},
		"an error":    {permission.Answer{Allow: true}, errors.New("the host is gone"), mcp.Answer{Action: mcp.Decline}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			person := &answerer{answer: c.answer, err: c.err}
			got := Elicitor(nil, person)(t.Context(), "s", mcp.Elicitation{Message: "Which?", Schema: json.RawMessage(`{"type":"object"}`)})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if want := `{"message":"Which?","requestedSchema":{"type":"object"},"server":"s"}`; person.asked.Name != "Elicitation" || string(person.asked.Input) != want {
				t.Errorf("asked %s %s, want %s", person.asked.Name, person.asked.Input, want)
			}
			if want := `the MCP server "s" asks for it`; person.reason != want {
				t.Errorf("reason = %q, want %q", person.reason, want)
			}
		})
	}
}

func TestQuestionThatEndsWithItsCallIsCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	person := &answerer{err: context.Canceled}
	got := Elicitor(nil, person)(ctx, "s", mcp.Elicitation{URL: "https://x.example/", ID: "1"})
	if got.Action != mcp.Cancel {
		t.Errorf("answer = %+v, want cancel", got)
	}
	if want := `{"message":"","server":"s","url":"https://x.example/"}`; string(person.asked.Input) != want {
		t.Errorf("asked %s, want %s", person.asked.Input, want)
	}
}
