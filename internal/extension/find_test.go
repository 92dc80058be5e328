package extension

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"heddle/internal/config"
	"heddle/internal/mcp"
)

// world is a home directory and a checkout with files.
type world struct {
	t testing.TB
	Options
}

func newWorld(t testing.TB) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, Options: Options{
		Dir: filepath.Join(dir, "repo", "sub"), Project: filepath.Join(dir, "repo", "sub"),
		UserHome: filepath.Join(dir, "user"), Home: filepath.Join(dir, "user", ".heddle"),
		Getenv: func(string) (string, bool) { return "", false },
	}}
	for _, d := range []string{filepath.Join(dir, "repo", ".git"), w.Dir, w.Home} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// write writes a file below the folder that holds home and checkout.
func (w *world) write(path, text string) {
	w.t.Helper()
	path = filepath.Join(filepath.Dir(w.UserHome), path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) find() *Found {
	w.t.Helper()
	layers, err := config.Find(config.Options{Home: w.Home, Dir: w.Project, Whole: []string{"mcpServers"}})
	if err != nil {
		w.t.Fatal(err)
	}
	if w.Granted = layers; !w.Trusted {
		if w.Granted, err = config.Find(config.Options{Home: w.Home}); err != nil {
			w.t.Fatal(err)
		}
	}
	f, err := Find(w.Options)
	if err != nil {
		w.t.Fatal(err)
	}
	return f
}

// everything fills all places of all layers.
func (w *world) everything() {
	server := func(name string) string { return `{"mcpServers": {"` + name + `": {"command": "` + name + `"}}}` }
	hooks := func(cmd string) string {
		return `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "` + cmd + `"}]}]}}`
	}
	w.write("user/.heddle/settings.json", strings.Replace(hooks("user"), "{", `{"mcpServers": {"both": {"command": "user"}, "mine": {"command": "mine"}},`, 1))
	w.write("user/.claude/settings.json", hooks("claude-user"))
	w.write("user/.claude/skills/greet/SKILL.md", "---\nname: greet\ndescription: Of Claude.\n---\nHi")
	w.write("user/.heddle/skills/greet/SKILL.md", "---\nname: greet\ndescription: The user's.\n---\nHi")
	w.write("user/.heddle/plugins/tools/.mcp.json", server("db"))
	w.write("user/.heddle/plugins/tools/skills/dig/SKILL.md", "---\nname: dig\ndescription: Digs.\n---\nDig")
	w.write("user/.heddle/plugins/tools/hooks/hooks.json", hooks("plugin"))
	w.write("repo/.mcp.json", `{"mcpServers": {"both": {"command": "top"}, "top": {"command": "top"}}}`)
	w.write("repo/sub/.mcp.json", server("both"))
	w.write("repo/.claude/commands/deploy.md", "Deploy")
	w.write("repo/sub/.heddle/skills/greet/SKILL.md", "---\nname: greet\ndescription: The project's.\nallowed-tools: Bash\n---\nHi")
	w.write("repo/sub/.heddle/settings.json", hooks("project"))
	w.write("repo/sub/.claude/settings.local.json", hooks("claude-local"))
	w.write("repo/sub/.heddle/plugins/theirs/.mcp.json", server("x"))
}

func names(f *Found) (servers, held, hooks, skills []string) {
	for _, c := range f.Servers {
		servers = append(servers, c.Name+"="+c.Command)
	}
	for _, c := range f.Unapproved {
		held = append(held, c.Name+"="+c.Command)
	}
	for _, h := range f.Hooks {
		hooks = append(hooks, h.Command)
	}
	for _, s := range f.Skills.List() {
		skills = append(skills, s.Name+"="+s.Source)
	}
	return servers, held, hooks, skills
}

func check(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if g := strings.Join(got, " "); g != want {
		t.Errorf("%s: %s, want %s", what, g, want)
	}
}

func TestFindUntrusted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.everything()
	f := w.find()
	servers, held, hooks, skills := names(f)
	check(t, "servers", servers, "both=user mine=mine plugin:tools:db=db") // who waits takes nobody's place
	check(t, "held back", held, "both=both top=top")
	check(t, "hooks", hooks, "user claude-user plugin")
	check(t, "skills", skills, "deploy=project greet=project heddle-setup=heddle review=heddle tools:dig=plugin tools")
	greet, _ := f.Skills.Get("greet")
	if len(greet.Allowed) > 0 {
		t.Errorf("a skill of a project that is not trusted allows itself %v", greet.Allowed)
	}
	if len(f.Withheld) != 2 {
		t.Errorf("withheld: %q", f.Withheld)
	}
	if len(f.Problems) > 0 {
		t.Errorf("problems: %v", f.Problems)
	}
	if len(f.Overridden) != 0 {
		t.Errorf("overridden: %+v", f.Overridden)
	}
}

