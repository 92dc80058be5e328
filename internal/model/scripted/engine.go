package scripted

import (
	"fmt"
	"strings"
	"sync"

	"heddle/internal/message"
	"heddle/internal/model"
)

// Conversation is what the engine looks at.
type Conversation struct {
	Agent    model.Agent
	System   string
	Messages []message.Message
}

// Answer is what a model says next.
type Answer struct {
	// ID is the same whenever the same turn is played to the same agent.
	ID string
	// Message is what the model says. The input of its calls is as it was written,
	// JSON or not: a client must see to that. Thinking has no signature.
	Message message.Message
	Stop    message.StopReason
	Refusal *model.RefusalDetails
	Usage   *message.Usage // nil: to be derived
	Fail    *Failure       // the request fails in this way, instead or on the way

	turn Turn // for its pauses and pieces
}

// Engine plays a script. It is safe for use by many goroutines.
//
// It remembers how often a failure happened, and answers that a client may not
// keep. All else comes from the conversation.
type Engine struct {
	script *Script

	mu     sync.Mutex
	failed map[place]int
	given  map[place]bool     // answers that clients throw away, as given
	thrown map[speaker][]int  // turns whose answers were thrown away
	latest map[speaker]string // markers after the newest answer, for a summary of an excerpt
}

// speaker is an agent that plays a rule.
type speaker struct {
	rule int
	id   string
}

type place struct {
	speaker
	turn int
}

// NewEngine returns an engine that plays s from the beginning.
func NewEngine(s *Script) *Engine {
	return &Engine{script: s, failed: map[place]int{}, given: map[place]bool{}, thrown: map[speaker][]int{}, latest: map[speaker]string{}}
}

// summaryRequest is how heddle asks for a summary.
const summaryRequest = "Write a summary of this conversation so far."

// Next returns the next answer of an agent. An error means that script and
// conversation do not fit; it says where.
func (e *Engine) Next(c Conversation) (Answer, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.next(c)
	if err != nil {
		return Answer{}, fmt.Errorf("script %s: %w", e.script.name, err)
	}
	return a, nil
}

func (e *Engine) next(c Conversation) (Answer, error) {
	rule, err := e.rule(c)
	if err != nil {
		return Answer{}, err
	}
	agent := &e.script.Agents[rule]
	who := speaker{rule, c.Agent.ID}
	t := follow(agent, e.thrown[who], c.Messages)
	if strings.Contains(t.fresh(), summaryRequest) {
		return e.summary(who, t, len(c.Messages) > 1), nil
	}
	turn, ok := agent.turn(t.turn)
	if at := (place{who, t.turn}); ok && e.given[at] {
		// Asked again where it had an answer that is not kept: that is history.
		e.thrown[who] = append(e.thrown[who], t.turn)
		t = follow(agent, e.thrown[who], c.Messages)
		turn, ok = agent.turn(t.turn)
	}
	if !ok {
		return Answer{}, fmt.Errorf("the script has no turn %d for %s", t.turn+1, describe(c.Agent))
	}
	held, err := t.meets(turn)
	if held {
		return say("msg_waiting", waiting), nil
	}
	var a Answer
	if err == nil {
		a, err = turn.answer(t, c.Agent)
	}
	if err != nil {
		return Answer{}, fmt.Errorf("turn %d of %s: %w", t.turn+1, describe(c.Agent), err)
	}
	if a.Usage == nil && e.script.Usage != nil {
		u := e.script.Usage.Tokens()
		a.Usage = &u
	}
	at := place{who, t.turn}
	a.Fail = e.failure(at, turn.Fail)
	if a.Fail == nil || a.Fail.Pings > 0 {
		if e.given[at] = a.notKept(); !e.given[at] {
			t.turn++
		}
		e.latest[who] = t.marker(rule)
	}
	return a, nil
}

// failure returns how the request fails, if it still does.
func (e *Engine) failure(at place, f *Failure) *Failure {
	if f == nil || e.failed[at] >= max(int(f.Times), 1) {
		return nil
	}
	e.failed[at]++
	return f
}

// notKept reports whether clients throw the answer away and may ask again.
func (a Answer) notKept() bool {
	n := len(a.Message.Content)
	switch a.Stop {
	case message.Refusal:
		return true
	case message.MaxTokens, message.ContextExceeded:
		if n == 0 {
			return true
		}
		_, call := a.Message.Content[n-1].(message.ToolUse)
		return call
	}
	return n == 0
}

// rule finds the rule for an agent. After a summary, whose beginning is not
// that of the agent any more, it is the one before.
func (e *Engine) rule(c Conversation) (int, error) {
	first := firstText(c.Messages)
	if m, ok := parseMarker(first); ok && m.Rule <= len(e.script.Agents) {
		return m.Rule - 1, nil
	}
	isMain := c.Agent.Type == "main" || c.Agent == (model.Agent{})
	for i, a := range e.script.Agents {
		if a.Main && !isMain || a.Type != "" && a.Type != c.Agent.Type || a.Name != "" && a.Name != c.Agent.Name {
			continue
		}
		if a.Prompt.fits(first) && a.System.fits(c.System) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no agent of the script fits %s with the prompt: %s", describe(c.Agent), shorten(first))
}

func firstText(messages []message.Message) string {
	for _, m := range messages {
		if text := m.Text(); m.Role == message.User && text != "" {
			return text
		}
	}
	return ""
}

// turn returns turn n, from 0, counting repeated ones.
func (a *Agent) turn(n int) (Turn, bool) {
	for _, t := range a.Turns {
		if n < t.times() {
			return t, true
		}
		n -= t.times()
	}
	return Turn{}, false
}

func describe(a model.Agent) string {
	switch {
	case a.Name != "":
		return "agent " + a.Name
	case a.Type == "" || a.Type == "main":
		return "agent main"
	}
	return "agent of type " + a.Type
}

// shorten makes one line of s, not longer than an error should be.
func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 400 {
		return string(r[:200]) + " … " + string(r[len(r)-200:])
	}
	return s
}
