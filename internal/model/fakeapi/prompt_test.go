package fakeapi

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"heddle/internal/model/scripted"
)

var today = http.Header{"Anthropic-Version": {"2026-10-21"}}

// asked is a request with these messages; extra are more members of it.
func asked(messages string, extra ...string) string {
	return `{"model":"m","max_tokens":10,` + strings.Join(append(extra, ""), ",") + `"messages":[` + messages + `]}`
}

const (
	u1      = `{"role":"user","content":"go"}`
	a1      = `{"role":"assistant","content":"yes"}`
	call    = `{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"t1","name":"Bash","input":{}}]}`
	call2   = `{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{}},{"type":"tool_use","id":"t2","name":"Bash","input":{"a":"\ud83d\ude00"}}]}`
	result1 = `{"type":"tool_result","tool_use_id":"t1","content":"ok"}`
	result2 = `{"type":"tool_result","tool_use_id":"t2"}`
	hint    = `{"type":"text","text":"hint"}`
	mark    = `"cache_control":{"type":"ephemeral"}`
	markL   = `"cache_control":{"type":"ephemeral","ttl":"1h"}`
	tool    = `{"name":"Bash","description":"d","input_schema":{"type":"object"}}`
)

func said(role string, blocks ...string) string {
	return fmt.Sprintf(`{"role":"%s","content":[%s]}`, role, strings.Join(blocks, ","))
}

func marked(text, mark string) string { return fmt.Sprintf(`{"type":"text","text":%q,%s}`, text, mark) }

