package attach

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/config"
	"heddle/internal/hook"
	"heddle/internal/message"
	"heddle/internal/permission"
	"heddle/internal/skill"
	"heddle/internal/tool"
)

// bench is a project with commands.
type bench struct {
	t   *testing.T
	dir string // holds .heddle
	CommandOptions
}

func newBench(t *testing.T, rules permission.Settings) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gate := permission.NewGate(rules, nil)
	pool, err := tool.NewPool(read(), bash())
	if err != nil {
		t.Fatal(err)
	}
	pool = pool.Wrap(gate.Middleware)
	return &bench{t, dir, CommandOptions{
		Vars: func() skill.Vars { return skill.Vars{} }, Pool: func() *tool.Pool { return pool },
		Scope: tool.NewScope(dir, filepath.Join(dir, "spill")), Gate: gate,
		Runner: hook.NewRunner(hook.Options{Dir: dir, Tell: func(text string) { t.Log(text) }}, nil),
		Rules:  func(s *skill.Skill) permission.Source { return permission.Source{Name: s.Path, Anchor: dir} },
		Tell:   func(text string) { t.Errorf("told %s", text) },
	}}
}

func (b *bench) write(path, text string) {
	b.t.Helper()
	path = filepath.Join(b.dir, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// commands finds what was written, as the user's own.
func (b *bench) commands(layer config.Layer) *Commands {
	b.Catalog = skill.Find(skill.Source{
		Layer: layer, Name: "test", Trusted: true,
		Skills: []string{filepath.Join(b.dir, "skills")}, Commands: []string{filepath.Join(b.dir, "commands")},
	})
	for _, p := range b.Catalog.Problems() {
		b.t.Error(p)
	}
	return NewCommands(b.CommandOptions)
}

func TestImagesOfCommandsAreSeen(t *testing.T) {
	t.Parallel()
	b := newBench(t, permission.Settings{})
	b.write("dot.png", "a dot")
	b.write("commands/look.md", "See @dot.png and @commands and @missing.png.")
	x, ok, err := b.commands(config.User).Expand(t.Context(), "look", "")
	if err != nil || !ok {
		t.Fatalf("Expand = %v, %v", ok, err)
	}
	images, text := 0, ""
	for _, c := range x.Content {
		switch c := c.(type) {
		case message.Image:
			if images++; c.Data != "a dot" {
				t.Errorf("the image is %q", c.Data)
			}
		case message.Text:
			text += c.Text
		}
	}
	if images != 1 || !strings.Contains(text, "See @dot.png\n<file path=") || !strings.Contains(text, "and @commands and @missing.png.") {
		t.Errorf("%d images, and %q", images, text)
	}
}

func TestWhatCommandsMayNotDo(t *testing.T) {
	t.Parallel()
	b := newBench(t, permission.Settings{Deny: rule(t, "Read(secret.txt)"), Ask: rule(t, "Bash(ls *)")})
	b.write("secret.txt", "hush")
	if err := os.Symlink("secret.txt", filepath.Join(b.dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	b.write("commands/file.md", "@secret.txt")
	b.write("commands/link.md", "@link.txt")
	b.write("commands/cat.md", "!`cat secret.txt`")
	b.write("commands/argument.md", "!`cat $0`")
	b.write("commands/asks.md", "---\nallowed-tools: Bash(ls *)\n---\n!`ls`")
	b.write("commands/silent.md", "---\nuser-invocable: false\n---\nx")
	b.write("commands/rules.md", "---\nallowed-tools: Bash(ls\n---\nx")
	c := b.commands(config.User)
	for _, test := range []struct{ name, args, want string }{
		{"file", "", "/file (PATH) reads secret.txt, which is not permitted: the rule Read(secret.txt) (test) denies it"},
		{"link", "", "/link (PATH) reads link.txt, which is not permitted"},
		{"cat", "", "/cat (PATH) runs `cat secret.txt`, which is not permitted"},
		{"argument", "secret.txt", "/argument (PATH) runs `cat 'secret.txt'`, which is not permitted"},
		{"asks", "", "/asks (PATH) runs `ls`, which is not permitted"},
		{"silent", "", "/silent is for the model, not for people"},
		{"rules", "", "closing parenthesis is missing"},
		{"fil", "", "there is no command /fil; did you mean /file?"},
	} {
		x, _, err := c.Expand(t.Context(), test.name, test.args)
		if err == nil {
			t.Errorf("/%s %s = %v, want an error", test.name, test.args, x)
			continue
		}
		got := strings.ReplaceAll(err.Error(), filepath.Join(b.dir, "commands", test.name+".md"), "PATH")
		if !strings.Contains(got, test.want) || strings.Contains(got, "hush") || strings.Contains(got, "Do not repeat") {
			t.Errorf("/%s %s: %s\nwant %s", test.name, test.args, got, test.want)
		}
	}
	r := c.Use(t.Context(), tool.Call{ID: "1", Scope: b.Scope}, "asks", "")
	if text := textOf(r.Content); !r.IsError || !strings.Contains(text, `The skill "asks" cannot be used`) || !strings.Contains(text, "nobody is there to ask") {
		t.Errorf("the model reads %q", text)
	}
}

// What one turn was granted, the next has not; and only the skill's own folder is opened.
func TestSkillsReadTheirOwnFolder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		layer   config.Layer
		trusted bool
		want    permission.Behavior
	}{
		{config.User, false, permission.Allow},
		{config.Project, false, permission.Ask},
		{config.Project, true, permission.Allow},
	} {
		b := newBench(t, permission.Settings{})
		b.write("skills/guide/SKILL.md", "---\nname: guide\ndescription: Guides.\nhooks: {PreToolUse: [{hooks: [{type: command, command: 'true'}]}]}\n---\nRead more.md.")
		b.write("skills/guide/more.md", "more")
		b.write("skills/other.md", "other")
		project := t.TempDir()
		b.Scope, b.Trusted = tool.NewScope(project, ""), c.trusted
		commands := b.commands(c.layer)
		reads := func(name string) permission.Behavior {
			return b.Gate.Judge(read(), tool.Call{Name: "Read", Scope: b.Scope, Input: []byte(`{"file_path":"` + filepath.Join(b.dir, "skills", name) + `"}`)}).Behavior
		}
		if got := reads("guide/more.md"); got != permission.Ask {
			t.Errorf("before its use: %s", got)
		}
		if r := commands.Use(t.Context(), tool.Call{ID: "1", Scope: b.Scope}, "guide", ""); r.IsError {
			t.Fatalf("Use: %s", textOf(r.Content))
		}
		if got := reads("guide/more.md"); got != c.want {
			t.Errorf("of the %s, trusted %v: %s, want %s", c.layer, c.trusted, got, c.want)
		}
		if got := reads("other.md"); got != permission.Ask {
			t.Errorf("a file beside the skill's folder: %s", got)
		}
		if !b.Runner.Has(hook.PreToolUse) {
			t.Error("its hooks do not run")
		}
		b.Gate.Begin("")
		commands.Begin()
		if got := reads("guide/more.md"); got != permission.Ask || b.Runner.Has(hook.PreToolUse) {
			t.Errorf("in the next turn: %s, and hooks: %v", got, b.Runner.Has(hook.PreToolUse))
		}
	}
}