func TestFindTrusted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.everything()
	w.Trusted = true
	f := w.find()
	servers, held, hooks, _ := names(f)
	check(t, "servers", servers, "both=both mine=mine plugin:theirs:x=x plugin:tools:db=db top=top")
	check(t, "held back", held, "")
	check(t, "hooks", hooks, "project user claude-user claude-local plugin")
	if len(f.Overridden) != 2 || f.Overridden[1].Name != "both" || !strings.HasSuffix(f.Overridden[1].By.File, "sub/.mcp.json") {
		t.Errorf("overridden: %+v", f.Overridden)
	}
	if len(f.Withheld) != 0 {
		t.Errorf("withheld: %q", f.Withheld)
	}
}

func TestFindApproved(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"by a person", func(o *Options) {
			o.Approved = func(_, name string, entry []byte) bool {
				return name == "both" && string(entry) == `{"command":"both"}`
			}
		}, "both=both mine=mine plugin:tools:db=db"},
		{"another entry", func(o *Options) {
			o.Approved = func(_, name string, entry []byte) bool { return string(entry) == `{"command":"old"}` }
		}, "both=user mine=mine plugin:tools:db=db"},
		{"all", func(o *Options) { o.Chosen.AllServers = true }, "both=both mine=mine plugin:tools:db=db top=top"},
		{"by name", func(o *Options) { o.Chosen.Enabled = []string{"top"} }, "both=user mine=mine plugin:tools:db=db top=top"},
		{"disabled", func(o *Options) { o.Chosen.AllServers, o.Chosen.Disabled = true, []string{"top"} }, "both=both mine=mine plugin:tools:db=db top=top"},
		{"strict", func(o *Options) { o.Strict, o.Servers = true, []string{`{"mcpServers": {"f": {"command": "f"}}}`} }, "f=f"},
		{"bare", func(o *Options) {
			o.Bare, o.Servers, o.Granted = true, []string{`{"f": {"command": "f"}}`}, nil
		}, "f=f"},
		{"not the project", func(o *Options) { o.Sources = []config.Layer{config.User} }, "both=user mine=mine plugin:tools:db=db"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.everything()
			test.change(&w.Options)
			layers, err := config.Find(config.Options{Home: w.Home, Sources: map[bool][]config.Layer{true: {}}[w.Bare]})
			if err != nil {
				t.Fatal(err)
			}
			w.Granted = layers
			f, err := Find(w.Options)
			if err != nil {
				t.Fatal(err)
			}
			servers, _, _, _ := names(f)
			check(t, "servers", servers, test.want)
			if top := slices.IndexFunc(f.Servers, func(c mcp.Config) bool { return c.Name == "top" }); test.name == "disabled" && !f.Servers[top].Disabled {
				t.Error("a server that settings disable is not")
			}
		})
	}
}

func TestFindBadFlags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, test := range []struct {
		flags Flags
		want  string
	}{
		{Flags{Servers: []string{filepath.Join(w.Dir, "none.json")}}, "--mcp-config: there is no file"},
		{Flags{Servers: []string{`{"mcpServers": `}}, "--mcp-config: --mcp-config:"},
		{Flags{Plugins: []string{filepath.Join(w.Dir, "none")}}, "--plugin-dir: there is no folder"},
	} {
		w.Flags = test.flags
		if _, err := Find(w.Options); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("Find(%v) = %v, want %q", test.flags, err, test.want)
		}
	}
}

