package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"heddle/internal/message"
)

// values are what ${name} stands for.
type values map[string]string

// values collects the captures of all turns that were played, and the results of
// tools: ${result.1} is the first of the conversation, ${result.last} the newest.
func (a Agent) values(messages []message.Message) (values, error) {
	v := values{}
	results := 0
	for i, m := range messages {
		for _, b := range m.Content {
			if r, ok := b.(message.ToolResult); ok {
				results++
				text := message.Message{Content: r.Content}.Text()
				v["result."+strconv.Itoa(results)] = text
				v["result.last"] = text
			}
		}
		last := i+1 == len(messages) || messages[i+1].Role == message.Assistant
		if m.Role != message.User || !last {
			continue
		}
		_, t, ok := a.turn(played(messages[:i]))
		if !ok {
			continue
		}
		if err := t.capture(lastUser(messages[:i+1]), v); err != nil && i+1 == len(messages) {
			return nil, err
		}
	}
	return v, nil
}

func (t Turn) capture(text string, v values) error {
	for name, p := range t.Capture {
		found := p.FindStringSubmatch(text)
		if found == nil {
			return fmt.Errorf("capture %s: nothing matches %q in: %s", name, p, shorten(text))
		}
		v[name] = found[len(found)-1]
	}
	return nil
}

var reference = regexp.MustCompile(`\$\{([\w.]+)\}`)

// fill puts values in the place of references.
func (v values) fill(s string) (string, error) {
	var unknown []string
	out := reference.ReplaceAllStringFunc(s, func(ref string) string {
		name := ref[2 : len(ref)-1]
		value, ok := v[name]
		if !ok {
			unknown = append(unknown, ref)
		}
		return value
	})
	if len(unknown) > 0 {
		return "", fmt.Errorf("%s is not known", strings.Join(unknown, ", "))
	}
	return out, nil
}

// answer makes the answer of turn n.
func (t Turn) answer(n int, v values) (Answer, error) {
	m := message.Message{Role: message.Assistant}
	if t.Thinking != "" {
		m.Content = append(m.Content, message.Thinking{Text: t.Thinking})
	}
	if t.Text != "" {
		text, err := v.fill(t.Text)
		if err != nil {
			return Answer{}, err
		}
		m.Content = append(m.Content, message.Text{Text: text})
	}
	for i, c := range t.Calls {
		use, err := c.use(fmt.Sprintf("toolu_%d_%d", n+1, i+1), v)
		if err != nil {
			return Answer{}, err
		}
		m.Content = append(m.Content, use)
	}
	stop := t.Stop
	switch {
	case stop != "":
	case len(t.Calls) > 0:
		stop = message.StopToolUse
	default:
		stop = message.EndTurn
	}
	return Answer{Message: m, Stop: stop, Category: t.Category, Usage: t.Usage, Turn: t}, nil
}

// use makes a tool call. Input is the raw text, valid or not: whoever sends it
// decides what a client makes of it.
func (c Call) use(id string, v values) (message.ToolUse, error) {
	if c.ID != "" {
		id = c.ID
	}
	raw := c.InputRaw
	if raw == "" {
		b, err := appendYAML(nil, c.Input, v)
		if err != nil {
			return message.ToolUse{}, fmt.Errorf("input of %s: %w", c.Tool, err)
		}
		raw = string(b)
	}
	return message.ToolUse{ID: id, Name: c.Tool, Input: json.RawMessage(raw)}, nil
}

// appendYAML writes a value of a script as JSON, keys in the order in which they
// were written.
func appendYAML(dst []byte, value any, v values) ([]byte, error) {
	switch value := value.(type) {
	case yaml.MapSlice:
		dst = append(dst, '{')
		for i, item := range value {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = message.AppendString(dst, fmt.Sprint(item.Key))
			dst = append(dst, ':')
			var err error
			if dst, err = appendYAML(dst, item.Value, v); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case []any:
		dst = append(dst, '[')
		for i, item := range value {
			if i > 0 {
				dst = append(dst, ',')
			}
			var err error
			if dst, err = appendYAML(dst, item, v); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case string:
		text, err := v.fill(value)
		if err != nil {
			return nil, err
		}
		return message.AppendString(dst, text), nil
	}
	b, err := json.Marshal(value)
	return append(dst, b...), err
}