// Each rule of the Messages API: what it refuses, with which words, and a neighbour that is fine.
func TestRulesOfMessages(t *testing.T) {
	for _, c := range []struct{ name, bad, words, good string }{
		{"JSON", asked(u1)[1:], "not valid JSON", asked(u1)},
		{"one JSON value", asked(u1) + "{}", "something follows", asked(u1) + "\n"},
		{"UTF-8", asked("{\"role\":\"user\",\"content\":\"\xff\"}"), "not UTF-8", asked(`{"role":"user","content":"é"}`)},
		{"whole characters", asked(`{"role":"user","content":"a\ud83d"}`), `no low surrogate in string at byte 68: \ud83d`, asked(`{"role":"user","content":"a\ud83d\ude00 \\ud83d"}`)},
		{"whole characters, the other half", asked(`{"role":"user","content":"\ude00"}`), "no low surrogate", asked(`{"role":"user","content":"\u00e9"}`)},
		{"model", strings.Replace(asked(u1), `"model":"m",`, "", 1), "model: Field required", asked(u1)},
		{"max_tokens", strings.Replace(asked(u1), `"max_tokens":10,`, "", 1), "max_tokens: Field required", asked(u1)},
		{"max_tokens from 1", strings.Replace(asked(u1), "10", "0", 1), "greater than or equal to 1", strings.Replace(asked(u1), "10", "1", 1)},
		{"members", asked(u1, `"max_completion_tokens":5`), "max_completion_tokens: Extra inputs are not permitted", asked(u1, `"metadata":{"user_id":"x"}`)},
		{"members of a message", asked(`{"role":"user","content":"go","name":"x"}`), `messages.0: unknown field "name"`, asked(u1)},
		{"members of a block", asked(said("user", `{"type":"text","text":"a","index":0}`)), "messages.0.content.0.text.index: Extra inputs", asked(said("user", hint))},
		{"type of a block", asked(said("user", `{"text":"a"}`)), "messages.0.content.0.type: Field required", asked(said("user", hint))},
		{"sampling parameters", asked(u1, `"temperature":1`), "not supported", asked(u1, `"stop_sequences":["x"]`)},
		{"thinking", asked(u1, `"thinking":{"type":"some"}`), "thinking: Input tag 'some'", asked(u1, `"thinking":{"type":"adaptive","display":"summarized"}`)},
		{"thinking budget", asked(u1, `"thinking":{"type":"enabled","budget_tokens":1024}`), "budget_tokens", strings.Replace(asked(u1, `"thinking":{"type":"enabled","budget_tokens":1024}`), ":10,", ":2000,", 1)},
		{"effort", asked(u1, `"output_config":{"effort":"huge"}`), "output_config.effort", asked(u1, `"output_config":{"effort":"max"}`)},
		{"tool_choice", asked(u1, `"tool_choice":{"type":"auto"}`), "while providing tools", asked(u1, `"tool_choice":{"type":"auto"},"tools":[`+tool+`]`)},
		{"no messages", asked(""), "at least one message", asked(u1)},
		{"role", asked(`{"role":"tool","content":"x"}`), "messages.0.role", asked(u1)},
		{"content", asked(`{"role":"user","content":5}`), "messages.0.content: Input should be a valid list", asked(said("user", hint))},
		{"no content", asked(u1 + "," + `{"role":"assistant","content":[]},` + u1), "messages.1: all messages must have non-empty content", asked(u1 + "," + a1 + "," + u1)},
		{"first is a user's", asked(a1 + "," + u1), "first message must use", asked(u1 + "," + u1)},
		{"last is a user's", asked(u1 + "," + a1), "assistant message prefill", asked(u1 + "," + a1 + "," + u1)},
		{"empty text", asked(`{"role":"user","content":""}`), "text content blocks must be non-empty", asked(`{"role":"user","content":"."}`)},
		{"blank text", asked(u1 + "," + `{"role":"assistant","content":"\n\n"},` + u1), "non-whitespace", asked(u1 + "," + `{"role":"assistant","content":"\nx"},` + u1)},
		{"empty text in a result", asked(u1 + "," + call + "," + said("user", `{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":""}]}`)), "messages.2.content.0.tool_result.content.0: text content blocks must be non-empty", asked(u1 + "," + call + "," + said("user", `{"type":"tool_result","tool_use_id":"t1","content":[]}`))},
		{"kinds of content in a result", asked(u1 + "," + call + "," + said("user", `{"type":"tool_result","tool_use_id":"t1","content":[{"type":"tool_use"}]}`)), "Input tag 'tool_use'", asked(u1 + "," + call + "," + said("user", `{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"a"}]}`))},

		{"call without a result", asked(u1 + "," + call + "," + u1), "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: t1", asked(u1 + "," + call + "," + said("user", result1))},
		{"call at the end", asked(u1 + "," + call), "prefill", asked(u1 + "," + call + "," + said("user", result1))},
		{"one of two results", asked(u1 + "," + call2 + "," + said("user", result1)), "immediately after: t2", asked(u1 + "," + call2 + "," + said("user", result2, result1))},
		{"result too late", asked(u1 + "," + call + "," + u1 + "," + a1 + "," + said("user", result1)), "immediately after: t1", asked(u1 + "," + call + "," + said("user", result1) + "," + a1 + "," + u1)},
		{"result of nothing", asked(u1 + "," + a1 + "," + said("user", result1)), "messages.2.content.0: unexpected `tool_use_id`", asked(u1 + "," + call + "," + said("user", result1))},
		{"result in the first message", asked(said("user", result1)), "unexpected `tool_use_id`", asked(u1)},
		{"two results of one", asked(u1 + "," + call + "," + said("user", result1, result1)), "must have a single result", asked(u1 + "," + call2 + "," + said("user", result1, result2))},
		{"results first", asked(u1 + "," + call + "," + said("user", hint, result1)), "must come first", asked(u1 + "," + call + "," + said("user", result1, hint))},
		{"results first, in two messages", asked(u1 + "," + call + "," + u1 + "," + said("user", result1)), "must come first", asked(u1 + "," + call + "," + said("user", result1) + "," + u1)},
		{"ids differ", asked(u1 + "," + call + "," + said("user", result1) + "," + call + "," + said("user", result1)), "`tool_use` ids must be unique: t1", asked(u1 + "," + call2 + "," + said("user", result1, result2))},
		{"form of ids", asked(u1 + "," + strings.Replace(call, "t1", "t.1", 1) + "," + said("user", result1)), "tool_use.id: String should match", asked(u1 + "," + call + "," + said("user", result1))},
		{"names of calls", asked(u1 + "," + strings.Replace(call, "Bash", "Ba sh", 1) + "," + said("user", result1)), "tool_use.name: String should match", asked(u1 + "," + strings.Replace(call, "Bash", "mcp__a-b", 1) + "," + said("user", result1))},
		{"input is an object", asked(u1 + "," + strings.Replace(call, `"input":{}`, `"input":[]`, 1) + "," + said("user", result1)), "valid dictionary", asked(u1 + "," + strings.Replace(call, `"input":{}`, `"input":{"a":1.50}`, 1) + "," + said("user", result1))},
		{"input is there", asked(u1 + "," + strings.Replace(call, `,"input":{}`, ``, 1) + "," + said("user", result1)), "tool_use.input: Field required", asked(u1 + "," + call + "," + said("user", result1))},
		{"users do not call", asked(said("user", `{"type":"tool_use","id":"t1","name":"A","input":{}}`)), "can only be in `assistant` messages", asked(u1)},
		{"assistants have no results", asked(u1 + "," + said("assistant", result1) + "," + u1), "can only be in `user` messages", asked(u1)},
		{"assistants show no pictures", asked(u1 + "," + said("assistant", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`) + "," + u1), "`image` blocks", asked(said("user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}`))},
		{"users do not think", asked(said("user", `{"type":"thinking","thinking":"","signature":"s"}`)), "may only be in `assistant`", asked(u1)},
		{"thoughts are signed", asked(u1 + "," + said("assistant", `{"type":"thinking","thinking":"x"}`, hint) + "," + u1), "signature: Field required", asked(u1 + "," + said("assistant", `{"type":"redacted_thinking","data":"x"}`, hint) + "," + u1)},
		{"signatures of others", asked(u1 + "," + said("assistant", `{"type":"thinking","thinking":"x","signature":"c2ln"}`, hint) + "," + u1), "bound to a different conversation", asked(u1 + "," + said("assistant", hint) + "," + u1)},

		{"names of tools", asked(u1, `"tools":[`+strings.Replace(tool, "Bash", "Ba.sh", 1)+`]`), "tools.0.name: String should match pattern", asked(u1, `"tools":[`+tool+`]`)},
		{"long names of tools", asked(u1, `"tools":[`+strings.Replace(tool, "Bash", strings.Repeat("x", 65), 1)+`]`), "tools.0.name", asked(u1, `"tools":[`+strings.Replace(tool, "Bash", strings.Repeat("x", 64), 1)+`]`)},
		{"tools differ", asked(u1, `"tools":[`+tool+","+tool+`]`), "must be unique", asked(u1, `"tools":[`+tool+","+strings.Replace(tool, "Bash", "B", 1)+`]`)},
		{"schemas", asked(u1, `"tools":[{"name":"A"}]`), "input_schema: Field required", asked(u1, `"tools":[{"name":"A","input_schema":{"type":"object"}}]`)},
		{"schemas are of objects", asked(u1, `"tools":[{"name":"A","input_schema":{}}]`), "Input should be 'object'", asked(u1, `"tools":[{"name":"A","type":"web_search_20260101"}]`)},
		{"system", asked(u1, `"system":[{"type":"text","text":""}]`), "system.0: text content blocks must be non-empty", asked(u1, `"system":"s"`)},
		{"system is text", asked(u1, `"system":[{"type":"image"}]`), "system.0.type: Input should be 'text'", asked(u1, `"system":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`)},

		{"four marks", asked(said("user", marked("a", mark), marked("b", mark), marked("c", mark), marked("d", mark)), mark, `"system":[`+marked("s", mark)+`]`),
			"A maximum of 4 blocks with cache_control may be provided. Found 5.",
			asked(said("user", marked("a", mark), marked("b", mark), marked("c", mark)), mark, `"system":[`+marked("s", mark)+`]`)},
		{"the fifth is that of the top", asked(said("user", marked("a", mark), marked("b", mark), marked("c", mark), marked("d", mark), hint), mark), "Found 5.",
			asked(said("user", marked("a", mark), marked("b", mark), marked("c", mark), hint), mark)},
		{"no mark on a thought", asked(u1 + "," + said("assistant", `{"type":"thinking","thinking":"","signature":"s",`+mark+`}`) + "," + u1), "thinking.cache_control: Extra inputs are not permitted", asked(said("user", marked("a", mark)))},
		{"no mark on nothing", asked(said("user", marked("", mark))), "cache_control cannot be set for empty text", asked(said("user", marked("a", mark)))},
		{"kind of a mark", asked(said("user", marked("a", `"cache_control":{"type":"x"}`))), "cache_control.type", asked(said("user", marked("a", mark)))},
		{"life of a mark", asked(said("user", marked("a", `"cache_control":{"type":"ephemeral","ttl":"2h"}`))), "cache_control.ttl", asked(said("user", marked("a", `"cache_control":{"type":"ephemeral","ttl":"5m"}`)))},
		{"long before short", asked(said("user", marked("a", mark), marked("b", markL))), "must not come after", asked(said("user", marked("a", markL), marked("b", mark)))},
	} {
		f := NewServer(&scripted.Script{}, nil)
		if _, err := f.parse(today, []byte(c.bad)); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: error %v, want %q: %s", c.name, err, c.words, c.bad)
		}
		if _, err := f.parse(today, []byte(c.good)); err != nil {
			t.Errorf("%s: refused a good one: %v: %s", c.name, err, c.good)
		}
	}
	f := NewServer(&scripted.Script{}, nil)
	if _, err := f.parse(http.Header{}, []byte(asked(u1))); err == nil || !strings.Contains(err.Error(), "anthropic-version") {
		t.Errorf("no version: %v", err)
	}
	if _, err := f.parse(http.Header{"Anthropic-Version": {"2023-06-01"}}, []byte(asked(u1, `"temperature":1`))); err != nil {
		t.Errorf("the old version has a temperature: %v", err)
	}
}

