package session

import (
	"context"
	"errors"
	"strings"
	"testing"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/tool"
)

// hooks remember what they heard.
type hooks struct {
	heard   []string
	refuse  string // prompts with this are refused
	context string
}

func (h *hooks) hear(what string) { h.heard = append(h.heard, what) }

func (h *hooks) Started(_ context.Context, resumed bool) {
	if h.hear("started"); resumed {
		h.hear("resumed")
	}
}
func (h *hooks) Context() (text string) { text, h.context = h.context, ""; return text }
func (h *hooks) Submitted(_ context.Context, prompt string) (string, error) {
	h.hear("prompt " + prompt)
	if h.refuse != "" && strings.Contains(prompt, h.refuse) {
		return "", errors.New("not this one")
	}
	return "added by a hook", nil
}
func (h *hooks) Failed(context.Context, agent.Ended) { h.hear("failed") }
func (h *hooks) Ended(context.Context)               { h.hear("ended") }
func (h *hooks) Stopping(context.Context, string, int) []agent.Input {
	h.hear("stopping")
	return nil
}
func (h *hooks) ToolsDone(context.Context, []agent.Done) ([]message.Block, string) { return nil, "" }
func (h *hooks) Compacting(context.Context, agent.Trigger, string) error           { return nil }
func (h *hooks) Compacted(_ context.Context, _ agent.Trigger, summary string) {
	h.hear("compacted " + summary)
}

// history is all that stands in the conversation.
func history(s *Session) string {
	var b strings.Builder
	for i := range s.conv.History.Len() {
		m, origin := s.conv.History.Message(i)
		b.WriteString(string(origin) + ": " + m.Text() + "\n")
	}
	return b.String()
}

func TestHooksHearOfTheSession(t *testing.T) {
	h := &hooks{context: "the build is red", refuse: "forbidden"}
	b := newBed(t, scripts{"p/one": "agents: [{turns: [{text: hello}, {text: again}]}]"})
	s := b.openWith("p/one", func(p *Parts) { p.Hooks = h })
	if end := b.turn(s, "hi"); end.Text != "hello" {
		t.Errorf("the turn ended with %v", end)
	}
	if got := history(s); !strings.Contains(got, "the build is red") || !strings.Contains(got, "added by a hook") {
		t.Errorf("the model read %q", got)
	}
	before := s.conv.History.Len()
	if end := b.turn(s, "a forbidden word"); end.Reason != agent.Stopped || end.Err == nil || s.conv.History.Len() != before {
		t.Errorf("a refused prompt ended with %v, and the history has %d messages", end, s.conv.History.Len())
	}
	b.close(s)
	h.context = "the build is green"
	s = b.openWith("", func(p *Parts) { p.Hooks = h })
	b.turn(s, "go on")
	if got := history(s); !strings.Contains(got, "the build is green") {
		t.Errorf("after a resume, the model read %q", got)
	}
	b.close(s)
	want := "started, prompt hi, stopping, prompt a forbidden word, ended, started, resumed, prompt go on, stopping, ended"
	if got := strings.Join(h.heard, ", "); got != want {
		t.Errorf("hooks heard %s\nwant %s", got, want)
	}
}

// commander knows /greet and /broken and /status.
type commander struct{}

func (commander) Begin()          {}
func (commander) List() []Command { return []Command{{Name: "greet", Skill: true}} }
func (commander) Expand(_ context.Context, name, args string) (Expansion, bool, error) {
	switch name {
	case "greet":
		return Expansion{Content: message.FromUser("Greet " + args).Content, Model: "p/two"}, true, nil
	case "status":
		return Expansion{Answer: "all is well"}, true, nil
	case "broken":
		return Expansion{}, true, errors.New("line 3 makes no sense")
	}
	return Expansion{}, false, nil
}

func TestCommandsStandForWhatTheySay(t *testing.T) {
	b := newBed(t, scripts{"p/one": "agents: [{turns: [{text: never}, {text: one}, {text: one again}]}]", "p/two": "agents: [{turns: [{text: two}]}]"})
	s := b.openWith("p/one", func(p *Parts) { p.Commands = commander{} })
	defer b.close(s)
	for _, test := range []struct {
		typed  string
		reason agent.Reason
		text   string
	}{
		{"/greet the world", agent.Completed, "two"},
		{"/status", agent.Completed, "all is well"},
		{"/broken", agent.Stopped, ""},
		{"/usr/bin/greet is what?", agent.Completed, "one"}, // and the model is the session's again
		{"/unknown", agent.Completed, "one again"},
	} {
		if end := b.turn(s, test.typed); end.Reason != test.reason || end.Text != test.text {
			t.Errorf("%s ended with %s, %q, %v", test.typed, end.Reason, end.Text, end.Err)
		}
	}
	got := history(s)
	for _, want := range []string{"human: Greet the world\n", "human: /usr/bin/greet", "human: /unknown"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in the history:\n%s", want, got)
		}
	}
	if strings.Contains(got, "/status") || strings.Contains(got, "broken") {
		t.Errorf("the model heard what it was not asked:\n%s", got)
	}
	if names := s.About().Commands; len(names) != 2 || names[1].Name != "greet" {
		t.Errorf("the commands are %v", names)
	}
}

// Tools that are slow to come are there before the first request, and do not change after.
func TestToolsAreGatheredOnce(t *testing.T) {
	b := newBed(t, scripts{"p/one": "agents: [{turns: [{text: one}, {text: two}]}]"})
	gathered := 0
	news := []string{"", "a server has gone", ""}
	s := b.openWith("p/one", func(p *Parts) {
		p.Gather = func(context.Context) *tool.Pool {
			gathered++
			pool, err := tool.NewPool(tool.Tool{Name: "mcp__late__one"})
			if err != nil {
				t.Fatal(err)
			}
			return pool
		}
		p.News = func() (text string) { text, news = news[0], news[1:]; return text }
	})
	defer b.close(s)
	b.turn(s, "hi")
	b.turn(s, "hi again")
	if tools := s.conv.History.Prompt().Tools; gathered != 1 || len(tools) != 1 || tools[0].Name != "mcp__late__one" {
		t.Errorf("gathered %d times: %v", gathered, tools)
	}
	if tools := s.About().Tools; len(tools) != 1 {
		t.Errorf("the session tells of %v", tools)
	}
	if got := history(s); strings.Count(got, "a server has gone") != 1 {
		t.Errorf("the model read %q", got)
	}
}