// TestFindBroken holds that what is broken costs only itself.
func TestFindBroken(t *testing.T) {
	t.Parallel()
	for path, texts := range map[string][]string{
		"repo/sub/.mcp.json":                                  {"", "{", "[]", "7", `{"mcpServers": 7}`, `{"mcpServers": {"x": 7}}`, `{"mcpServers": {"x": {}}}`, "\xff\xfe{}"},
		"user/.claude/settings.json":                          {"", "{", "[]", `{"hooks": 7}`, `{"hooks": {"Stop": {}}}`, "\x00"},
		"repo/sub/.claude/settings.json":                      {"{", `{"hooks": [1]}`},
		"user/.heddle/skills/bad/SKILL.md":                    {"", "---\n", "---\nname: [\n---\n", "\x00\xff"},
		"user/.heddle/plugins/bad/plugin.md":                  {""},
		"user/.heddle/plugins/bad/.claude-plugin/plugin.json": {"", "{", "[]", `{"name": 7}`},
	} {
		for _, text := range texts {
			w := newWorld(t)
			w.everything()
			w.write(path, text)
			f := w.find()
			_, _, hooks, skills := names(f)
			if !slices.Contains(hooks, "plugin") || !slices.Contains(skills, "tools:dig=plugin tools") || !slices.ContainsFunc(f.Servers, func(c mcp.Config) bool { return c.Name == "mine" }) {
				t.Errorf("%s = %q has cost more than itself: %v %v", path, text, hooks, skills)
			}
			for _, p := range append(f.Problems, f.Warnings...) {
				if p.File == "" || p.Text == "" {
					t.Errorf("%s = %q: a problem without a place: %v", path, text, p)
				}
			}
		}
	}
}

func TestSettingsAreNames(t *testing.T) {
	t.Parallel()
	var s Settings
	err := json.Unmarshal([]byte(`{"pluginConfigs": {"a": {"options": {"k": true, "n": 3}}}}`), &s)
	f := &finder{Options: Options{Chosen: s}}
	if got := f.pluginConfig()["a"]; err != nil || got["k"] != "true" || got["n"] != "3" {
		t.Errorf("pluginConfig = %v, %v", got, err)
	}
}

// TestFindLinks holds that a project that is not trusted shows the model nothing that lies
// elsewhere.
func TestFindLinks(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		w := newWorld(t)
		w.Trusted = trusted
		w.write("private/notes.md", "My secret.")
		w.write("repo/shared/SKILL.md", "---\nname: shared\ndescription: Inside.\n---\nFine.")
		for name, target := range map[string]string{"leak": "../private/notes.md", "shared": "shared/SKILL.md"} {
			dir := filepath.Join(w.Dir, ".claude", "skills", name)
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(filepath.Dir(w.Dir), target), filepath.Join(dir, "SKILL.md")); err != nil {
				t.Fatal(err)
			}
		}
		f := w.find()
		if _, ok := f.Skills.Get("shared"); !ok {
			t.Error("a link inside of the project is not followed")
		}
		if _, ok := f.Skills.Get("leak"); ok != trusted {
			t.Errorf("trusted %v: the link that leads out is followed: %v", trusted, ok)
		}
		if told := len(f.Problems) == 1 && strings.Contains(f.Problems[0].Text, "outside of the project"); told == trusted {
			t.Errorf("trusted %v: problems %v", trusted, f.Problems)
		}
	}
}

// TestFindDisabled holds that a clone cannot switch off the user's server.
func TestFindDisabled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.everything()
	w.write("repo/sub/.mcp.json", `{"mcpServers": {"mine": {"command": "x", "disabled": true}, "own": {"command": "x", "disabled": true}}}`)
	servers, held, _, _ := names(w.find())
	check(t, "servers", servers, "both=user mine=mine own=x plugin:tools:db=db")
	check(t, "held back", held, "both=top top=top")
}

// TestFindManagedHooks holds that a user's switch leaves the hooks of whoever runs the
// machine alone.
func TestFindManagedHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.everything()
	w.write("user/.heddle/settings.json", `{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "user"}]}]}}`)
	w.write("managed/managed-settings.json", `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "managed"}]}]}}`)
	managed := filepath.Join(filepath.Dir(w.UserHome), "managed")
	for _, test := range []struct{ off, want string }{{"", "managed"}, {`{"disableAllHooks": true}`, ""}} {
		if test.off != "" {
			w.write("managed/managed-settings.json", test.off)
		}
		layers, err := config.Find(config.Options{Home: w.Home, Managed: managed})
		if err != nil {
			t.Fatal(err)
		}
		w.Granted = layers
		f, err := Find(w.Options)
		if err != nil {
			t.Fatal(err)
		}
		_, _, hooks, _ := names(f)
		check(t, "hooks", hooks, test.want)
		if !f.NoHooks {
			t.Error("hooks are not switched off")
		}
	}
}
