package scripted

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"heddle/internal/message"
)

// waiting is what an agent says whose turn is held back. It takes no turn.
const waiting = "(waiting)"

// track is where a conversation stands in the turns of an agent.
type track struct {
	agent  *Agent
	thrown []int // turns that left no answer in the conversation
	turn   int   // the one that comes next, from 0
	values values
	// messages are the texts that arrived, results of tools apart.
	messages []arrival
	// newest are texts and results since the last answer.
	newest []string
}

// arrival is a text that arrived, and which parts of it a wait has taken.
type arrival struct {
	text  string
	taken [][]int
}

// follow goes through a conversation.
func follow(a *Agent, thrown []int, messages []message.Message) *track {
	t := &track{agent: a, thrown: thrown, values: values{}}
	t.skipThrown()
	results := 0
	for _, m := range messages {
		if m.Role == message.Assistant {
			t.answered(m)
			continue
		}
		for _, b := range m.Content {
			switch b := b.(type) {
			case message.Text:
				if mark, ok := parseMarker(b.Text); ok {
					t.resume(mark)
				}
				t.messages = append(t.messages, arrival{text: b.Text})
				t.newest = append(t.newest, b.Text)
			case message.ToolResult:
				results++
				text := message.Message{Content: b.Content}.Text()
				t.values["result."+strconv.Itoa(results)] = text
				t.values["result.last"] = text
				t.newest = append(t.newest, text)
			}
		}
	}
	return t
}

// answered passes over a turn that was played. What it captured stays.
func (t *track) answered(m message.Message) {
	if turn, ok := t.agent.turn(t.turn); ok && m.Text() != waiting {
		// What does not match now did match then, before the conversation was
		// cut; there is nobody to tell.
		_, _ = t.meets(turn)
		t.turn++
		t.skipThrown()
	} else if !ok {
		t.turn++
	}
	t.newest = nil
}

func (t *track) skipThrown() {
	for slices.Contains(t.thrown, t.turn) {
		t.turn++
	}
}

func (t *track) fresh() string { return strings.Join(t.newest, "\n") }

// meets applies what a turn asks of the conversation. It reports whether the
// turn is held back.
func (t *track) meets(turn Turn) (held bool, err error) {
	subject := t.fresh()
	if turn.Wait.source != "" {
		text, ok, err := t.take(turn.Wait)
		if err != nil || !ok {
			return !ok && err == nil, err
		}
		subject = text
	}
	if turn.Expect.source != "" {
		found, err := turn.Expect.find(subject, t.values)
		if err != nil {
			return false, err
		}
		if found == nil {
			return false, fmt.Errorf("expected something that matches %q, but there is: %s", turn.Expect.source, orNothing(subject))
		}
	}
	captured := values{}
	for name, p := range turn.Capture {
		found, err := p.find(subject, t.values)
		if err != nil {
			return false, err
		}
		if found == nil {
			return false, fmt.Errorf("capture %s: nothing matches %q in: %s", name, p.source, orNothing(subject))
		}
		captured[name] = found[len(found)-1]
	}
	for name, value := range captured {
		t.values[name] = value
	}
	return false, nil
}

func orNothing(s string) string {
	if s = shorten(s); s == "" {
		return "nothing"
	}
	return s
}

// take finds the first message with a match that no wait before has taken. So two
// waits for the same pattern wait for two messages, and one that came early is
// not lost.
func (t *track) take(p Pattern) (text string, ok bool, err error) {
	re, err := p.compile(t.values)
	if err != nil {
		return "", false, err
	}
	for i := range t.messages {
		m := &t.messages[i]
		for _, at := range re.FindAllStringIndex(m.text, -1) {
			overlaps := func(o []int) bool { return at[0] < o[1] && o[0] < at[1] || at[0] == o[0] }
			if !slices.ContainsFunc(m.taken, overlaps) {
				m.taken = append(m.taken, at)
				return m.text, true, nil
			}
		}
	}
	return "", false, nil
}

// mark is what a summary says of the turns that it stands for, so that the
// script goes on where it was.
type mark struct {
	Rule   int    `json:"agent"` // from 1
	Turn   int    `json:"turn"`  // played so far
	Values values `json:"values,omitempty"`
}

const (
	markBegin = "[script "
	markEnd   = "]"
)

func (t *track) marker(rule int) string {
	m := mark{Rule: rule + 1, Turn: t.turn, Values: values{}}
	for name, value := range t.values {
		if !strings.HasPrefix(name, "result.") {
			m.Values[name] = value
		}
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err) // numbers and strings
	}
	return markBegin + string(b) + markEnd
}

func parseMarker(text string) (m mark, ok bool) {
	_, rest, ok := strings.Cut(text, markBegin+"{")
	if !ok {
		return mark{}, false
	}
	err := json.NewDecoder(strings.NewReader("{" + rest)).Decode(&m)
	return m, err == nil && m.Rule > 0 && m.Turn >= 0
}

func (t *track) resume(m mark) {
	t.turn = m.Turn
	for name, value := range m.Values {
		t.values[name] = value
	}
}

// summary answers a request for one. If the conversation came as an excerpt, what
// is known from the last request stands in for it.
func (e *Engine) summary(who speaker, t *track, whole bool) Answer {
	text := t.agent.Summary
	if text == "" {
		text = "A summary."
	}
	marker := t.marker(who.rule)
	if old := e.latest[who]; !whole && old != "" {
		marker = old
	}
	return say("msg_summary", text+"\n"+marker)
}

func say(id, text string) Answer {
	return Answer{
		ID:      id,
		Message: message.Message{Role: message.Assistant, Content: []message.Block{message.Text{Text: text}}},
		Stop:    message.EndTurn,
	}
}
