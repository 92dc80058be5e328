package roster

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// Repositories lay their agents out in several ways.
func TestLayouts(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		".claude/agents/README.md":              "# All of them",
		".claude/agents/reviewer.md":            md("code-reviewer"),
		".claude/agents/languages/go-expert.md": md("go-expert", "tools: Read, Write"),
		".claude/agents/languages/notes.txt":    "no agent",
		".claude/agents/UPPER.MD":               md("upper"),
		".claude/agents/.git/x.md":              md("hidden"),
		".heddle/agents/own.md":                 md("own"),
		".opencode/agent/old.md":                "---\ndescription: d\nmode: subagent\n---\nDo it.",
		".opencode/agents/new.md":               "---\ndescription: d\n---\nDo it.",
		"config/opencode/agents/global.md":      "---\ndescription: d\n---\nDo it.",
	})
	s := Source{Layer: config.Project, Name: "project"}
	for _, folder := range []string{".claude/agents", ".heddle/agents", ".opencode/agent", ".opencode/agents", "config/opencode/agents/", "missing"} {
		s.Folders = append(s.Folders, filepath.Join(dir, folder))
	}
	r := Find(s)
	want := []string{"code-reviewer", "global", "go-expert", "new", "old", "own", "upper"}
	if diff := cmp.Diff(want, names(r)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if p := append(r.Problems(), r.Warnings()...); len(p) > 0 {
		t.Errorf("problems and warnings = %v, want none", p)
	}
	if got := get(t, r, "global").Kind; got != KindOpenCode {
		t.Errorf("kind of global = %q, want %q", got, KindOpenCode)
	}
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"agents/readme.md":          "# For people",
		"agents/bare.md":            "Do it.",
		"agents/unnamed.md":         "---\ndescription: d\n---\nDo it.",
		"agents/review/security.md": md("security"),
		"agents/with blank/x.md":    md("x"),
		"single.md":                 md("single"),
	})
	r := Find(Source{
		Layer: config.User, Name: "plugin p", Plugin: "p", Trusted: true, Folders: []string{filepath.Join(dir, "agents")},
		Files: []string{filepath.Join(dir, "single.md"), filepath.Join(dir, "missing.md")},
	})
	want := []string{"p:review:security", "p:single", "p:unnamed"}
	if diff := cmp.Diff(want, names(r)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	problems := []string{
		"agents/bare.md:1:1: description: is missing: say when the agent is to be called",
		`agents/with blank: the folder is part of the name of the agent: "with blank" is no name of an agent: use letters, digits and hyphens, as in with-blank`,
		"missing.md: cannot read it: no such file or directory",
	}
	if diff := cmp.Diff(problems, said(dir, r.Problems())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if got := get(t, r, "p:single").Plugin; got != "p" {
		t.Errorf("plugin = %q, want p", got)
	}
}

// One file by two paths is one agent.
func TestFileByTwoPaths(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"a/x.md": md("x")})
	file := filepath.Join(dir, "a/x.md")
	r := Find(Source{Name: "one", Files: []string{file}}, Source{Name: "two", Folders: []string{filepath.Join(dir, "a")}})
	if got := get(t, r, "x").Source; got != "two" || len(r.Shadowed()) > 0 {
		t.Errorf("x is of %s, shadowed %v, want it of two and nothing shadowed", got, r.Shadowed())
	}
}
