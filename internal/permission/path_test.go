package permission

import (
	"strings"
	"testing"
)

// expand puts the directories of a place into a rule or a path.
func (p place) expand(s string) string {
	return strings.NewReplacer("ROOT", p.root, "OUT", p.outside, "SPILL", p.spill, "HOME", p.home).Replace(s)
}

func TestFilesInEachMode(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		mode       Mode
		tool, path string
		want       Behavior
	}{
		{Default, "Read", "ROOT/x", Allow},
		{Default, "Grep", "ROOT", Allow},
		{Default, "Read", "OUT/x", Ask},
		{Default, "Read", "SPILL/x", Allow}, // results too long for a conversation
		{Default, "Read", "ROOT/../proj2/x", Ask},
		{Default, "Read", "ROOTx", Ask},
		{Default, "Write", "ROOT/x", Ask},
		{Default, "Write", "SPILL/x", Ask},
		{AcceptEdits, "Write", "ROOT/a/b/c", Allow},
		{AcceptEdits, "Write", "OUT/x", Ask},
		{AcceptEdits, "Write", "SPILL/x", Ask},
		{AcceptEdits, "Read", "OUT/x", Ask},
		{Plan, "Read", "ROOT/x", Allow},
		{Plan, "Read", "OUT/x", Ask},
		{Plan, "Write", "ROOT/x", Deny},
		{DontAsk, "Read", "ROOT/x", Allow},
		{DontAsk, "Read", "OUT/x", Deny},
		{DontAsk, "Edit", "ROOT/x", Deny},
		{Bypass, "Write", "/etc/passwd", Allow},
		{Bypass, "Write", "ROOT/.git/config", Allow},
		{Bypass, "Read", "OUT/x", Allow},
	} {
		g := p.gate(t, test.mode, lists{}, nil)
		if v := p.file(t, g, test.tool, p.expand(test.path)); v.Behavior != test.want {
			t.Errorf("%s: Judge(%s %s) = %s (%s), want %s", test.mode, test.tool, test.path, v.Behavior, v.Reason, test.want)
		}
	}
}

func TestPathRules(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		list, rule, tool, path string
		want                   Behavior
	}{
		{"allow", "Read(/OUT/**)", "Read", "OUT/a/b", Allow}, // //path
		{"allow", "Read(/OUT/**)", "Grep", "OUT", Allow},
		{"allow", "Read(/OUT/*)", "Read", "OUT/a", Allow},
		{"allow", "Read(/OUT/*/c)", "Read", "OUT/a/b/c", Ask}, // * stays in one segment
		{"allow", "Read(/OUT/**/c)", "Read", "OUT/a/b/c", Allow},
		{"allow", "Read(/OUT/**/c)", "Read", "OUT/c", Allow},
		{"allow", "Read(/OUT/?)", "Read", "OUT/ab", Ask},
		{"allow", "Read(/OUT/[ab])", "Read", "OUT/b", Allow},
		{"allow", "Read(/OUT/a)", "Read", "OUT/a/b/c", Allow}, // a directory means what is in it
		{"allow", "Read(/OUT/a/)", "Read", "OUT/ab", Ask},
		{"allow", "Read(~/x/**)", "Read", "HOME/x/y", Allow}, // ~/path
		{"allow", "Read(~/x/**)", "Read", "HOME/y", Ask},
		{"allow", "Read(~)", "Read", "HOME/y", Allow},
		{"allow", "Edit(/src/**)", "Edit", "ROOT/src/x", Allow}, // from the settings
		{"allow", "Edit(/src/**)", "Edit", "ROOT/a/src/x", Ask},
		{"allow", "Edit(src/**)", "Edit", "ROOT/src/x", Allow}, // single segment: here only
		{"allow", "Edit(src/**)", "Edit", "ROOT/a/src/x", Ask},
		{"deny", "Edit(src/**)", "Edit", "ROOT/a/src/x", Deny}, // and to deny, at any depth
		{"deny", "Edit(a/src/**)", "Edit", "ROOT/b/a/src/x", Ask},
		{"deny", "Read(.env)", "Read", "ROOT/a/b/.env", Deny}, // a bare name, at any depth
		{"deny", "Read(.env)", "Read", "ROOT/a/b/.envrc", Allow},
		{"deny", "Read(./.env)", "Read", "ROOT/.env", Deny},
		{"deny", "Read(./.env)", "Read", "ROOT/a/.env", Allow},
		{"deny", "Read(*.key)", "Read", "ROOT/a/x.key", Deny},
		{"deny", "Read(.env)", "Edit", "ROOT/.env", Deny}, // what may not be read may not be written
		{"deny", "Read(.env)", "Write", "ROOT/.env", Deny},
		{"deny", "Read(.env)", "Grep", "ROOT/.env", Deny},
		{"deny", "Edit(x)", "Write", "ROOT/x", Deny},
		{"deny", "Edit(x)", "NotebookEdit", "ROOT/x", Deny},
		{"deny", "Edit(x)", "Read", "ROOT/x", Allow},
		{"ask", "Read(x)", "Read", "ROOT/x", Ask},
		{"allow", "Edit(/OUT/**)", "Read", "OUT/a", Allow}, // who may edit may read
		{"allow", "Read(/OUT/**)", "Write", "OUT/a", Ask},
		{"allow", "Write", "Write", "ROOT/x", Allow},
		{"allow", "Write", "Edit", "ROOT/x", Ask},
		{"allow", "Edit", "Write", "OUT/x", Allow},
		{"allow", "Read", "Grep", "OUT/x", Allow},
		{"deny", "Edit", "Write", "ROOT/x", Deny},
		{"deny", "Read", "Glob", "ROOT/x", Deny},
		{"allow", "Write(x)", "Write", "ROOT/x", Ask}, // never consulted
		{"allow", "Edit", "Write", "ROOT/.git/config", Ask},
		{"allow", "Edit(.git/**)", "Write", "ROOT/.git/config", Ask},
		{"deny", "Read(offset:5)", "Read", "ROOT/x", Allow},
	} {
		rule := []string{p.expand(test.rule)}
		l := map[string]lists{"allow": {allow: rule}, "ask": {ask: rule}, "deny": {deny: rule}}[test.list]
		g := p.gate(t, Default, l, nil)
		if v := p.file(t, g, test.tool, p.expand(test.path)); v.Behavior != test.want {
			t.Errorf("%s %s: Judge(%s %s) = %s (%s), want %s", test.list, test.rule, test.tool, test.path, v.Behavior, v.Reason, test.want)
		}
	}
}

