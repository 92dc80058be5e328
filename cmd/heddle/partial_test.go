package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
)

// partials puts an answer together from the events by which it was written, as a reader
// would, and fails where their order makes no sense.
type partials struct {
	t      *testing.T
	begun  bool
	open   bool
	blocks []msg
	ended  bool // by its message_stop
}

func (p *partials) event(e msg) {
	p.t.Helper()
	index, _ := e["index"].(float64)
	at := int(index)
	switch e["type"] {
	case "message_start":
		*p = partials{t: p.t, begun: true}
		return
	case "content_block_start":
		block, _ := e["content_block"].(map[string]any)
		if !p.begun || p.open || at != len(p.blocks) {
			p.t.Errorf("out of order: %v", e)
		}
		p.open, p.blocks = true, append(p.blocks, msg(block))
	case "content_block_delta":
		if !p.open || at != len(p.blocks)-1 {
			p.t.Fatalf("out of order: %v", e)
		}
		for _, kind := range []string{"text", "thinking", "partial_json"} {
			if s, ok := e.at("delta", kind).(string); ok {
				p.blocks[at][kind] = fmt.Sprint(p.blocks[at][kind], s)
			}
		}
	case "content_block_stop":
		if !p.open || at != len(p.blocks)-1 {
			p.t.Errorf("out of order: %v", e)
		}
		p.open = false
	case "message_delta":
		if !p.begun || p.open || e.at("delta", "stop_reason") == nil {
			p.t.Errorf("out of order: %v", e)
		}
	case "message_stop":
		p.ended, p.begun = true, false
	default:
		p.t.Errorf("unknown event %v", e)
	}
}

// check compares what was put together with the message that follows.
func (p *partials) check(m msg) {
	p.t.Helper()
	content, _ := m.at("message", "content").([]any)
	if !p.ended || len(content) != len(p.blocks) {
		p.t.Fatalf("the message %v follows %v", m, p.blocks)
	}
	for i, c := range content {
		want, got := msg(c.(map[string]any)), p.blocks[i]
		if input, ok := got["partial_json"].(string); ok {
			var v any
			if err := json.Unmarshal([]byte(input[len("<nil>"):]), &v); err != nil {
				p.t.Errorf("input %q: %v", input, err)
			}
			got["input"] = v
		}
		for _, key := range []string{"type", "text", "thinking", "name", "id", "input"} {
			if fmt.Sprint(got[key]) != fmt.Sprint(want[key]) {
				p.t.Errorf("block %d was written with %s %v, and is %v", i, key, got[key], want[key])
			}
		}
	}
}

// What is passed on while an answer is written adds up to that answer, also when a part of it
// had to be taken back.
func TestPartialMessagesAddUp(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - thinking: Let me see what there is to be done about it.
        text: I will look into that now, and then say more.
        chunk: 7
        calls:
          - {tool: Glob, input: {pattern: '*.yaml'}}
          - {tool: Glob, input: {pattern: '*.txt', path: .}}
      - fail: {cut: between, after: 3}
        chunk: 5
        text: This breaks off at first, and then comes whole.
`, "--include-partial-messages")
	p.say("go")
	answers, retries := 0, 0
	parts := partials{t: t}
	p.next("the result", func(m msg) bool {
		switch {
		case m.is("stream_event", ""):
			event, _ := m["event"].(map[string]any)
			parts.event(event)
		case m.is("system", "api_retry"):
			retries++
		case m.is("assistant", ""):
			answers++
			parts.check(m)
		}
		return m.is("result", "")
	})
	if answers != 2 || retries != 1 {
		t.Errorf("%d answers and %d retries, want 2 and 1", answers, retries)
	}
	p.end()
}

// Every message carries what readers rely on, and the first is the one that tells them where
// they are.
func TestEveryMessageIsWhole(t *testing.T) {
	t.Parallel()
	p := connect(t, "agents:\n  - turns:\n      - calls: [{tool: Glob, input: {pattern: '*'}}]\n      - text: done\n")
	p.say("go")
	var seen []string
	ids := map[any]bool{}
	var sessions []any
	result := p.next("the result", func(m msg) bool {
		kind, _ := m["type"].(string)
		seen = append(seen, kind)
		if ids[m["uuid"]] || m["uuid"] == nil {
			t.Errorf("uuid %v is missing or not new", m["uuid"])
		}
		ids[m["uuid"]] = true
		if !slices.Contains(sessions, m["session_id"]) {
			sessions = append(sessions, m["session_id"])
		}
		if parent, there := m["parent_tool_use_id"]; (kind == "assistant" || kind == "user") && (!there || parent != nil) {
			t.Errorf("parent_tool_use_id of %v", m)
		}
		return m.is("result", "")
	})
	if fmt.Sprint(seen) != "[system assistant user assistant result]" || len(sessions) != 1 || sessions[0] == nil {
		t.Errorf("messages %v of sessions %v", seen, sessions)
	}
	for _, key := range []string{
		"subtype", "is_error", "result", "duration_ms", "duration_api_ms", "num_turns", "stop_reason",
		"total_cost_usd", "usage", "modelUsage", "permission_denials", "terminal_reason",
	} {
		if _, there := result[key]; !there {
			t.Errorf("the result has no %s", key)
		}
	}
	if result["num_turns"] != 2.0 || result["stop_reason"] != "end_turn" || result["terminal_reason"] != "completed" {
		t.Errorf("result = %v", result)
	}
	p.end()
}
