package skill

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// tree writes files, named by their paths with slashes, and returns their folder.
func tree(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// of is the source of a folder with skills and commands.
func of(layer config.Layer, dir string) Source {
	return Source{
		Layer: layer, Name: string(layer), Trusted: true,
		Skills: []string{filepath.Join(dir, "skills")}, Commands: []string{filepath.Join(dir, "commands")},
	}
}

func get(t *testing.T, c *Catalog, name string) *Skill {
	t.Helper()
	s, ok := c.Get(name)
	if !ok {
		t.Fatalf("Get(%s) = nothing; there are %q, problems %v", name, calls(c), c.Problems())
	}
	return s
}

func calls(c *Catalog) []string {
	var out []string
	for _, s := range c.List() {
		out = append(out, s.Name)
	}
	return out
}

// said are problems without the folder that all files are in.
func said(dir string, problems []*config.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, strings.ReplaceAll(p.Error(), dir+string(filepath.Separator), ""))
	}
	return out
}

func TestFindReadsFrontMatter(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"skills/deploy/SKILL.md": `---
name: deploy
description: Brings it to
  production
when_to_use: When asked
argument-hint: [stage] [version]
arguments: stage version 1st
allowed-tools: Bash(git *) Read
disallowedTools: Write, Agent(a, b)
model: opus
effort: high
context: fork
agent: Explore
background: no
disable-model-invocation: yes
user-invocable: "off"
hooks:
  Stop:
    - hooks: []
license: MIT
---
Do it.
`})
	c := Find(of(config.Project, dir))
	s := get(t, c, "deploy")
	got := *s
	got.vars, got.files = nil, files{}
	want := Skill{
		Name: "deploy", Description: "Brings it to production", WhenToUse: "When asked", ArgumentHint: "[stage] [version]",
		Arguments: []string{"stage", "version", ""}, Allowed: []string{"Bash(git *)", "Read"}, Disallowed: []string{"Write", "Agent(a, b)"},
		Model: "opus", Effort: "high", Fork: true, Agent: "Explore", Hooks: got.Hooks,
		Dir: filepath.Join(dir, "skills/deploy"), Path: filepath.Join(dir, "skills/deploy/SKILL.md"), Source: "project", Layer: config.Project,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Skill{}, files{})); diff != "" {
		t.Errorf("skill (-want +got):\n%s", diff)
	}
	hooks, err := config.Text(s.Layer, s.Path, s.Hooks)
	if err != nil || hooks.At("Stop").Here().Line != 18 {
		t.Errorf("hooks = %s, %v, want Stop in line 18", s.Hooks, err)
	}
	if diff := cmp.Diff([]string{
		"skills/deploy/SKILL.md:6:1: argument-hint: the value is not valid YAML and was read as plain text: put it in quotes",
		`skills/deploy/SKILL.md:7:1: arguments: "1st" cannot be the name of an argument: use letters, digits and underscores`,
	}, said(dir, c.Warnings())); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"skills/plain/SKILL.md": "# Plain skill\n\nWhat it does,\nin two lines.\n\nMore.\n",
		"commands/title.md":     "# Only a title",
		"commands/a/b.md":       "---\nargument-hint: [file, line]\n---\nNested",
		"commands/empty.md":     "",
	})
	c := Find(of(config.User, dir))
	if diff := cmp.Diff([]string{"a:b", "empty", "plain", "title"}, calls(c)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	s := get(t, c, "plain")
	if s.Description != "What it does, in two lines." || !s.ModelMayCall || !s.UserMayCall || !s.Background || s.Command {
		t.Errorf("skill without front matter = %+v", s)
	}
	if s := get(t, c, "title"); s.Description != "Only a title" || !s.Command {
		t.Errorf("command with a title = %+v", s)
	}
	if s := get(t, c, "a:b"); s.ArgumentHint != "[file, line]" {
		t.Errorf("hint = %q, want it as written", s.ArgumentHint)
	}
	if p := append(c.Problems(), c.Warnings()...); len(p) > 0 {
		t.Errorf("problems = %v, want none", p)
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	user := tree(t, map[string]string{
		"skills/one/SKILL.md": "user", "skills/two/SKILL.md": "user", "skills/help/SKILL.md": "user", "commands/three.md": "user",
	})
	project := tree(t, map[string]string{
		"skills/one/SKILL.md": "project", "other/one/SKILL.md": "other", "commands/two.md": "project", "commands/three.md": "project", "commands/about.md": "project",
	})
	p := of(config.Project, project)
	p.Skills = append(p.Skills, filepath.Join(project, "other"))
	bundled := Source{Name: "heddle", Skills: []string{"skills"}, Trusted: true, FS: fstest.MapFS{
		"skills/help/SKILL.md":  {Data: []byte("bundled")},
		"skills/about/SKILL.md": {Data: []byte("bundled")},
		"skills/only/SKILL.md":  {Data: []byte("bundled")},
	}}
	c := Find(bundled, of(config.User, user), p)
	got := map[string]string{}
	for _, s := range c.List() {
		got[s.Name] = s.Description
	}
	want := map[string]string{"one": "other", "two": "user", "three": "project", "help": "user", "about": "project", "only": "bundled"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("found (-want +got):\n%s", diff)
	}
	var shadowed []Shadow
	for _, s := range c.Shadowed() {
		for dir, name := range map[string]string{user: "user", project: "project"} {
			s.Path, s.By = strings.Replace(s.Path, dir, name, 1), strings.Replace(s.By, dir, name, 1)
		}
		shadowed = append(shadowed, s)
	}
	if diff := cmp.Diff([]Shadow{
		{"about", "skills/about/SKILL.md", "project/commands/about.md"},
		{"help", "skills/help/SKILL.md", "user/skills/help/SKILL.md"},
		{"one", "project/skills/one/SKILL.md", "project/other/one/SKILL.md"},
		{"one", "user/skills/one/SKILL.md", "project/other/one/SKILL.md"},
		{"three", "user/commands/three.md", "project/commands/three.md"},
		{"two", "project/commands/two.md", "user/skills/two/SKILL.md"},
	}, shadowed); diff != "" {
		t.Errorf("shadowed (-want +got):\n%s", diff)
	}
}

func TestPlugin(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"1.2.0/SKILL.md": "---\nname: review\n---\nx", "1.2.0/skills/inner/SKILL.md": "not seen", "commands/go.md": "x"})
	c := Find(Source{Name: "plugin kit", Plugin: "kit", Skills: []string{filepath.Join(dir, "1.2.0")}, Commands: []string{filepath.Join(dir, "commands")}})
	if diff := cmp.Diff([]string{"kit:go", "kit:review"}, calls(c)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for asked, want := range map[string]string{"review": "kit:review", "kit:reviw": "kit:review", "zzz": "", "": ""} {
		if got := c.Suggest(asked); got != want {
			t.Errorf("Suggest(%q) = %q, want %q", asked, got, want)
		}
	}
}

