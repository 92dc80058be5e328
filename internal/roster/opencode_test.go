package roster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// openCode is the project of a folder that holds OpenCode's.
func openCode(t *testing.T, texts map[string]string) (*Roster, string) {
	t.Helper()
	dir := tree(t, texts)
	return Find(Source{Name: "project", Trusted: true, Folders: []string{filepath.Join(dir, ".opencode/agent"), filepath.Join(dir, ".opencode/agents")}}), dir
}

func TestOpenCode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		front    string
		want     Agent
		warnings []string
		problem  string
	}{
		"plain": {
			front: "name: other\nmode: subagent\nmodel: anthropic/claude-x\ntemperature: 0.1\nmaxSteps: 5\ncolor: \"#ff0000\"\nreasoningEffort: high",
			want:  Agent{Model: "anthropic/claude-x", MaxTurns: 5, Effort: "high"},
		},
		"primary":        {front: "mode: primary", want: Agent{Hidden: true}},
		"hidden":         {front: "hidden: true\nsteps: 3", want: Agent{Hidden: true, MaxTurns: 3}},
		"tools":          {front: "tools:\n  write: false\n  edit: false\n  bash: true\n  mymcp_*: false\n  mymcp_get: false", want: Agent{Disallowed: []string{"Write", "Edit", "NotebookEdit", "mcp__mymcp__*", "mcp__mymcp__get"}}},
		"only some":      {front: "tools:\n  read: true\n  \"*\": false\n  task: true", want: Agent{HasTools: true, Tools: []string{"Read", "Agent"}}},
		"strange tool":   {front: "tools: {teleport: false}", warnings: []string{`4:1: tools: there is no tool "teleport" here, so it is ignored`}},
		"tools as list":  {front: "tools: [Read]", problem: "4:1: tools: expected a map by names of tools"},
		"tools of words": {front: "tools: {read: perhaps}", problem: `4:1: tools: expected true or false for "read"`},
		"permission":     {front: "permission:\n  edit: deny\n  webfetch: ask\n  bash: allow\n  doom_loop: deny", want: Agent{Disallowed: []string{"Edit", "Write", "NotebookEdit"}}},
		"denied but": {
			front: "permission:\n  bash:\n    \"*\": deny\n    \"git *\": allow", want: Agent{Disallowed: []string{"Bash"}},
			warnings: []string{`4:1: permission: "bash" is denied altogether: exceptions are not kept to here`},
		},
		"allowed but": {
			front:    "permission:\n  bash:\n    \"rm *\": deny",
			warnings: []string{`4:1: permission: what is denied of "bash" is not kept to here: add a permission rule for it`},
		},
		"all denied":          {front: "permission: deny", want: Agent{HasTools: true}},
		"all allowed":         {front: "permission: allow"},
		"all denied but":      {front: "permission:\n  bash: allow\n  \"*\": deny\n  read: allow\n  grep: deny", want: Agent{HasTools: true, Tools: []string{"Read"}, Disallowed: []string{"Grep"}}},
		"agents":              {front: "permission:\n  task:\n    \"*\": deny\n    \"review-*\": allow", want: Agent{limited: true, only: []string{"review-*"}}},
		"no agents":           {front: "permission: {task: deny}", want: Agent{limited: true, Disallowed: []string{"Agent"}}},
		"all agents but":      {front: "permission:\n  task:\n    danger: deny", want: Agent{Disallowed: []string{"Agent(danger)"}}},
		"strange action":      {front: "permission: {bash: perhaps}", problem: `4:1: permission: expected allow, ask, deny, or a map of patterns with these, for "bash"`},
		"strange pattern":     {front: "permission: {bash: {x: [deny]}}", problem: `4:1: permission: expected allow, ask, deny, or a map of patterns with these, for "bash"`},
		"strange permissions": {front: "permission: [deny]", problem: "4:1: permission: expected a map by names of tools"},
		"strange mode":        {front: "mode: main", problem: `4:1: mode: expected primary, subagent or all, found "main"`},
	}
	for name, tt := range tests {
		r, dir := openCode(t, map[string]string{".opencode/agent/sub/x.md": "---\ndescription: Does it\n\n" + tt.front + "\n---\nDo it.\n", ".opencode/agents/good.md": "---\ndescription: d\n---\n"})
		get(t, r, "good")
		at := ".opencode/agent/sub/x.md:"
		if tt.problem != "" {
			if diff := cmp.Diff([]string{at + tt.problem}, said(dir, r.Problems())); diff != "" {
				t.Errorf("%s: problems (-want +got):\n%s", name, diff)
			}
			continue
		}
		tt.want.Name, tt.want.Description, tt.want.Prompt, tt.want.Kind, tt.want.Source = "x", "Does it", "Do it.", KindOpenCode, "project"
		if diff := cmp.Diff(tt.want, *get(t, r, "x"), cmp.AllowUnexported(Agent{}), cmpopts.IgnoreFields(Agent{}, "Path")); diff != "" {
			t.Errorf("%s: agent (-want +got):\n%s", name, diff)
		}
		var warnings []string
		for _, w := range tt.warnings {
			warnings = append(warnings, at+w)
		}
		if diff := cmp.Diff(warnings, said(dir, r.Warnings())); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", name, diff)
		}
	}
}