// An allow rule needs the link and its target, a deny rule fires on either, also
// for files that do not exist yet.
func TestSymlinks(t *testing.T) {
	p := newPlace(t)
	p.link(t, p.outside, p.root+"/out")          // a directory outside
	p.link(t, p.outside+"/later", p.root+"/new") // to nothing yet
	p.link(t, p.root+"/src", p.outside+"/in")    // and back
	p.link(t, "loop2", p.root+"/loop1")
	p.link(t, "loop1", p.root+"/loop2")
	p.link(t, "src", p.root+"/near")
	p.link(t, ".git", p.root+"/dotgit")
	for _, test := range []struct {
		name       string
		mode       Mode
		l          lists
		tool, path string
		want       Behavior
	}{
		{"a link that leads out", Default, lists{}, "Read", "ROOT/out/x", Ask},
		{"a file to be, behind a link", AcceptEdits, lists{}, "Write", "ROOT/out/a/b", Ask},
		{"a link to nothing yet", AcceptEdits, lists{}, "Write", "ROOT/new", Ask},
		{"a link within", AcceptEdits, lists{}, "Write", "ROOT/near/x", Allow},
		{"a link that leads in", Default, lists{}, "Read", "OUT/in/x", Allow},
		{"a circle", Default, lists{}, "Read", "ROOT/loop1", Ask},
		{"a circle to write", AcceptEdits, lists{}, "Write", "ROOT/loop1/x", Ask},
		{"a protected target", AcceptEdits, lists{}, "Write", "ROOT/dotgit/config", Ask},
		{"allow names the link only", Default, lists{allow: []string{"Edit(/out/**)"}}, "Write", "ROOT/out/x", Ask},
		{"allow names the target only", Default, lists{allow: []string{"Edit(/OUT/**)"}}, "Write", "ROOT/out/x", Ask},
		{"allow names both", Default, lists{allow: []string{"Edit(//**)"}}, "Write", "ROOT/out/x", Allow},
		{"deny names the link", Bypass, lists{deny: []string{"Edit(/out/**)"}}, "Write", "ROOT/out/x", Deny},
		{"deny names the target", Bypass, lists{deny: []string{"Edit(/OUT/later)"}}, "Write", "ROOT/new", Deny},
	} {
		for i := range test.l.allow {
			test.l.allow[i] = p.expand(test.l.allow[i])
		}
		for i := range test.l.deny {
			test.l.deny[i] = p.expand(test.l.deny[i])
		}
		g := p.gate(t, test.mode, test.l, nil)
		if v := p.file(t, g, test.tool, p.expand(test.path)); v.Behavior != test.want {
			t.Errorf("%s: Judge(%s %s) = %s (%s), want %s", test.name, test.tool, test.path, v.Behavior, v.Reason, test.want)
		}
	}
	g := p.gate(t, Default, lists{deny: []string{p.expand("Read(/OUT/secret)")}}, nil)
	if v := p.bash(t, g, "cat out/secret"); v.Behavior != Deny {
		t.Errorf("cat through a link to a denied file: %s (%s)", v.Behavior, v.Reason)
	}
	// The kernel goes up from where the link leads, not from where it stands.
	g = p.gate(t, AcceptEdits, lists{}, nil)
	if v := p.bash(t, g, "touch out/../x"); v.Behavior != Ask {
		t.Errorf("touch out/../x, which is outside: %s (%s)", v.Behavior, v.Reason)
	}
}

