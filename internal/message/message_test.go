package message

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCanonicalForm(t *testing.T) {
	m := Message{Role: Assistant, Content: []Block{
		Thinking{Text: "a<b", Signature: "sig=="},
		RedactedThinking{Data: "xyz"},
		Text{"say \"hi\"\n\té\u2028"},
		ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(`{"z":1.50,"a":"\u00e9"}`)},
		Raw{json.RawMessage(`{"type":"server_tool_use","id":"s"}`)},
	}}
	want := `{"role":"assistant","content":[` +
		`{"type":"thinking","thinking":"a<b","signature":"sig=="},` +
		`{"type":"redacted_thinking","data":"xyz"},` +
		"{\"type\":\"text\",\"text\":\"say \\\"hi\\\"\\n\\té\u2028\"}," +
		`{"type":"tool_use","id":"t1","name":"Bash","input":{"z":1.50,"a":"\u00e9"}},` +
		`{"type":"server_tool_use","id":"s"}]}`
	got := string(m.AppendJSON(nil))
	if got != want {
		t.Errorf("canonical form:\n got %s\nwant %s", got, want)
	}
	var back Message
	if err := json.Unmarshal([]byte(got), &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(m, back); d != "" {
		t.Errorf("decoded (-want +got):\n%s", d)
	}
}

func TestToolResultForms(t *testing.T) {
	for in, want := range map[string]Message{
		`{"role":"user","content":"hi"}`: FromUser("hi"),
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x","is_error":true}]}`: {
			Role: User, Content: []Block{ToolResult{ToolUseID: "t", Content: []Block{Text{"x"}}, IsError: true}},
		},
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t"}]}`: {
			Role: User, Content: []Block{ToolResult{ToolUseID: "t"}},
		},
		`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}`: {
			Role: User, Content: []Block{Image{"image/png", "AA=="}},
		},
		`{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}`: {
			Role: User, Content: []Block{Raw{json.RawMessage(`{"type":"image","source":{"type":"url","url":"https://x"}}`)}},
		},
	} {
		var got Message
		if err := json.Unmarshal([]byte(in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		} else if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", in, d)
		}
	}
	for _, in := range []string{`{"role":"tool","content":[]}`, `{"role":"user","content":5}`, `{"role":"user","content":[5]}`, `[]`} {
		var got Message
		if err := json.Unmarshal([]byte(in), &got); err == nil {
			t.Errorf("%s: decoded to %+v, want an error", in, got)
		}
	}
}

func TestCleanInput(t *testing.T) {
	for _, c := range []struct {
		in, want string
		ok       bool
	}{
		{``, `{}`, true},
		{" \n", `{}`, true},
		{"{ \"b\" : 1.50,\n \"a\":10000000000000001 }", `{"b":1.50,"a":10000000000000001}`, true},
		{`{"a":"\u00e9\/ \ud83d\ude00"}`, `{"a":"\u00e9\/ \ud83d\ude00"}`, true},
		{`{"command":"echo \ud99c hi"}`, `{"command":"echo \ufffd hi"}`, true},
		{`{"a":"\udc00\ud800"}`, `{"a":"\ufffd\ufffd"}`, true},
		{`{"a":"\\ud99c"}`, `{"a":"\\ud99c"}`, true},
		{"{\"a\":\"\xff\"}", "{\"a\":\"\uFFFD\"}", true},
		{`{"a":`, `{"malformed_input":"{\"a\":"}`, false},
		{`[1]`, `{"malformed_input":"[1]"}`, false},
		{`"x"`, `{"malformed_input":"\"x\""}`, false},
		{`null`, `{"malformed_input":"null"}`, false},
		{"{\"a\":\"\n\"}", `{"malformed_input":"{\"a\":\"\n\"}"}`, false},
	} {
		got, ok := CleanInput([]byte(c.in))
		if string(got) != c.want || ok != c.ok {
			t.Errorf("CleanInput(%q) = %s, %v, want %s, %v", c.in, got, ok, c.want, c.ok)
		}
	}
}

func FuzzCleanInput(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a":"\ud800"}`, `{"a":`, "\xff", `{"\ud99c":"\udc00\\"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := bytes.Clone(raw)
		got, _ := CleanInput(raw)
		if !bytes.Equal(in, raw) {
			t.Error("the argument was changed")
		}
		if !json.Valid(got) || got[0] != '{' || !utf8.Valid(got) {
			t.Fatalf("CleanInput(%q) = %q, not a UTF-8 JSON object", raw, got)
		}
		if again, ok := CleanInput(got); !ok || !bytes.Equal(again, got) {
			t.Fatalf("CleanInput is not stable: %q then %q", got, again)
		}
	})
}

// A stored message is decoded at resume and sent again: its bytes must not move.
func TestBytesSurviveARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Message{Role: rapid.SampledFrom([]Role{User, Assistant}).Draw(t, "role"), Content: rapid.SliceOf(genBlock()).Draw(t, "content")}
		first := m.AppendJSON(nil)
		var back Message
		if err := json.Unmarshal(first, &back); err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		if second := back.AppendJSON(nil); !bytes.Equal(first, second) {
			t.Fatalf("bytes moved:\n%s\n%s", first, second)
		}
	})
}

func genBlock() *rapid.Generator[Block] {
	str := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune("\x00\x1b\"\\/\u2028é<>&\n")), 0, 20, -1), rapid.Just("\xff\xfe"))
	return rapid.Custom(func(t *rapid.T) Block {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return Text{str.Draw(t, "text")}
		case 1:
			return Thinking{str.Draw(t, "thinking"), str.Draw(t, "signature")}
		case 2:
			return ToolUse{ID: str.Draw(t, "id"), Name: "Bash", Input: genInput(str.Draw(t, "k"), str.Draw(t, "v"))}
		case 3:
			return ToolResult{ToolUseID: "x", Content: []Block{Text{str.Draw(t, "result")}}, IsError: rapid.Bool().Draw(t, "error")}
		case 4:
			return Image{"image/png", "AAAA"}
		}
		return RedactedThinking{str.Draw(t, "data")}
	})
}

// genInput builds an input object as a model might write it.
func genInput(k, v string) json.RawMessage {
	b := append([]byte(nil), '{', ' ')
	b = AppendString(b, k)
	b = append(b, ":  "...)
	b = AppendString(b, v)
	in, _ := CleanInput(append(b, '}'))
	return in
}

func TestTextJoinsTextBlocksOnly(t *testing.T) {
	m := Message{Content: []Block{Thinking{Text: "no"}, Text{"a"}, Text{""}, ToolUse{}, Text{"b"}}}
	if got := m.Text(); got != "a\n\nb" {
		t.Errorf("Text() = %q", got)
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	m := FromUser(strings.Repeat("func main() {\n\tfmt.Println(\"hello\")\n}\n", 200))
	buf := make([]byte, 0, 1<<16)
	b.ReportAllocs()
	for b.Loop() {
		buf = m.AppendJSON(buf[:0])
	}
	b.SetBytes(int64(len(buf)))
}