func chatAsked(messages string, extra ...string) string {
	return `{"model":"m",` + strings.Join(append(extra, ""), ",") + `"messages":[` + messages + `]}`
}

// Each rule of Chat Completions, likewise.
func TestRulesOfChat(t *testing.T) {
	const (
		sys   = `{"role":"system","content":"s"}`
		calls = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"Bash","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"Bash","arguments":"{}"}}]}`
		r1    = `{"role":"tool","tool_call_id":"c1","content":"ok"}`
		r2    = `{"role":"tool","tool_call_id":"c2","content":""}`
		fn    = `{"type":"function","function":{"name":"Bash","parameters":{}}}`
	)
	whole := u1 + "," + calls + "," + r2 + "," + r1
	for _, c := range []struct{ name, bad, words, good string }{
		{"JSON", chatAsked(u1) + "x", "could not parse", chatAsked(u1)},
		{"UTF-8", chatAsked("{\"role\":\"user\",\"content\":\"\xff\"}"), "not UTF-8", chatAsked(`{"role":"user","content":"é"}`)},
		{"whole characters", chatAsked(`{"role":"user","content":"\ud83d"}`), "half of a character", chatAsked(`{"role":"user","content":"\ud83d\ude00"}`)},
		{"model", `{"messages":[` + u1 + `]}`, "model", chatAsked(u1)},
		{"messages", chatAsked(""), "too short", chatAsked(u1)},
		{"stream_options", chatAsked(u1, `"stream_options":{"include_usage":true}`), "only allowed when 'stream'", chatAsked(u1, `"stream":true,"stream_options":{"include_usage":true}`)},
		{"parallel_tool_calls", chatAsked(u1, `"parallel_tool_calls":true`), "only allowed when 'tools'", chatAsked(u1, `"parallel_tool_calls":true,"tools":[`+fn+`]`)},
		{"type of a tool", chatAsked(u1, `"tools":[{"type":"x"}]`), "tools[0].type", chatAsked(u1, `"tools":[`+fn+`]`)},
		{"names of tools", chatAsked(u1, `"tools":[`+strings.Replace(fn, "Bash", "Ba sh", 1)+`]`), "tools[0].function.name", chatAsked(u1, `"tools":[`+fn+`]`)},
		{"role", chatAsked(`{"role":"human","content":"x"}`), "Invalid value: 'human'", chatAsked(u1)},
		{"system first", chatAsked(u1 + "," + sys), "must be the first one", chatAsked(sys + "," + u1)},
		{"system alone", chatAsked(sys), "no message of a user", chatAsked(sys + "," + u1)},
		{"first is a user's", chatAsked(a1 + "," + u1), "must be a user's", chatAsked(u1 + "," + a1 + "," + u1)},
		{"last is a user's", chatAsked(u1 + "," + a1), "the last one", chatAsked(whole)},
		{"content of a user", chatAsked(`{"role":"user","content":null}`), "got null", chatAsked(`{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]}`)},
		{"parts", chatAsked(`{"role":"user","content":[{"type":"video"}]}`), `a part of type "video"`, chatAsked(u1)},
		{"content of an assistant", chatAsked(u1 + `,{"role":"assistant","content":null},` + u1), "got null", chatAsked(whole)},
		{"calls without results", chatAsked(u1 + "," + calls + "," + u1), "did not have response messages: c1, c2", chatAsked(whole + "," + u1)},
		{"calls at the end", chatAsked(u1 + "," + calls), "did not have response messages: c1, c2", chatAsked(whole)},
		{"one of two results", chatAsked(u1 + "," + calls + "," + r1 + "," + u1), "did not have response messages: c2", chatAsked(whole)},
		{"result of nothing", chatAsked(u1 + "," + r1), "must be a response to a preceding message", chatAsked(whole)},
		{"two results of one", chatAsked(whole + "," + r1), "must be a response to a preceding message", chatAsked(whole)},
		{"ids", chatAsked(strings.Replace(whole, `"id":"c1",`, ``, 1)), "tool_calls[0].id", chatAsked(whole)},
		{"ids differ", chatAsked(strings.Replace(whole, `"id":"c2"`, `"id":"c1"`, 1)), "Duplicate value", chatAsked(whole)},
		{"type of a call", chatAsked(strings.Replace(whole, `"type":"function",`, ``, 1)), "tool_calls[0].type", chatAsked(whole)},
		{"names of calls", chatAsked(strings.Replace(whole, `"name":"Bash"`, `"name":""`, 1)), "function.name", chatAsked(whole)},
		{"arguments", chatAsked(strings.Replace(whole, `,"arguments":"{}"`, ``, 1)), "Missing required parameter", chatAsked(whole)},
		{"arguments are JSON", chatAsked(strings.Replace(whole, `"arguments":"{}"`, `"arguments":"{"`, 1)), "not JSON", chatAsked(whole)},
	} {
		if _, err := parseChat([]byte(c.bad)); err == nil || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: error %v, want %q: %s", c.name, err, c.words, c.bad)
		}
		if _, err := parseChat([]byte(c.good)); err != nil {
			t.Errorf("%s: refused a good one: %v: %s", c.name, err, c.good)
		}
	}
}