func TestOpenCodeLeavesOut(t *testing.T) {
	t.Parallel()
	r, _ := openCode(t, map[string]string{
		".opencode/agent/off.md":  "---\ndescription: d\ndisable: true\n---\n",
		".opencode/agent/note.md": "A note.",
		".opencode/agent/main.md": "---\nmode: primary\n---\n",
	})
	if diff := cmp.Diff([]string{"main"}, names(r)); diff != "" || len(r.Problems()) > 0 {
		t.Errorf("problems %v, names (-want +got):\n%s", r.Problems(), diff)
	}
	if got := r.Listing(1000); got != "" {
		t.Errorf("Listing = %q, want nothing: a primary agent is for people", got)
	}
}

// A prompt can be in a file of OpenCode's folder, and nowhere else.
func TestOpenCodePromptFile(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".opencode/prompts/good.txt": "From a file.\n", "secret": "key", ".opencode/prompts/binary": "a\x00b",
	})
	if err := os.Symlink("../../secret", filepath.Join(dir, ".opencode/prompts/link")); err != nil {
		t.Fatal(err)
	}
	agents := filepath.Join(dir, ".opencode/agents")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct{ prompt, want, problem string }{
		"text":    {prompt: "Do it", want: "Do it"},
		"file":    {prompt: "{file:../prompts/good.txt}", want: "From a file."},
		"outside": {prompt: "{file:../../secret}", problem: "it must lie in"},
		"whole":   {prompt: "{file:" + filepath.Join(dir, "secret") + "}", problem: "it must lie in"},
		"link":    {prompt: "{file:../prompts/link}", problem: "path escapes from parent"},
		"binary":  {prompt: "{file:../prompts/binary}", problem: "it is not text in UTF-8"},
		"folder":  {prompt: "{file:../prompts}", problem: "expected a text file of at most 1 MiB"},
		"missing": {prompt: "{file:x.txt}", problem: "no such file"},
		"open":    {prompt: "{file:x.txt", problem: "expected {file:NAME}"},
	}
	for name, tt := range tests {
		path := filepath.Join(agents, name+".md")
		if err := os.WriteFile(path, []byte("---\ndescription: d\nprompt: \""+tt.prompt+"\"\n---\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Find(Source{Name: "project", Folders: []string{agents}})
	for name, tt := range tests {
		if tt.problem == "" {
			if got := get(t, r, name).Prompt; got != tt.want {
				t.Errorf("%s: prompt = %q, want %q", name, got, tt.want)
			}
			continue
		}
		found := ""
		for _, p := range r.Problems() {
			if filepath.Base(p.File) == name+".md" {
				found = p.Text
			}
		}
		if !strings.Contains(found, tt.problem) || strings.Contains(found, "key") {
			t.Errorf("%s: problem = %q, want %q in it", name, found, tt.problem)
		}
	}
}