func TestUntrusted(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"commands/x.md": "---\nallowed-tools: Bash\ndisallowed-tools: Write\nhooks: {Stop: []}\n---\n"})
	source := of(config.Project, dir)
	source.Trusted = false
	c := Find(source)
	s := get(t, c, "x")
	if len(s.Allowed) > 0 || s.Hooks != nil || len(s.Disallowed) != 1 {
		t.Errorf("untrusted = %+v, want nothing that widens what is allowed", s)
	}
	if diff := cmp.Diff([]string{
		"commands/x.md:2:1: allowed-tools: is ignored, because the files of project are not trusted",
		"commands/x.md:4:1: hooks: are ignored, because the files of project are not trusted",
	}, said(dir, c.Warnings())); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		front    string
		skipped  bool
		messages []string
	}{
		{"allowed-tools: {Bash: true}", true, []string{"skills/x/SKILL.md:2:1: allowed-tools: expected a list, found a map"}},
		{"disallowed-tools: [[Bash]]", true, []string{"skills/x/SKILL.md:2:1: disallowed-tools: expected a list of texts, found a list"}},
		{"disable-model-invocation: maybe", true, []string{`skills/x/SKILL.md:2:1: disable-model-invocation: expected true or false, found "maybe"`}},
		{"user-invocable: [no]", true, []string{"skills/x/SKILL.md:2:1: user-invocable: expected true or false, found a list"}},
		{"context: thread", true, []string{`skills/x/SKILL.md:2:1: context: expected fork, found "thread"`}},
		{"hooks: yes", true, []string{"skills/x/SKILL.md:2:1: hooks: expected a map of events"}},
		{"description: [", false, []string{"skills/x/SKILL.md:2:1: description: the value is not valid YAML and was read as plain text: put it in quotes"}},
		{"a\nb", true, []string{"skills/x/SKILL.md:2:1: expected lines of the form KEY: VALUE, found a text"}},
		{"effort: extreme", false, []string{`skills/x/SKILL.md:2:1: effort: "extreme" is ignored: expected low, medium, high, xhigh or max`}},
		{"model: {a: b}", false, []string{"skills/x/SKILL.md:2:1: model: expected a text, found a map; it is ignored"}},
		{"background: perhaps", false, []string{`skills/x/SKILL.md:2:1: background: expected true or false, found "perhaps"; it is ignored`}},
		{"name: other", false, []string{`skills/x/SKILL.md:2:1: name: "other" is not the name of the folder, "x", which is what the skill is called by: make them the same`}},
	} {
		t.Run(c.front, func(t *testing.T) {
			t.Parallel()
			dir := tree(t, map[string]string{"skills/x/SKILL.md": "---\n" + c.front + "\n---\nBody", "skills/ok/SKILL.md": "fine"})
			found := Find(of(config.Project, dir))
			get(t, found, "ok")
			if _, ok := found.Get("x"); ok == c.skipped {
				t.Errorf("found = %t, want %t", ok, !c.skipped)
			}
			problems := found.Warnings()
			if c.skipped {
				problems = found.Problems()
			}
			if diff := cmp.Diff(c.messages, said(dir, problems)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"skills/Ünder_score/SKILL.md": "x", "skills/two words/SKILL.md": "x", "skills/a:b/SKILL.md": "x", "skills/new\nline/SKILL.md": "x", "skills/.hidden/SKILL.md": "x",
		"commands/a b/c.md": "x", "commands/d e.md": "x", "commands/right\u202eleft.md": "x", "commands/not.txt": "x",
	})
	c := Find(of(config.User, dir))
	if diff := cmp.Diff([]string{"Ünder_score"}, calls(c)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if got := len(c.Problems()); got != 6 {
		t.Errorf("%d problems, want 6: %v", got, c.Problems())
	}
	if got := c.Warnings(); len(got) != 1 || !strings.Contains(got[0].Text, "breaks the rule") {
		t.Errorf("warnings = %v, want that one breaks the rule", got)
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"skills/z/SKILL.md": "x", "skills/group/in/SKILL.md": "x", "elsewhere/far/SKILL.md": "x", "secret/id_rsa": "key", "commands/a.md": "x"})
	for link, to := range map[string]string{
		"skills/a": "z", "skills/far": "../elsewhere/far", "skills/group/up": "..", "skills/nowhere": "missing",
		"commands/key.md": "../secret/id_rsa", "commands/b.md": "a.md", "commands/.#a.md": "me@host",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "skills/pipe"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "skills/pipe/SKILL.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Find(of(config.Project, dir))
	if diff := cmp.Diff([]string{"a", "far", "in", "z"}, calls(c)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"skills/pipe/SKILL.md: cannot read it: expected a regular file",
		"commands/key.md: it is a link to secret/id_rsa, which is not a Markdown file",
		"skills/nowhere: cannot follow the link: no such file or directory",
	}, said(dir, c.Problems())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"skills/group/up: the link leads to skills, which was read already, and was left out",
		"skills/a: the link leads to skills/z, which was read already, and was left out",
	}, said(dir, c.Warnings())); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got, want := len(c.Shadowed()), 1; got != want { // b.md is a.md
		t.Errorf("shadowed = %v, want %d", c.Shadowed(), want)
	}
}