// A conversation of Chat Completions is the same for a script as one of Messages.
func TestChatConversation(t *testing.T) {
	p, err := parseChat([]byte(chatAsked(`{"role":"developer","content":"s"},` + u1 +
		`,{"role":"assistant","content":"","reasoning_content":"x","tool_calls":[{"id":"c1","type":"function","function":{"name":"Bash","arguments":"{\"a\":1}"}}]},{"role":"tool","tool_call_id":"c1","content":"ok"},` + u1)))
	if err != nil {
		t.Fatal(err)
	}
	var got string
	for _, m := range p.messages {
		got += string(m.AppendJSON(nil)) + "\n"
	}
	want := said("user", `{"type":"text","text":"go"}`) + "\n" +
		said("assistant", `{"type":"tool_use","id":"c1","name":"Bash","input":{"a":1}}`) + "\n" +
		said("user", `{"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":"ok"}]}`, `{"type":"text","text":"go"}`) + "\n"
	if got != want || p.system != "s" {
		t.Errorf("conversation\n%s, want\n%s, system %q", got, want, p.system)
	}
}

func FuzzMessages(f *testing.F) {
	for _, s := range []string{
		asked(u1), asked(u1+","+call2+","+said("user", result1, result2, hint), mark, `"system":[`+marked("s", markL)+`],"tools":[`+tool+`]`),
		asked(u1 + "," + said("assistant", `{"type":"thinking","thinking":"x","signature":"s"}`) + "," + u1),
		asked(said("user", `{"type":"tool_result","tool_use_id":"t1","content":[{"type":"image","source":{}}]}`, `{"type":"strange"}`)),
	} {
		f.Add([]byte(s))
	}
	script := load(f, "agents:\n  - turns: [{text: a, thinking: b, repeat: forever}]\n")
	f.Fuzz(func(t *testing.T, body []byte) {
		s := NewServer(script, nil)
		r, err := http.NewRequest(http.MethodPost, "http://x/v1/messages", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {"2026-10-21"}}
		for range 2 {
			r.Body = http.NoBody
			r.Body = readCloser{strings.NewReader(string(body))}
			s.ServeHTTP(&recorder{header: http.Header{}}, r)
		}
		seen := s.Requests()
		if seen[0].Status == 200 && (seen[1].Prefix != Identical || seen[1].Cache.prompt() != seen[0].Cache.prompt()) {
			t.Errorf("asked twice: %+v", seen)
		}
	})
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func FuzzChat(f *testing.F) {
	f.Add([]byte(chatSimple))
	f.Add([]byte(chatAsked(u1 + `,{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"B","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":[{"type":"text","text":"x"}]}`)))
	script := load(f, "agents:\n  - turns: [{text: a, thinking: b, repeat: forever}]\n")
	f.Fuzz(func(t *testing.T, body []byte) {
		s := NewServer(script, nil)
		r, err := http.NewRequest(http.MethodPost, "http://x/v1/chat/completions", strings.NewReader(string(body)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Authorization": {"k"}}
		s.ServeHTTP(&recorder{header: http.Header{}}, r)
		if seen := s.Requests(); seen[0].Status == 200 && seen[0].Messages == 0 {
			t.Errorf("answered %q", body)
		}
	})
}
