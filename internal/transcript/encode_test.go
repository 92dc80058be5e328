package transcript

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"heddle/internal/message"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestAllRecordsSurvive(t *testing.T) {
	h := Head{ID: NewID(), Time: at(1)}
	for _, r := range []Record{
		Header{h, 1, "s", "/a<b>&\u2028", "v", "m", "p", at(0)},
		Message{Head: h, Message: message.FromUser("<&>\u2028\x00 ü"), Origin: "human", InputID: "i"},
		Message{Head: h, Message: assistant(call("x")).Message, ResponseID: "r", Model: "m", Stop: message.StopToolUse,
			Usage: message.Usage{Input: 1, CacheWrite1h: 2, Output: 3}, Cost: 0.25, Sum: Sum{1, 0.25, "t", "n"}},
		Result{h, message.ToolResult{ToolUseID: "x", Content: []message.Block{message.Text{Text: "<>"}}, IsError: true}},
		Compaction{h, "auto", 9, 2, 0.1},
		Restored{h, "id"},
		Rewind{h, 3},
		Title{h, "a title"},
		Name{h, "a name"},
		Mode{h, "plan"},
		Model{h, "other"},
		Note{h, "kind", "text"},
	} {
		line, err := encode(r)
		if err != nil {
			t.Errorf("encode(%T): %v", r, err)
			continue
		}
		if n := bytes.Count(line, []byte("\n")); n != 1 || line[len(line)-1] != '\n' || !json.Valid(line) {
			t.Errorf("encode(%T) = %q is not a line of JSON", r, line)
		}
		got, err := decode(line)
		if err != nil {
			t.Errorf("decode(%s): %v", line, err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("%T (-wrote +read):\n%s", r, diff)
		}
	}
}

func TestNewerRecordsAreKept(t *testing.T) {
	line := `{"type":"hologram","uuid":"u","time":"2026-05-01T12:00:01Z","deep":{"a":[1, 2]}}`
	r, err := decode([]byte(line + "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := Unknown{Head{"u", at(1)}, "hologram", json.RawMessage(line)}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("decode (-want +got):\n%s", diff)
	}
	out, err := encode(r)
	if want := strings.Replace(line, ", ", ",", 1) + "\n"; err != nil || string(out) != want {
		t.Errorf("encode = %s, %v, want %s", out, err, want)
	}
	r, err = decode([]byte(`{"time":"2026-05-01T12:00:01Z","type":"mode","new":{},"mode":"plan","uuid":"u"}`))
	if want := (Mode{Head{"u", at(1)}, "plan"}); err != nil || r != want {
		t.Errorf("decode with a new field and another order = %v, %v, want %v", r, err, want)
	}
}

func TestWhatIsNoRecord(t *testing.T) {
	for _, line := range []string{"", "null", "3", "{}", "[]", `{"type":""}`, `{"type":3}`, `{"type":"message"}`, `{"type":"new"`,
		`{"type":"message","message":null}`, `{"type":"message","message":{"role":"x","content":[]}}`,
		`{"type":"result","result":{"type":"text","text":""}}`, `{"type":"result"}`, `{"type":"mode","mode":3}`, "\x00\x00"} {
		if r, err := decode([]byte(line)); err == nil {
			t.Errorf("decode(%s) = %#v, want an error", line, r)
		}
	}
}

// A model may send anything as tool input; what is stored can be read and sent.
func TestWhatIsStoredIsAlwaysValid(t *testing.T) {
	tests := []struct {
		name  string
		block message.Block
		want  string
	}{
		{"lone surrogate", message.ToolUse{ID: "x", Input: []byte(`{"a":"\ud800"}`)}, `{"type":"tool_use","id":"x","name":"","input":{"a":"\ufffd"}}`},
		{"broken input", message.ToolUse{ID: "x", Input: []byte(`{"a":`)}, `{"type":"tool_use","id":"x","name":"","input":{"malformed_input":"{\"a\":"}}`},
		{"no object", message.ToolUse{ID: "x", Input: []byte(`[1]`)}, `{"type":"tool_use","id":"x","name":"","input":{"malformed_input":"[1]"}}`},
		{"line break", message.ToolUse{ID: "x", Input: []byte("{\"a\":\n1}")}, `{"type":"tool_use","id":"x","name":"","input":{"a":1}}`},
		{"control byte", message.ToolUse{ID: "x", Input: []byte("{\"a\":\"\x01\"}")}, `{"type":"tool_use","id":"x","name":"","input":{"malformed_input":"{\"a\":\"\u0001\"}"}}`},
		{"spelling", message.ToolUse{ID: "x", Input: []byte(`{"b":1.0e+2,"a":"<\u003c&"}`)}, `{"type":"tool_use","id":"x","name":"","input":{"b":1.0e+2,"a":"<\u003c&"}}`},
		{"not UTF-8", message.Text{Text: "a\xff"}, "{\"type\":\"text\",\"text\":\"a\ufffd\"}"},
		{"foreign block", message.Raw{JSON: []byte("{\"type\":\n\"new\"}")}, `{"type":"new"}`},
		{"broken foreign block", message.Raw{JSON: []byte(`{"type`)}, `{"type":"text","text":"{\"type"}`},
		{"inside a result", message.ToolResult{ToolUseID: "x", Content: []message.Block{message.Raw{JSON: []byte("{")}}},
			`{"type":"tool_result","tool_use_id":"x","content":[{"type":"text","text":"{"}]}`},
	}
	for _, tt := range tests {
		path := newSession(t, assistant(tt.block))
		records := read(t, path)
		m, ok := records[len(records)-1].(Message)
		if !ok {
			t.Errorf("%s: read %#v", tt.name, records[len(records)-1])
			continue
		}
		if got := string(m.Message.Content[0].AppendJSON(nil)); got != tt.want {
			t.Errorf("%s: stored %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestWhatCannotBeStoredIsRefused(t *testing.T) {
	path := newSession(t)
	w, _ := openWriter(t, path)
	before := readFile(t, path)
	for _, r := range []Record{Message{}, Message{Message: message.Message{Role: "system"}}, Damaged{}, Unknown{Type: "x", JSON: []byte("{")}} {
		if err := w.Append(r); err == nil {
			t.Errorf("Append(%T) took it", r)
		}
	}
	closeWriter(t, w)
	if got := readFile(t, path); got != before {
		t.Errorf("the file has changed to %q", got)
	}
}

// genBlock draws any block that a conversation may hold.
func genBlock() *rapid.Generator[message.Block] {
	text := rapid.String()
	input := rapid.Custom(func(t *rapid.T) json.RawMessage {
		raw := rapid.SampledFrom([]string{`{}`, `{"a":"<>&\u2028"}`, "{\"u\":\"\u2028\"}", `{"b":1e400,"a":0.10}`, `{"\ud83d\ude00":"\ud83d"}`, `x`}).Draw(t, "raw")
		clean, _ := message.CleanInput([]byte(raw))
		return clean
	})
	return rapid.Custom(func(t *rapid.T) message.Block {
		switch rapid.IntRange(0, 6).Draw(t, "shape") {
		case 0:
			return message.Thinking{Text: text.Draw(t, "thinking"), Signature: text.Draw(t, "signature")}
		case 1:
			return message.RedactedThinking{Data: text.Draw(t, "data")}
		case 2:
			return message.ToolUse{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Input: input.Draw(t, "input")}
		case 3:
			return message.ToolResult{ToolUseID: text.Draw(t, "id"), Content: []message.Block{message.Text{Text: text.Draw(t, "out")}}, IsError: rapid.Bool().Draw(t, "error")}
		case 4:
			return message.Image{MediaType: "image/png", Data: text.Draw(t, "data")}
		case 5:
			return message.Raw{JSON: []byte(`{"type":"server_tool_use","x":"<&>"}`)}
		}
		return message.Text{Text: text.Draw(t, "text")}
	})
}

// The stored bytes are the bytes that were sent.
func TestStoredMessagesKeepTheirBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := message.Message{
			Role:    rapid.SampledFrom([]message.Role{message.User, message.Assistant}).Draw(t, "role"),
			Content: rapid.SliceOfN(genBlock(), 0, 5).Draw(t, "content"),
		}
		line, err := encode(Message{Message: m})
		if err != nil {
			t.Fatal(err)
		}
		sent := m.AppendJSON(nil)
		if !bytes.Contains(line, sent) {
			t.Fatalf("line %s\ndoes not hold %s", line, sent)
		}
		r, err := decode(line)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.(Message).Message.AppendJSON(nil); !bytes.Equal(got, sent) {
			t.Fatalf("sent %s\nread %s", sent, got)
		}
	})
}
