package hook

import (
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

const goodFile = `{
  "PreToolUse": [{"matcher": "Edit|Write", "hooks": [
    {"type": "command", "command": "./check.sh", "timeout": 0.5, "if": "Bash(git *)"},
    {"type": "command", "command": "prog", "args": [], "async": true}
  ]}],
  "Stop": [{"hooks": [
    {"type": "prompt", "prompt": "Done? $ARGUMENTS", "model": "small"},
    {"type": "http", "url": "https://example.com/${CLAUDE_PLUGIN_ROOT}", "headers": {"A": "$TOKEN"}, "allowedEnvVars": ["TOKEN"]},
    {"type": "mcp_tool", "server": "s", "tool": "t", "input": {"a": "${cwd}"}}
  ]}]
}`

func TestRead(t *testing.T) {
	t.Parallel()
	hooks, problems, warnings := Read(layers(t, goodFile), "plugin p", map[string]string{"CLAUDE_PLUGIN_ROOT": "/p"})
	if len(problems)+len(warnings) > 0 {
		t.Fatalf("problems %v, warnings %v", problems, warnings)
	}
	env := []string{"CLAUDE_PLUGIN_ROOT=/p", "HEDDLE_PLUGIN_ROOT=/p"}
	at := func(line, column int) config.Origin {
		return config.Origin{Layer: config.Project, File: "hooks.json", Line: line, Column: column}
	}
	want := []Hook{
		{Event: PreToolUse, Matcher: "Edit|Write", Kind: Command, Command: "./check.sh", Timeout: time.Second / 2, If: "Bash(git *)", Origin: at(3, 5)},
		{Event: PreToolUse, Matcher: "Edit|Write", Kind: Command, Command: "prog", Args: []string{}, Async: true, Origin: at(4, 5)},
		{Event: Stop, Kind: Prompt, Prompt: "Done? $ARGUMENTS", Model: "small", Origin: at(7, 5)},
		{
			Event: Stop, Kind: HTTP, URL: "https://example.com/${CLAUDE_PLUGIN_ROOT}",
			Headers: map[string]string{"A": "$TOKEN"}, AllowedEnv: []string{"TOKEN"}, Origin: at(8, 5),
		},
		{Event: Stop, Kind: MCPTool, Server: "s", Tool: "t", Input: []byte(`{"a":"${cwd}"}`), Origin: at(9, 5)},
	}
	for i := range want {
		want[i].Env, want[i].Source = env, "plugin p"
	}
	if diff := cmp.Diff(want, hooks); diff != "" {
		t.Error(diff)
	}
}

// Each bad entry is told, and costs the good one beside it nothing.
func TestReadBadEntries(t *testing.T) {
	t.Parallel()
	inStop := func(hook string) string { return `{"Stop": [{"hooks": [` + hook + `, GOOD]}]}` }
	for _, c := range []struct{ name, text, problem, warning string }{
		{"unknown event", `{"PreTolUse": [], "Stop": [{"hooks": [GOOD]}]}`, `hooks.json:1:15: there is no event "PreTolUse"; did you mean PreToolUse?`, ""},
		{"strange event", `{"Whatever": [], "Stop": [{"hooks": [GOOD]}]}`, `there is no event "Whatever"; its hooks never run`, ""},
		{"event without meaning", `{"Setup": [{"hooks": [GOOD]}]}`, "", "Setup does not happen in this version"},
		{"event of the wrong type", `{"PreToolUse": "x", "Stop": [{"hooks": [GOOD]}]}`, "PreToolUse: write a list of groups", ""},
		{"group of the wrong type", `{"Stop": [null, {"hooks": [GOOD]}]}`, "expected an object, found null", ""},
		{"group without hooks", `{"Stop": [{"matcher": "*"}, {"hooks": [GOOD]}]}`, `a group needs "hooks"`, ""},
		{"hooks of the wrong type", `{"Stop": [{"hooks": {}}, {"hooks": [GOOD]}]}`, `a group needs "hooks"`, ""},
		{"unknown key of a group", `{"Stop": [{"matchr": "*", "hooks": [GOOD]}]}`, "", `matchr: unknown setting; did you mean "matcher"?`},
		{"matcher without use", `{"Stop": [{"matcher": "x", "hooks": [GOOD]}]}`, "", "Stop has nothing to compare a matcher with"},
		{"bad matcher", `{"PreToolUse": [{"matcher": "a(", "hooks": [1]}, {"hooks": [GOOD]}]}`, `hooks.json:1:29: the matcher "a(" is no regular expression: missing closing )`, ""},
		{"matcher of no name", `{"PreToolUse": [{"matcher": " | ,", "hooks": [1]}, {"hooks": [GOOD]}]}`, `the matcher "| ," names nothing`, ""},
		{"look-around", `{"PreToolUse": [{"matcher": "^(?!Bash)", "hooks": [1]}, {"hooks": [GOOD]}]}`, "look-around, as in (?!, is not known to RE2", ""},
		{"hook of the wrong type", inStop(`"x"`), "expected an object, found a string", ""},
		{"no type", inStop(`{"command": "x"}`), `a hook needs "type"`, ""},
		{"unknown type", inStop(`{"type": "comand"}`), `the type "comand" is not known`, ""},
		{"agent", inStop(`{"type": "agent", "prompt": "x"}`), "", `"agent" are not supported`},
		{"field of the wrong type", inStop(`{"type": "command", "command": 5}`), "command: expected a string, found a number", ""},
		{"unknown field", inStop(`{"type": "agent", "timout": 5}`), "", `timout: unknown setting; did you mean "timeout"?`},
		{"no command", inStop(`{"type": "command", "command": " "}`), `needs "command"`, ""},
		{"zero byte", inStop(`{"type": "command", "command": "a\u0000"}`), "zero byte", ""},
		{"shell", inStop(`{"type": "command", "command": "x", "shell": "powershell"}`), `the shell "powershell" is not supported`, ""},
		{"timeout", inStop(`{"type": "command", "command": "x", "timeout": 0}`), "a number of seconds above 0", ""},
		{"negative timeout", inStop(`{"type": "command", "command": "x", "timeout": -1}`), "a number of seconds above 0", ""},
		{"no url", inStop(`{"type": "http"}`), `needs "url"`, ""},
		{"bad url", inStop(`{"type": "http", "url": "file:///etc/passwd"}`), "begins with http:// or https://", ""},
		{"no tool", inStop(`{"type": "mcp_tool", "server": "x"}`), `needs "server" and "tool"`, ""},
		{"bad input", inStop(`{"type": "mcp_tool", "server": "x", "tool": "y", "input": [1]}`), `"input" is what the tool gets`, ""},
		{"no prompt", inStop(`{"type": "prompt"}`), `needs "prompt"`, ""},
		{"rule without a call", inStop(`{"type": "command", "command": "x", "if": "Bash"}`), "", "the hook never runs"},
		{"prompt for an event that decides nothing", `{"SessionEnd": [{"hooks": [{"type": "prompt", "prompt": "x"}, GOOD]}]}`, "nothing for a model to decide", ""},
		{"request at the start", `{"SessionStart": [{"hooks": [{"type": "http", "url": "http://x"}, GOOD]}]}`, `only hooks of type "command" and "mcp_tool"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(c.text, "GOOD", `{"type": "command", "command": "good"}`)
			hooks, problems, warnings := Read(layers(t, text), "", nil)
			if len(hooks) != 1 || hooks[0].Command != "good" {
				t.Errorf("Read(%s) = %+v, want the good hook", text, hooks)
			}
			expect(t, "problem", problems, c.problem)
			expect(t, "warning", warnings, c.warning)
		})
	}
}

// expect checks that there is one problem that contains want, or none if that is empty.
func expect(t *testing.T, what string, got []*config.Problem, want string) {
	t.Helper()
	for _, p := range got {
		if p.Line == 0 || want == "" {
			t.Errorf("%s %v, want a place and %q", what, p, want)
		}
	}
	if want != "" && (len(got) == 0 || !strings.Contains(fmt.Sprint(got), want)) {
		t.Errorf("%ss %v, want %q", what, got, want)
	}
}

func TestReadNothing(t *testing.T) {
	t.Parallel()
	for _, l := range []*config.Layers{nil, layers(t, ""), layers(t, "{}")} {
		if hooks, problems, warnings := Read(l, "", nil); len(hooks)+len(problems)+len(warnings) > 0 {
			t.Errorf("Read of nothing = %v, %v, %v", hooks, problems, warnings)
		}
	}
	for _, text := range []string{"[]", "5", "null", `"x"`} {
		hooks, problems, _ := Read(layers(t, text), "", nil)
		if len(hooks) > 0 || len(problems) != 1 {
			t.Errorf("Read(%s) = %v, %v, want one problem", text, hooks, problems)
		}
	}
}

// A file with one value replaced by another is read, or told of with a place.
func TestReadBrokenFiles(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewSource(1))
	values := []string{`null`, `5`, `-1e400`, `"("`, `{}`, `[]`, `[[]]`, `{"x": null}`, `true`, `""`, `"\u0000"`, `{"type": "agent"}`}
	for range 200 {
		text := goodFile
		start := random.Intn(len(text))
		at := strings.IndexAny(text[start:], `"[{`)
		if at < 0 {
			continue
		}
		at += start
		text = text[:at] + values[random.Intn(len(values))] + text[at+1+random.Intn(min(20, len(text)-at)):]
		l, err := config.Text(config.Project, "hooks.json", []byte(text))
		if err != nil && !strings.Contains(err.Error(), "hooks.json:") {
			t.Errorf("the error has no place: %v", err)
		}
		if l == nil {
			continue // not JSON at all
		}
		_, problems, warnings := Read(l, "", nil)
		for _, p := range append(problems, warnings...) {
			if p.Line == 0 || p.Text == "" {
				t.Errorf("Read(%s): %v has no place or no text", text, p)
			}
		}
	}
}

// Every field of a hook, and of the group around it, with values of all types: whatever
// becomes of the hook, its neighbours are there, and what is told has a place.
func TestReadBrokenHooks(t *testing.T) {
	t.Parallel()
	const good = `{"type": "command", "command": "good"}`
	fields := []string{
		"type", "if", "timeout", "statusMessage", "once", "command", "args", "async", "asyncRewake", "shell", "url", "headers",
		"allowedEnvVars", "server", "tool", "input", "prompt", "model", "continueOnBlock", "unknown", "",
	}
	values := []string{`null`, `5`, `-1`, `1e400`, `true`, `"\u0000("`, `"agent"`, `[]`, `[1, null]`, `{}`, `{"a": {"b": []}}`}
	bad := []string{`null`, `[]`, `5`, `""`}
	for _, f := range fields {
		for _, v := range values {
			for _, kind := range []string{"command", "http", "mcp_tool", "prompt"} {
				bad = append(bad, fmt.Sprintf(`{%q: %s, "type": %q}`, f, v, kind))
			}
		}
	}
	groups := append([]string{}, values...)
	for _, v := range values {
		groups = append(groups, `{"matcher": `+v+`, "hooks": []}`, `{"hooks": `+v+`}`, `{"hooks": [], "description": `+v+`}`)
	}
	check := func(format, broken string) {
		text := strings.ReplaceAll(fmt.Sprintf(format, broken), "GOOD", good)
		l, err := config.Text(config.Project, "hooks.json", []byte(text))
		if l == nil {
			t.Fatalf("%s: %v", text, err)
		}
		hooks, problems, warnings := Read(l, "", nil)
		n := 0
		for _, h := range hooks {
			if h.Command == "good" {
				n++
			}
		}
		if n != 3 {
			t.Errorf("Read(%s): %d of 3 good hooks are there", text, n)
		}
		for _, p := range append(problems, warnings...) {
			if !strings.HasPrefix(p.Error(), "hooks.json:1:") || p.Text == "" {
				t.Errorf("Read(%s): %v has no place or no text", text, p)
			}
		}
	}
	for _, b := range bad {
		check(`{"PreToolUse": [{"hooks": [GOOD, %s, GOOD]}], "Stop": [{"hooks": [GOOD]}]}`, b)
	}
	for _, g := range groups {
		check(`{"PreToolUse": [{"hooks": [GOOD]}, %s, {"hooks": [GOOD]}], "Stop": [{"hooks": [GOOD]}]}`, g)
	}
	for _, v := range values {
		check(`{"PreToolUse": [{"hooks": [GOOD, GOOD]}], "Notification": %s, "": 5, "Stop": [{"hooks": [GOOD]}]}`, v)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(goodFile)
	f.Add(`{"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": 1e300, "args": null}]}]}`)
	f.Add(`{"PreToolUse": [{"matcher": "(?P<n>a{1000})", "hooks": [{"type": "http", "url": "http://%"}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		l, _ := config.Text(config.User, "f", []byte(text))
		hooks, problems, warnings := Read(l, "s", map[string]string{"A": "b"})
		for _, h := range hooks {
			if _, err := newMatcher(h.Event, h.Matcher); err != nil || h.limit() <= 0 {
				t.Errorf("hook %+v: matcher %v, limit %v", h, err, h.limit())
			}
		}
		for _, p := range append(problems, warnings...) {
			if p.Line == 0 {
				t.Errorf("%v has no place", p)
			}
		}
		if n := len(Dedupe(append(hooks, hooks...))); n > len(hooks) {
			t.Errorf("%d of %d hooks are different when each is there twice", n, len(hooks))
		}
	})
}

func TestDedupe(t *testing.T) {
	t.Parallel()
	a, b, other := sh(Stop, "x"), sh(Stop, "x"), sh(Stop, "x")
	b.Origin.Line, b.Source = 99, "elsewhere"
	other.Args = []string{} // no shell: another thing
	if got := Dedupe([]Hook{a, b, other}); len(got) != 2 || got[0].Origin != a.Origin || got[1].Args == nil {
		t.Errorf("Dedupe = %+v, want the first and the one without a shell", got)
	}
}