func TestProtectedPaths(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, AcceptEdits, lists{allow: []string{"Edit", "Edit(//**)"}}, nil)
	for path, want := range map[string]Behavior{
		".git/config": Ask, ".git": Ask, "sub/.git/hooks/pre-commit": Ask, ".GIT/config": Ask, ".vscode/settings.json": Ask, ".idea/x": Ask, ".husky/x": Ask,
		".cargo/config.toml": Ask, ".devcontainer/x": Ask, ".yarn/x": Ask, ".mvn/x": Ask, ".claude/settings.json": Ask, ".heddle/settings.json": Ask,
		".config/git/config": Ask, ".gitconfig": Ask, ".bashrc": Ask, ".zshrc": Ask, ".profile": Ask, ".envrc": Ask, ".npmrc": Ask, ".bazelrc": Ask, ".pre-commit-config.yaml": Ask,
		"lefthook.yml": Ask, "gradle/wrapper/gradle-wrapper.properties": Ask, ".ripgreprc": Ask, "pyrightconfig.json": Ask, ".mcp.json": Ask, ".claude.json": Ask,
		".claude/worktrees/a/x.go": Allow, ".heddle/worktrees/a/x.go": Allow, ".heddle/worktrees/a/.git": Ask,
		".gitignore": Allow, ".github/workflows/x.yml": Allow, "git/config": Allow, ".env": Allow, "x.git": Allow, ".config/foo": Allow,
	} {
		if v := p.file(t, g, "Write", p.root+"/"+path); v.Behavior != want {
			t.Errorf("Judge(Write %s) = %s (%s), want %s", path, v.Behavior, v.Reason, want)
		}
	}
	if v := p.file(t, p.gate(t, DontAsk, lists{allow: []string{"Edit"}}, nil), "Write", p.root+"/.git/config"); v.Behavior != Deny {
		t.Errorf("dontAsk: %s (%s)", v.Behavior, v.Reason)
	}
	if v := p.file(t, p.gate(t, Default, lists{}, nil), "Read", p.root+"/.git/config"); v.Behavior != Allow {
		t.Errorf("reading: %s (%s)", v.Behavior, v.Reason)
	}
}

// Further directories are worked in like the project, and a cd does not move a deny.
func TestDirectories(t *testing.T) {
	p := newPlace(t)
	g := NewGate(Settings{Directories: []string{p.outside}, Mode: AcceptEdits, Home: p.home, Deny: p.rules(t, []string{"Read(/secret)", "Read(dir/key)"})}, nil)
	if v := p.file(t, g, "Write", p.outside+"/x"); v.Behavior != Allow {
		t.Errorf("in a further directory: %s (%s)", v.Behavior, v.Reason)
	}
	s := p.scope()
	s.Extra = []string{p.spill}
	tl := fileTool("Write", "write")
	if v := g.Judge(tl, call(t, tl, s, "file_path", p.spill+"/x")); v.Behavior != Allow {
		t.Errorf("in a directory of the agent: %s (%s)", v.Behavior, v.Reason)
	}
	s.SetDir(p.root + "/src")
	for command, want := range map[string]Behavior{"cat ../secret": Deny, "cat ../dir/key": Deny, "cat dir/key": Deny, "cat x": Allow, "git status": Allow} {
		if v := g.Judge(bashTool(), call(t, bashTool(), s, "command", command)); v.Behavior != want {
			t.Errorf("in src: %s = %s (%s), want %s", command, v.Behavior, v.Reason, want)
		}
	}
	s.SetDir(p.home)
	if v := g.Judge(bashTool(), call(t, bashTool(), s, "command", "git status")); v.Behavior != Ask {
		t.Errorf("git status outside: %s (%s)", v.Behavior, v.Reason)
	}
}

func TestSuggestionsForFilesWork(t *testing.T) {
	p := newPlace(t)
	p.link(t, p.outside, p.root+"/out")
	for _, test := range []struct{ tool, path string }{
		{"Read", p.outside + "/a*[b/x"}, {"Read", p.root + "/out/x"}, {"Write", p.root + "/x"}, {"Write", p.outside + "/x"},
	} {
		g := p.gate(t, Default, lists{}, nil)
		v := p.file(t, g, test.tool, test.path)
		if v.Behavior != Ask || v.Path != test.path || len(v.Suggestions) == 0 {
			t.Fatalf("%s %s: %+v, want a question about the path with suggestions", test.tool, test.path, v)
		}
		if err := g.Apply(v.Suggestions); err != nil {
			t.Fatal(err)
		}
		if v := p.file(t, g, test.tool, test.path); v.Behavior != Allow {
			t.Errorf("%s %s after its suggestions: %s (%s)", test.tool, test.path, v.Behavior, v.Reason)
		}
		if v := p.file(t, g, test.tool, p.home+"/x"); v.Behavior == Allow {
			t.Errorf("%s %s: its suggestions allow more than its directory", test.tool, test.path)
		}
	}
}
