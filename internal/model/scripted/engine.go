package scripted

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"heddle/internal/message"
	"heddle/internal/model"
)

// Conversation is what the engine looks at: all of it, so that a script goes on
// after a resume as if nothing had happened.
type Conversation struct {
	Agent    model.Agent
	System   string
	Messages []message.Message
}

// Answer is what a model says next.
type Answer struct {
	Message  message.Message
	Stop     message.StopReason
	Category string
	Usage    *Usage
	Turn     Turn     // as written, for its pauses and pieces
	Fail     *Failure // the request fails in this way instead
}

// Engine plays a script. It remembers only how often a failure has happened.
type Engine struct {
	script *Script

	mu     sync.Mutex
	failed map[[2]int]int // by agent and turn
}

// NewEngine returns an engine for s.
func NewEngine(s *Script) *Engine { return &Engine{script: s, failed: map[[2]int]int{}} }

// waiting is the answer of a turn that is held back. Such answers do not count.
const waiting = "(waiting)"

// Next returns the next answer of an agent.
func (e *Engine) Next(c Conversation) (Answer, error) {
	at, agent, err := e.agent(c)
	if err != nil {
		return Answer{}, err
	}
	newest := lastUser(c.Messages)
	done := played(c.Messages)
	if strings.Contains(newest, summaryRequest) {
		text := agent.Summary
		if text == "" {
			text = "A summary."
		}
		return say(fmt.Sprintf("%s\n[script turn %d]", text, done)), nil
	}
	n, turn, ok := agent.turn(done)
	if !ok {
		return Answer{}, fmt.Errorf("the script has no turn %d for %s", done+1, describe(c.Agent))
	}
	if !turn.Wait.matches(newest) {
		return say(waiting), nil
	}
	if !turn.Expect.matches(newest) {
		return Answer{}, fmt.Errorf("turn %d of %s expects %q, but the message is: %s", done+1, describe(c.Agent), turn.Expect, shorten(newest))
	}
	values, err := agent.values(c.Messages)
	if err != nil {
		return Answer{}, err
	}
	a, err := turn.answer(done, values)
	if err != nil {
		return Answer{}, fmt.Errorf("turn %d of %s: %w", done+1, describe(c.Agent), err)
	}
	a.Fail = e.failure(at, n, turn.Fail)
	return a, nil
}

// summaryRequest is how heddle asks for a summary.
const summaryRequest = "Write a summary of this conversation so far."

// Agent finds the rule for an agent.
func (e *Engine) agent(c Conversation) (int, Agent, error) {
	first := ""
	if len(c.Messages) > 0 {
		first = c.Messages[0].Text()
	}
	isMain := c.Agent.Type == "main" || c.Agent == (model.Agent{})
	for i, a := range e.script.Agents {
		if a.Main && !isMain || a.Type != "" && a.Type != c.Agent.Type || a.Name != "" && a.Name != c.Agent.Name {
			continue
		}
		if a.Prompt.matches(first) && a.System.matches(c.System) {
			return i, a, nil
		}
	}
	return 0, Agent{}, fmt.Errorf("the script has no agent that fits %s with the prompt %q", describe(c.Agent), shorten(first))
}

func describe(a model.Agent) string {
	switch {
	case a.Name != "":
		return "agent " + a.Name
	case a.Type == "" || a.Type == "main":
		return "agent main"
	}
	return "an agent of type " + a.Type
}

func shorten(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 300 {
		return string(r[:150]) + " … " + string(r[len(r)-150:])
	}
	return s
}

// turn returns turn n, from 0, counting repeated ones.
func (a Agent) turn(n int) (index int, t Turn, ok bool) {
	for i, t := range a.Turns {
		times := max(int(t.Repeat), 1)
		if n < times {
			return i, t, true
		}
		n -= times
	}
	return 0, Turn{}, false
}

// marker is what a summary says of the turns that it replaces.
var marker = regexp.MustCompile(`\[script turn (\d+)\]`)

// played counts the turns that were played.
func played(messages []message.Message) int {
	n := 0
	for _, m := range messages {
		text := m.Text()
		switch {
		case m.Role == message.Assistant && text != waiting:
			n++
		case m.Role == message.User:
			if found := marker.FindStringSubmatch(text); found != nil {
				fmt.Sscan(found[1], &n)
			}
		}
	}
	return n
}

// lastUser returns all text after the last answer: messages and results.
func lastUser(messages []message.Message) string {
	from := len(messages)
	for from > 0 && messages[from-1].Role == message.User {
		from--
	}
	return textOf(messages[from:])
}

// textOf returns the text of messages, tool results included.
func textOf(messages []message.Message) string {
	var parts []string
	for _, m := range messages {
		for _, b := range m.Content {
			switch b := b.(type) {
			case message.Text:
				parts = append(parts, b.Text)
			case message.ToolResult:
				parts = append(parts, message.Message{Content: b.Content}.Text())
			}
		}
	}
	return strings.Join(parts, "\n")
}

// failure returns how the request fails, if it still does.
func (e *Engine) failure(agent, turn int, f *Failure) *Failure {
	if f == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key := [2]int{agent, turn}
	if e.failed[key] >= max(int(f.Times), 1) {
		return nil
	}
	e.failed[key]++
	return f
}

func say(text string) Answer {
	return Answer{
		Message: message.Message{Role: message.Assistant, Content: []message.Block{message.Text{Text: text}}},
		Stop:    message.EndTurn,
	}
}
