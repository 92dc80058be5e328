package roster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// written is a source of definitions in JSON.
func written(t *testing.T, text string) Source {
	t.Helper()
	tree, err := config.Text(config.Flags, "--agents", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return Source{Layer: config.Flags, Name: "--agents", Trusted: true, JSON: tree}
}

func TestObject(t *testing.T) {
	t.Parallel()
	r := Find(written(t, `{
		// with comments, as in settings
		"a": {
			"description": "Does it", "prompt": " Do it. ", "tools": ["Read", "Agent(a, b)"], "disallowed_tools": "Bash, Write",
			"model": "sonnet", "effort": "low", "permissionMode": "plan", "maxTurns": 3, "skills": ["one"], "memory": "local",
			"mcpServers": {"own": {"command": "x"}}, "hooks": {"Stop": []}, "background": true, "isolation": "worktree", "color": "cyan", "initialPrompt": "Go"
		},
		"b": {"description": 7, "prompt": "Do it.", "tools": []},
	}`))
	got := *get(t, r, "a")
	want := Agent{
		Name: "a", Description: "Does it", Prompt: "Do it.", Tools: []string{"Read", "Agent(a, b)"}, HasTools: true, Disallowed: []string{"Bash", "Write"},
		Model: "sonnet", Effort: "low", PermissionMode: "plan", MaxTurns: 3, Skills: []string{"one"}, Memory: "local", Background: true,
		Isolation: "worktree", Color: "cyan", InitialPrompt: "Go", Kind: KindClaude, Path: "--agents", Source: "--agents", Layer: config.Flags,
		Servers: got.Servers, Hooks: got.Hooks,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Agent{})); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	if got, want := strings.Join(strings.Fields(string(got.Servers)), ""), `[{"own":{"command":"x"}}]`; got != want {
		t.Errorf("Servers = %s, want %s", got, want)
	}
	if hooks, err := config.Text(config.Flags, "--agents", got.Hooks); err != nil || hooks.At("Stop").Here().Line != 6 {
		t.Errorf("Hooks = %s, %v, want them in line 6", got.Hooks, err)
	}
	if b := get(t, r, "b"); !b.HasTools || b.Description != "7" {
		t.Errorf("b = %+v, want no tools and the description 7", b)
	}
	if p := append(r.Problems(), r.Warnings()...); len(p) > 0 {
		t.Errorf("problems and warnings = %v, want none", p)
	}
}

func TestObjectTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text    string
		problem string
		warning string
	}{
		"no prompt":      {text: `{"description": "d"}`, problem: "1:7: a.prompt: is missing: say what the agent is to do"},
		"no description": {text: `{"prompt": "p"}`, problem: "1:7: a.description: is missing: say when the agent is to be called"},
		"no object":      {text: `"x"`, problem: "1:7: a: expected an object with a description and a prompt"},
		"tools":          {text: `{"description": "d", "prompt": "p", "tools": {"x": true}}`, problem: "1:52: a.tools: expected a list of texts, found an object"},
		"number of tool": {text: `{"description": "d", "prompt": "p", "tools": [1]}`, problem: "1:52: a.tools: expected a list of texts, found something else in it"},
		"background":     {text: `{"description": "d", "prompt": "p", "background": "yes"}`, problem: `1:57: a.background: expected true or false, found "yes"`},
		"turns":          {text: `{"description": "d", "prompt": "p", "maxTurns": 1.5}`, problem: "1:55: a.maxTurns: expected a whole number, found 1.5"},
		"prompt":         {text: `{"description": "d", "prompt": true}`, problem: "1:38: a.prompt: expected a text, found true"},
		"unknown": {
			text:    `{"description": "d", "prompt": "p", "max-turn": 1}`,
			warning: `1:55: a.max-turn: agents have no "max-turn" (did you mean maxTurns?): what stands there is ignored`,
		},
		"other name": {
			text:    `{"description": "d", "prompt": "p", "name": "x"}`,
			warning: `1:51: a.name: "x" is ignored: the agent is called "a", the name that its object stands under`,
		},
	}
	for name, tt := range tests {
		r := Find(written(t, `{"a": `+tt.text+`, "good": {"description": "d", "prompt": "p"}}`))
		get(t, r, "good")
		var problems, warnings []string
		if tt.problem != "" {
			problems = []string{"--agents:" + tt.problem}
		}
		if tt.warning != "" {
			warnings = []string{"--agents:" + tt.warning}
		}
		if diff := cmp.Diff(problems, said("", r.Problems())); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(warnings, said("", r.Warnings())); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", name, diff)
		}
	}
}

func TestObjectIsNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`[]`, `"x"`, `1`} {
		r := Find(written(t, text))
		if p := r.Problems(); len(r.List()) > 0 || len(p) != 1 || !strings.HasPrefix(p[0].Text, "expected an object of agents by name") {
			t.Errorf("%s: problems = %v, want that it is no object", text, p)
		}
	}
}
