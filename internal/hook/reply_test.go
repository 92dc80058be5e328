package hook

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// saying is a command that prints an answer.
func saying(answer string) string { return "cat <<'END'\n" + answer + "\nEND\n" }

// What commands answer, by exit codes and outputs. Told is what a person reads, and is
// empty if that is nothing.
func TestAnswers(t *testing.T) {
	t.Parallel()
	deny := func(why string) Outcome { return Outcome{Blocked: true, Block: why, Decision: Deny, Reason: why} }
	block := func(why string) Outcome { return Outcome{Blocked: true, Block: why} }
	for _, c := range []struct {
		name    string
		event   Event
		command string
		want    Outcome
		told    string
	}{
		{"nothing", PreToolUse, "exit 0", Outcome{}, ""},
		{"prose that nobody reads", PreToolUse, "echo hello; echo why >&2", Outcome{}, ""},
		{"prose at the start", SessionStart, "echo hello", Outcome{Context: []string{"hello"}}, ""},
		{"prose of a prompt", UserPromptSubmit, "printf '\\n a\\nb \\n'", Outcome{Context: []string{"a\nb"}}, ""},
		{"prose of a failure", UserPromptSubmit, "echo hello; exit 1", Outcome{}, "exit code 1"},
		{"prose with controls", UserPromptExpansion, `printf 'a\033[31mb\007'`, Outcome{Context: []string{"ab"}}, ""},

		{"block", PreToolUse, "echo ' no ' >&2; exit 2", deny("no"), ""},
		{"block without a word", PreToolUse, "exit 2", deny(noReason), ""},
		{"block with prose", UserPromptSubmit, "echo hello; echo no >&2; exit 2", block("no"), ""},
		{"block, undone", PreToolUse, saying(`{"hookSpecificOutput": {"permissionDecision": "allow", "permissionDecisionReason": "fine"}}`) + "echo no >&2; exit 2", deny("no"), ""},
		{"block with a reason in JSON", PreToolUse, saying(`{"decision": "block", "reason": "json"}`) + "exit 2", deny("json"), ""},
		{"block with broken JSON", Stop, saying(`{"decision"`) + "echo on >&2; exit 2", block("on"), "begins like JSON and is none"},
		{"block of what cannot be", Notification, "echo one >&2; echo two >&2; exit 2", Outcome{}, "): one"},
		{"block of what cannot be, without a word", SessionStart, "exit 2", Outcome{}, "exit code 2, which SessionStart does not heed"},
		{"block of a permission", PermissionRequest, "exit 2", Outcome{}, "PermissionRequest does not heed"},
		{"block after a failure", PostToolUseFailure, "echo try that >&2; exit 2", Outcome{Context: []string{"try that"}}, ""},
		{"block after a failure without a word", PostToolUseFailure, "exit 2", Outcome{}, "does not heed"},
		{"block after a call", PostToolUse, "echo bad >&2; exit 2", block("bad"), ""},
		{"block of a question", Elicitation, saying(`{"hookSpecificOutput": {"action": "accept", "content": {}}}`) + "exit 2", Outcome{Blocked: true, Block: noReason, Action: "decline"}, ""},

		{"failure", PreToolUse, "echo one >&2; echo two >&2; exit 3", Outcome{}, "hook PreToolUse (hooks.json:3:5): exit code 3: one"},
		{"failure without a word", Stop, "exit 1", Outcome{}, "): exit code 1"},
		{"no such script", PreToolUse, "./missing.sh", Outcome{}, "exit code 127"},
		{"signal", PreToolUse, "kill -9 $$", Outcome{}, "signal: killed"},
		{"failure that decides", PreToolUse, saying(`{"decision": "block", "reason": "no"}`) + "exit 1", deny("no"), ""},

		{"broken JSON", UserPromptSubmit, `echo '{"a": '`, Outcome{}, "begins like JSON and is none"},
		{"a byte order mark", PreToolUse, `printf '\357\273\277{"decision": "block", "reason": "no"}'`, deny("no"), ""},
		{"a log line before", PreToolUse, `printf 'checking\n{"decision": "block"}\n'`, Outcome{}, "text before the JSON in its output, so the JSON decides nothing"},
		{"a log line alone", PreToolUse, `echo checking {}`, Outcome{}, ""},
		{"a decision in the wrong place", PreToolUse, saying(`{"permissionDecision": "deny"}`), Outcome{}, "permissionDecision is ignored: it belongs into hookSpecificOutput"},
		{"two objects", UserPromptSubmit, `echo '{} {}'`, Outcome{}, "begins like JSON and is none"},
		{"fields of wrong types", Stop, saying(`{"continue": "no", "systemMessage": 5, "decision": "block", "reason": [], "hookSpecificOutput": []}`), block(noReason), "ignored"},
		{"unknown word", Stop, saying(`{"decision": "deny"}`), Outcome{}, `decision is ignored: "deny" is none of block, approve`},
		{"end", PostToolBatch, saying(`{"continue": false, "stopReason": "enough"}`), Outcome{Stop: true, StopReason: "enough"}, ""},
		{"message", Stop, saying(`{"systemMessage": "look", "suppressOutput": true}`), Outcome{Messages: []string{"look"}}, "): look"},
		{"decision without effect", Notification, saying(`{"decision": "block"}`), Outcome{}, "Notification cannot be held back"},
		{"answer to another event", PreToolUse, saying(`{"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "deny"}}`), Outcome{}, `it is for "Stop"`},
		{"context", PostToolUse, saying(`{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "x"}}`), Outcome{Context: []string{"x"}}, ""},

		{"allow", PreToolUse, saying(`{"hookSpecificOutput": {"permissionDecision": "allow", "permissionDecisionReason": "r", "updatedInput": {"a": 1}}}`), Outcome{Decision: Allow, Reason: "r", UpdatedInput: []byte(`{"a": 1}`)}, ""},
		{"approve", PreToolUse, saying(`{"decision": "approve", "reason": "r"}`), Outcome{Decision: Allow, Reason: "r"}, ""},
		{"defer", PreToolUse, saying(`{"hookSpecificOutput": {"permissionDecision": "defer"}}`), Outcome{Decision: AskUser}, "the user is asked"},
		{"deny", PreToolUse, saying(`{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecisionReason": "r"}}`), deny("r"), ""},
		{"block beside allow", PreToolUse, saying(`{"decision": "block", "reason": "r", "hookSpecificOutput": {"permissionDecision": "allow"}}`), deny("r"), ""},
		{"input that is none", PreToolUse, saying(`{"hookSpecificOutput": {"updatedInput": ["a"]}}`), Outcome{}, "hookSpecificOutput.updatedInput is ignored"},
		{
			"permission", PermissionRequest, saying(`{"hookSpecificOutput": {"decision": {"behavior": "deny", "message": "m", "interrupt": true, "updatedPermissions": {}}}}`),
			Outcome{Permission: &Permission{Behavior: Deny, Message: "m", Interrupt: true}}, "updatedPermissions is ignored: a list is expected",
		},
		{"permission of a kind that is not known", PermissionRequest, saying(`{"hookSpecificOutput": {"decision": {"behavior": "ask"}}}`), Outcome{}, "behavior is ignored"},
		{"result", PostToolUse, saying(`{"hookSpecificOutput": {"updatedToolOutput": "o"}}`), Outcome{UpdatedOutput: []byte(`"o"`)}, ""},
		{"start", SessionStart, saying(`{"hookSpecificOutput": {"sessionTitle": "t", "initialUserMessage": "m"}}`), Outcome{Title: "t", FirstPrompt: "m"}, ""},
		{"prompt", UserPromptSubmit, saying(`{"hookSpecificOutput": {"sessionTitle": "t", "suppressOriginalPrompt": true}}`), Outcome{Title: "t", SuppressPrompt: true}, ""},
		{"question", ElicitationResult, saying(`{"hookSpecificOutput": {"action": "accept", "content": {"a": "b"}}}`), Outcome{Action: "accept", Content: []byte(`{"a": "b"}`)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var said told
			got := runner(t, options(t, &said), sh(c.event, c.command)).Fire(t.Context(), c.event, "x", nil, nil)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("outcome: %s", diff)
			}
			if lines := strings.Join(said.all(), "\n"); c.told == "" && lines != "" || !strings.Contains(lines, c.told) {
				t.Errorf("told %q, want %q", lines, c.told)
			}
		})
	}
}

