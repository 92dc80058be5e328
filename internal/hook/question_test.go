package hook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestVerdicts(t *testing.T) {
	t.Parallel()
	deny := Outcome{Blocked: true, Block: "r", Decision: Deny, Reason: "r"}
	ends := deny
	ends.Stop, ends.StopReason = true, "r"
	no := `{"ok": false, "reason": "r"}`
	for _, c := range []struct {
		name   string
		hook   Hook
		answer string
		want   Outcome
		told   string
	}{
		{"yes", Hook{Event: Stop}, `{"ok": true}`, Outcome{}, ""},
		{"no", Hook{Event: Stop}, no, Outcome{Blocked: true, Block: "r"}, ""},
		{"no without a reason", Hook{Event: Stop}, `{"ok": false}`, Outcome{Blocked: true, Block: noReason}, ""},
		{"no with a reason of another type", Hook{Event: Stop}, `{"ok": false, "reason": ["a"]}`, Outcome{Blocked: true, Block: noReason}, ""},
		{"impossible", Hook{Event: Stop}, `{"ok": false, "reason": "r", "impossible": true}`, Outcome{}, ""},
		{"in a fence", Hook{Event: Stop}, "Well.\n```json\n" + no + "\n```\n", Outcome{Blocked: true, Block: "r"}, ""},
		{"after an example", Hook{Event: Stop}, `I may say {"ok": true} or {x}. ` + no, Outcome{Blocked: true, Block: "r"}, ""},
		{"after much prose", Hook{Event: Stop}, strings.Repeat("{ hm ", 10_000) + no, Outcome{Blocked: true, Block: "r"}, ""},
		{"prose", Hook{Event: Stop}, "It is fine.", Outcome{}, "the model gave no verdict: It is fine."},
		{"a word for yes", Hook{Event: Stop}, `{"ok": "true"}`, Outcome{}, "the model gave no verdict"},
		{"nothing", Hook{Event: Stop}, "", Outcome{}, "the model gave no verdict"},
		{"about a call", Hook{Event: PreToolUse}, no, ends, ""},
		{"about a call, to go on", Hook{Event: PreToolUse, ContinueOnBlock: true}, no, deny, ""},
		{"about a failure", Hook{Event: PostToolUseFailure}, no, Outcome{Context: []string{"r"}}, ""},
		{"about a permission", Hook{Event: PermissionRequest}, no, Outcome{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var said told
			o := options(t, &said)
			o.Ask = func(context.Context, string, string) (string, error) { return c.answer, nil }
			c.hook.Kind, c.hook.Prompt = Prompt, "?"
			got := runner(t, o, c.hook).Fire(t.Context(), c.hook.Event, "", nil, nil)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("outcome: %s", diff)
			}
			if lines := strings.Join(said.all(), "\n"); c.told == "" && lines != "" || !strings.Contains(lines, c.told) {
				t.Errorf("told %q, want %q", lines, c.told)
			}
		})
	}
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]string{
		"Fine? $ARGUMENTS!": `Fine? {"a":"$ARGUMENTS",`,
		"Fine?":             "Fine?\n\n{\"a\":\"$ARGUMENTS\",",
	} {
		var said told
		o := options(t, &said)
		o.Ask = func(_ context.Context, model, text string) (string, error) {
			if model != "small" || !strings.HasPrefix(text, want) || strings.Count(text, `"a":`) != 1 {
				t.Errorf("asked %s: %s", model, text)
			}
			return "", errors.New("busy")
		}
		h := Hook{Event: Stop, Kind: Prompt, Prompt: prompt, Model: "small", Source: "test"}
		runner(t, o, h).Fire(t.Context(), Stop, "", map[string]any{"a": "$ARGUMENTS"}, nil)
		if diff := cmp.Diff([]string{"hook Stop (test): ask the model: busy"}, said.all()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestQuestionAtTheLimit(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	o.Ask = func(ctx context.Context, _, _ string) (string, error) {
		<-ctx.Done()
		return `{"ok": false}`, ctx.Err()
	}
	h := Hook{Event: Stop, Kind: Prompt, Prompt: "?", Source: "test", Timeout: time.Millisecond}
	out := runner(t, o, h).Fire(t.Context(), Stop, "", nil, nil)
	if diff := cmp.Diff([]string{"hook Stop (test): ended at its time limit of 1ms"}, said.all()); diff != "" || out.Blocked {
		t.Errorf("blocked %v, told %s", out.Blocked, diff)
	}
}

func TestToolsOfServers(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	o.CallTool = func(_ context.Context, server, tool string, input json.RawMessage) (string, error) {
		const want = `{"id":12345678901234567890,"in":["f.go: 98765432109876543210, {\"path\":\"f.go\"}, second, , ${x y}"],"none":null}`
		if server != "s" || tool != "t" || string(input) != want {
			t.Errorf("called %s of %s with %s, want %s", tool, server, input, want)
		}
		return `{"decision": "block", "reason": "no"}`, nil
	}
	h := Hook{Event: PreToolUse, Kind: MCPTool, Server: "s", Tool: "t"}
	h.Input = json.RawMessage(`{"id": 12345678901234567890, "none": null, "in": ["${tool_input.path}: ${n}, ${tool_input}, ${list.1}, ${list.7.x}, ${x y}"]}`)
	input := map[string]any{
		"tool_input": json.RawMessage(`{"path": "f.go"}`), "n": json.Number("98765432109876543210"), "list": []string{"first", "second"},
	}
	out := runner(t, o, h).Fire(t.Context(), PreToolUse, "", input, nil)
	if out.Block != "no" || len(said.all()) > 0 {
		t.Errorf("outcome %+v, told %q", out, said.all())
	}
}

func TestToolsOfServersThatFail(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call func(context.Context, string, string, json.RawMessage) (string, error)
		told string
	}{
		{nil, "tools of servers are not available"},
		{func(context.Context, string, string, json.RawMessage) (string, error) { return "", errors.New("gone") }, "call t of the server s: gone"},
		{func(_ context.Context, _, _ string, in json.RawMessage) (string, error) { return "{" + string(in), nil }, "begins like JSON"},
	} {
		var said told
		o := options(t, &said)
		o.CallTool = c.call
		out := runner(t, o, Hook{Event: PreToolUse, Kind: MCPTool, Server: "s", Tool: "t"}).Fire(t.Context(), PreToolUse, "", nil, nil)
		if lines := said.all(); out.Blocked || len(lines) != 1 || !strings.Contains(lines[0], c.told) {
			t.Errorf("told %q, want %q", lines, c.told)
		}
	}
}

func FuzzVerdict(f *testing.F) {
	f.Add(`{"ok": false, "reason": "r"}`)
	f.Add("```\n{\"a\": {\"ok\": true}}\n```")
	f.Add(strings.Repeat(`{"a":`, 20) + "x")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := parseVerdict(text)
		if (err == nil) != (v.OK != nil) {
			t.Errorf("parseVerdict(%q) = %+v, %v", text, v, err)
		}
	})
}
