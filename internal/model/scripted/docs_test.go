package scripted

import (
	"os"
	"strings"
	"testing"

	"heddle/internal/message"
	"heddle/internal/model"
)

// scene is an example of the documentation: a script, and a conversation with it.
type scene struct {
	line   int
	script string
	talk   []string
}

func scenes(t *testing.T) []scene {
	t.Helper()
	b, err := os.ReadFile("../../../docs/scripted-models.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []scene
	fence := ""
	for n, line := range strings.Split(string(b), "\n") {
		switch {
		case line == "```":
			fence = ""
		case strings.HasPrefix(line, "```"):
			if fence = line; fence == "```yaml" {
				out = append(out, scene{line: n + 1})
			}
		case fence == "```yaml":
			out[len(out)-1].script += line + "\n"
		case fence == "```text":
			out[len(out)-1].talk = append(out[len(out)-1].talk, line)
		}
	}
	return out
}

// TestDocumentation plays every example of docs/scripted-models.md.
func TestDocumentation(t *testing.T) {
	all := scenes(t)
	if len(all) < 8 {
		t.Fatalf("%d examples, want 8 at least", len(all))
	}
	for _, s := range all {
		script, err := Load("example", []byte(s.script))
		if err != nil {
			t.Errorf("line %d: %v", s.line, err)
			continue
		}
		talk(t, New(script), s)
	}
}

// talk holds a conversation and checks what the model says.
func talk(t *testing.T, p *Provider, s scene) {
	t.Helper()
	var history []message.Message
	var calls []message.ToolUse
	ask := func() (model.Response, error) { return request(t, p, model.Agent{Type: "main"}, history) }
	for _, line := range s.talk {
		sign, text, _ := strings.Cut(line, " ")
		switch sign {
		case ">":
			history = append(history, message.FromUser(text))
		case "=":
			if len(calls) == 0 {
				t.Fatalf("line %d: no call for the result %q", s.line, text)
			}
			r := message.ToolResult{ToolUseID: calls[0].ID, Content: []message.Block{message.Text{Text: text}}}
			calls = calls[1:]
			if last := &history[len(history)-1]; last.Role == message.User {
				last.Content = append(last.Content, r)
			} else {
				history = append(history, message.Message{Role: message.User, Content: []message.Block{r}})
			}
		case "!":
			if _, err := ask(); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("line %d: error %v, want %q", s.line, err, text)
			}
		case "<":
			resp, err := ask()
			if err != nil {
				t.Errorf("line %d: %v", s.line, err)
				return
			}
			if got := shownAnswer(resp); got != text {
				t.Errorf("line %d: the model says\n%s, want\n%s", s.line, got, text)
			}
			calls = resp.Message.ToolUses()
			if resp.Stop == message.Refusal {
				history = history[:len(history)-1]
			} else {
				history = append(history, resp.Message)
			}
		default:
			t.Errorf("line %d: %q is no part of a conversation", s.line, line)
		}
	}
}

func shownAnswer(r model.Response) string {
	var out []string
	for _, b := range r.Message.Content {
		switch b := b.(type) {
		case message.Text:
			out = append(out, b.Text)
		case message.ToolUse:
			out = append(out, b.Name+" "+string(b.Input))
		}
	}
	if r.Refusal != nil {
		out = append(out, "[refusal: "+r.Refusal.Category+": "+r.Refusal.Explanation+"]")
	}
	return strings.Join(out, " ")
}

// request makes one request of p.
func request(t *testing.T, p *Provider, who model.Agent, history []message.Message) (model.Response, error) {
	t.Helper()
	r := &model.Request{Model: model.Info{ID: "m"}, Prefix: p.EncodePrefix(model.Prompt{System: []string{"You weave."}}), Agent: who}
	for _, m := range history {
		r.Messages = append(r.Messages, p.EncodeMessage(m))
	}
	for ev, err := range p.Stream(t.Context(), r) {
		if err != nil {
			return model.Response{}, err
		}
		if resp, ok := ev.(model.Response); ok {
			return resp, nil
		}
	}
	t.Fatal("the stream ended with neither a response nor an error")
	return model.Response{}, nil
}