func TestAggregation(t *testing.T) {
	t.Parallel()
	decided := func(decision, reason string) Outcome { return Outcome{Decision: decision, Reason: reason} }
	answer := func(behavior, message string, interrupt bool) Outcome {
		return Outcome{Permission: &Permission{Behavior: behavior, Message: message, Interrupt: interrupt}}
	}
	for _, c := range []struct {
		name string
		in   []Outcome
		want Outcome
	}{
		{"nothing", []Outcome{{}, {}}, Outcome{}},
		{"the strictest decision", []Outcome{decided(Allow, "a"), decided(AskUser, "b"), decided(Allow, "c")}, decided(AskUser, "b")},
		{"deny", []Outcome{decided(Deny, "a"), decided(AskUser, "b"), decided(Deny, "c")}, decided(Deny, "a\nc")},
		{
			"blocks", []Outcome{{Blocked: true, Block: "a"}, {Context: []string{"x"}}, {Blocked: true, Block: "b", Context: []string{"y"}}},
			Outcome{Blocked: true, Block: "a\nb", Context: []string{"x", "y"}},
		},
		{"ends", []Outcome{{Stop: true, StopReason: "a"}, {Stop: true}, {StopReason: "b"}}, Outcome{Stop: true, StopReason: "a\nb"}},
		{"inputs", []Outcome{{UpdatedInput: []byte("{}")}, {UpdatedInput: []byte(`{"a":1}`)}, {}}, Outcome{UpdatedInput: []byte(`{"a":1}`)}},
		{"outputs", []Outcome{{UpdatedOutput: []byte("1")}, {UpdatedOutput: []byte("2")}, {}}, Outcome{UpdatedOutput: []byte("2")}},
		{"titles", []Outcome{{Title: "a"}, {Title: "b", SuppressPrompt: true}, {}}, Outcome{Title: "b", SuppressPrompt: true}},
		{
			"actions", []Outcome{{Action: "accept", Content: []byte("{}")}, {Action: "cancel"}, {Action: "accept"}},
			Outcome{Action: "cancel"},
		},
		{"contents", []Outcome{{Action: "accept", Content: []byte("{}")}, {Action: "accept", Content: []byte("[]")}}, Outcome{Action: "accept", Content: []byte("[]")}},
		{"permissions", []Outcome{answer(Allow, "a", false), answer(Deny, "b", false), answer(Allow, "c", false), answer(Deny, "d", true)}, answer(Deny, "b\nd", true)},
	} {
		var all Outcome
		for _, o := range c.in {
			all.add(o)
		}
		if diff := cmp.Diff(c.want, all); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

// Hooks are joined in their order, whoever is ready first, and a bad one costs no other.
func TestOrder(t *testing.T) {
	t.Parallel()
	var said told
	changed := func(text string) string {
		return saying(`{"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"by": "` + text + `"}}}`)
	}
	o := options(t, &said)
	r := runner(t, o,
		sh(PreToolUse, "until [ -e last ]; do :; done; "+changed("first")),
		sh(PreToolUse, "exit 1"),
		Hook{Event: PreToolUse, Kind: Prompt, Prompt: "?"},
		sh(PreToolUse, changed("last")+": > last"))
	out := r.Fire(t.Context(), PreToolUse, "Bash", nil, nil)
	want := Outcome{Decision: Allow, UpdatedInput: []byte(`{"by": "last"}`)}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Error(diff)
	}
	lines := strings.Join(said.all(), "\n")
	for _, text := range []string{"it replaced the input that another hook had changed", "exit code 1", "there is no model to ask"} {
		if strings.Count(lines, text) != 1 {
			t.Errorf("told %s, want %q once", lines, text)
		}
	}
}

// FuzzOutcome checks that whatever a hook prints, what becomes of it is well-formed.
func FuzzOutcome(f *testing.F) {
	for i, text := range []string{
		``, `hello`, `{}`, `{"decision": "block", "hookSpecificOutput": {"permissionDecision": "allow"}}`,
		`{"continue": false, "hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {}, "updatedToolOutput": "\u001b]0;x\u0007"}}`,
		`{"hookSpecificOutput": {"decision": {"behavior": "allow", "updatedPermissions": [], "updatedInput": null}, "action": "accept", "content": {}}}`,
		`{"systemMessage": "</hook>", "reason": "\ud800"}`, `{"hookSpecificOutput": {"hookSpecificOutput": {}}}`,
	} {
		f.Add(text, "stderr", i, i)
	}
	f.Fuzz(func(t *testing.T, stdout, stderr string, code, event int) {
		e := Events()[uint(event)%uint(len(Events()))]
		r := NewRunner(Options{}, nil)
		o := r.read(Hook{Event: e, Origin: config.Origin{File: "f"}}, reply{code: code, end: "end", stdout: stdout, stderr: stderr})
		r.tidy(&o)
		wellFormed(t, o)
		if code == blockingCode && known[e].blocks != o.Blocked {
			t.Errorf("%s: exit code 2 gives Blocked %v", e, o.Blocked)
		}
	})
}

func wellFormed(t *testing.T, o Outcome) {
	t.Helper()
	if o.Blocked != (o.Block != "") || o.Blocked && o.Decision != "" && o.Decision != Deny {
		t.Errorf("Blocked %v because of %q, Decision %q", o.Blocked, o.Block, o.Decision)
	}
	if o.UpdatedInput != nil && !isObject(o.UpdatedInput) || o.Content != nil && !isObject(o.Content) {
		t.Errorf("no objects: %s, %s", o.UpdatedInput, o.Content)
	}
	if o.UpdatedOutput != nil && !json.Valid(o.UpdatedOutput) {
		t.Errorf("no JSON: %s", o.UpdatedOutput)
	}
	for _, text := range append(append([]string{o.Block, o.Reason, o.StopReason, o.FirstPrompt, o.Title}, o.Context...), o.Messages...) {
		if n := len([]rune(text)); n > textLimit {
			t.Errorf("a text of %d characters", n)
		}
		if strings.ContainsAny(text, "\x1b\x07\x00") {
			t.Errorf("a text with controls: %q", text)
		}
		wrapped := Wrap(PreToolUse, text)
		if strings.Count(wrapped, "<") != 2 || !strings.HasPrefix(wrapped, `<hook event="PreToolUse">`) || !strings.HasSuffix(wrapped, "\n</hook>") {
			t.Errorf("Wrap gives %q", wrapped)
		}
	}
}