// A folder that is linked to from another one, as people do for several programs, is
// nothing to tell of.
func TestLinkedFolder(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"skills/z/SKILL.md": "x"})
	if err := os.Symlink("skills", filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	source := of(config.Project, dir)
	again := Source{Name: "again", Skills: []string{filepath.Join(dir, "again")}}
	c := Find(source, again)
	if diff := cmp.Diff([]string{"z"}, calls(c)); diff != "" || len(c.Shadowed())+len(c.Problems())+len(c.Warnings()) > 0 {
		t.Errorf("names (-want +got):\n%s, shadowed %v, problems %v, warnings %v", diff, c.Shadowed(), c.Problems(), c.Warnings())
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	many := map[string]string{"skills/1/2/3/4/5/6/7/8/9/SKILL.md": "too deep", "skills/1/2/3/4/5/6/7/ok/SKILL.md": "x"}
	dir := tree(t, many)
	commands := filepath.Join(dir, "commands")
	if err := os.Mkdir(commands, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range maxFiles + 1 {
		if err := os.WriteFile(filepath.Join(commands, strings.Repeat("x", i%100+1)+strings.Repeat("y", i/100)+".md"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := Find(of(config.User, dir))
	get(t, c, "ok")
	got := said(dir, c.Problems())
	want := []string{
		"skills/1/2/3/4/5/6/7/8/9: the folder is more than 8 folders deep and was left out",
		"commands: there are more than 2000 files; some of this folder were left out",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestMissingAndUnreadableFolders(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"skills": "a file"})
	c := Find(of(config.User, dir))
	if diff := cmp.Diff([]string{"skills: cannot read the folder: not a directory"}, said(dir, c.Problems())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

// TestCommandFile holds that a source may name a single file, as plugins do.
func TestCommandFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "special.md")
	if err := os.WriteFile(path, []byte("Do it."), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Find(Source{Name: "plugin p", Plugin: "p", Commands: []string{path}})
	if _, ok := c.Get("p:special"); !ok || len(c.Problems()) > 0 {
		t.Errorf("the command is not there: %v", c.Problems())
	}
}
