package permission

import (
	"os"
	"strings"
	"testing"
)

// lenient are gates that let the command run, were it not for what it changes.
func (p place) lenient(t testing.TB, command string) map[string]func() Verdict {
	t.Helper()
	name, _, _ := strings.Cut(strings.TrimLeft(command, "\\'\""), " ")
	rules := lists{allow: []string{"Bash(" + name + ":*)", "Bash(cd:*)", "Bash(echo:*)", "Bash(cp:*)", "Bash(touch:*)", "Bash(rm:*)", "Edit", "Edit(//**)"}}
	judge := func(g *Gate, a Advice) func() Verdict {
		return func() Verdict { return g.judge(bashTool(), call(t, bashTool(), p.scope(), "command", command), a) }
	}
	return map[string]func() Verdict{
		"an allow rule with a star":  judge(p.gate(t, Default, rules, nil), Advice{}),
		"an allow rule for all":      judge(p.gate(t, Default, lists{allow: []string{"Bash"}}, nil), Advice{}),
		"acceptEdits":                judge(p.gate(t, AcceptEdits, lists{}, nil), Advice{}),
		"the advice of a hook":       judge(p.gate(t, Default, lists{}, nil), Advice{Behavior: Allow}),
		"acceptEdits with an advice": judge(p.gate(t, AcceptEdits, rules, nil), Advice{Behavior: Allow}),
	}
}

// Commands that change what would run later on its own need a person, whoever else allows them.
func TestCommandsOnProtectedFilesAreAsked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.link(t, ".git", p.root+"/g")
	p.link(t, "../.git/hooks", p.root+"/src/h")
	if err := os.MkdirAll(p.root+"/sub", 0o755); err != nil {
		t.Fatal(err)
	}
	p.write(t, p.root+"/x")
	for _, command := range []string{
		"touch .git/hooks/pre-commit", "cp x .git/hooks/pre-commit", "cp x .git/hooks", "cp -t .git/hooks x", "mv x .git/hooks/", "mv .git/hooks/a b", "ln -s ../../x .git/hooks/pre-commit", "ln -s .git/hooks h2",
		"install -m 755 x .git/hooks/pre-commit", "rm .git/hooks/pre-commit", "rm -rf .git", "tee .claude/settings.json", "tee -a .heddle/settings.json", "sed -i s/a/b/ .git/config", "sed -i.bak -e s/a/b/ .git/config",
		"echo x > .git/hooks/pre-commit", "echo x >> .git/config", "chmod +x .git/hooks/pre-commit", "truncate -s 0 .mcp.json", "dd if=x of=.git/config", "rsync x .git/hooks/", "perl -pi -e s/a/b/ .git/config",
		"touch .vscode/tasks.json", "mkdir .git/hooks/d", "touch HOME/.bashrc", "touch ~/.bashrc", "cp x ~/.profile", "cp dir/.bashrc ~", "cp .npmrc sub", "cp dir/.mcp.json .", "mv dir/.envrc sub/", "curl -o .npmrc http://x",
		"tar -C .git/hooks -xf x.tar", "sort -o .envrc x", "find .git/hooks -delete", "find .git -exec rm {} +", "find x -exec cp {} .git/hooks ;", "git mv x .npmrc",
		"git config core.hooksPath x", "git config --global core.pager x", "git config alias.x '!sh'", "git config -f .gitmodules a.b c", "git config --unset core.hooksPath", "git config set core.editor x", "git config -e", "git -C sub config core.editor x",
		// the same in other words
		`touch ".git/hooks/pre-commit"`, `touch '.git'/hooks/pre-commit`, `touch .g"i"t/config`, `touch .gi\t/config`, `touch ./.git/config`, `touch src/../.git/config`, `touch ROOT/.git/config`, `touch .//.git//config`, `touch .GIT/config`,
		"touch g/hooks/pre-commit", "touch src/h/pre-commit", "cd .git && touch hooks/pre-commit", "cd .git/hooks && touch pre-commit", "cd src && touch h/x", "cd src && touch ../.git/config", "cd g; touch config",
		"A=1 touch .git/config", "env A=1 touch .git/config", "timeout 5 touch .git/config", "nohup touch .git/config", "sudo touch .git/config", "xargs touch .git/config", "xargs -n1 touch .git/config", "bash -c 'touch .git/config'", "eval 'touch .git/config'",
		"echo $(touch .git/config)", "ls; touch .git/config", "ls && touch .git/config | cat", "(touch .git/config)", "f() { touch .git/config; }; f", "for x in 1; do touch .git/config; done", "trap 'touch .git/config' EXIT", "/bin/touch .git/config", `\touch .git/config`,
		"touch .git/hooks/$NAME", `touch ".git/hooks/$(echo x)"`, "touch .git/hooks/{a,b}", "touch .git/hook*/x", "rm .git/*", "echo x > .git/hooks/$NAME", "cp $X .git/hooks/pre-commit", "> .git/hooks/$NAME", "echo x > ~/.bashrc", "env A=1 bash -c 'echo x > .git/config'", "sudo sh -c 'touch .git/config'", "cd .git && echo x > config", "{ ls; } > .git/config", "touch ok .git/config",
	} {
		command = p.expand(command)
		for who, judge := range p.lenient(t, command) {
			if v := judge(); v.Behavior != Ask || len(v.Suggestions) > 0 && !strings.Contains(v.Reason, "protected") {
				t.Errorf("with %s: %q: %s (%s), want ask", who, command, v.Behavior, v.Reason)
			}
		}
		if v := p.bash(t, p.gate(t, Bypass, lists{}, nil), command); v.Behavior != Allow && !strings.Contains(v.Reason, "it removes") {
			t.Errorf("bypass: %q: %s (%s), want allow", command, v.Behavior, v.Reason)
		}
		if v := p.bash(t, p.gate(t, DontAsk, lists{allow: []string{"Bash"}}, nil), command); v.Behavior != Deny {
			t.Errorf("dontAsk: %q: %s (%s), want deny", command, v.Behavior, v.Reason)
		}
		if v := p.bash(t, p.gate(t, Bypass, lists{deny: []string{"Bash(*)"}}, nil), command); v.Behavior != Deny || v.Rule == nil {
			t.Errorf("with a deny rule: %q: %s (%s), want deny by the rule", command, v.Behavior, v.Reason)
		}
	}
}

// What only reads protected files, or changes others, is judged as ever; so is a command of
// which it cannot be told what it changes.
func TestOtherCommandsNeedNoPersonForProtectedFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, p.root+"/x")
	for _, command := range []string{
		"cp .git/config copy", "cat .git/config", "touch x", "rm -rf build", "mkdir -p .github/workflows", "touch .gitignore .env", "sed -n 1p .git/config", "find .git -name x", "find .git -exec cat {} +", "grep -r x .git",
		"git commit -m .git/config", "git config user.name x", "git config core.hooksPath", "git config --get core.hooksPath", "git config --list", "git add .mcp.json", "cp x y", "echo .git/config", "dd if=.git/config of=x", "touch .heddle/worktrees/a/x",
		"touch $X", "echo x | xargs touch", "touch $(echo .git/config)", "python3 -c 'open(\".git/config\", \"w\")'",
	} {
		name, _, _ := strings.Cut(command, " ")
		g := p.gate(t, Default, lists{allow: []string{"Bash(" + name + ":*)", "Bash(xargs:*)", "Bash(touch:*)"}}, nil)
		v := p.bash(t, g, command)
		if v.Behavior != Allow && !strings.Contains(command, "find .git -exec") {
			t.Errorf("%q: %s (%s), want allow", command, v.Behavior, v.Reason)
		}
		if strings.Contains(v.Reason, "protected") {
			t.Errorf("%q: %s", command, v.Reason)
		}
	}
}

// A rule that names exactly the command, or exactly the file, is a decision about it.
func TestExactRulesReachProtectedFiles(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.link(t, ".git", p.root+"/g")
	for _, test := range []struct {
		rule, command string
		want          Behavior
	}{
		{"Bash(touch .git/config)", "touch .git/config", Allow},
		{"Bash(touch .git/config)", "touch  '.git/config'", Allow},
		{"Bash(touch .git/config)", "timeout 5 touch .git/config", Allow},
		{"Bash(touch .git/config)", "ls && touch .git/config", Allow},
		{"Bash(touch .git/config)", "LD_PRELOAD=x touch .git/config", Ask},
		{"Bash(touch .git/config)", "touch .git/config .git/x", Ask},
		{"Bash(touch .git/config*)", "touch .git/config", Ask},
		{"Bash(touch .git/config:*)", "touch .git/config", Ask},
		{"Bash(echo x > .git/config)", "echo x > .git/config", Allow},
		{"Bash(echo x)", "echo x > .git/config", Ask},
		{"Edit(/.git/config)", "echo x > .git/config", Allow},
		{"Edit(//ROOT/.git/config)", "echo x > .git/config", Allow},
		{"Edit(/.git)", "echo x > .git/config", Ask},
		{"Edit(/.git/**)", "echo x > .git/config", Ask},
		{"Edit(.git/config)", "echo x > sub/.git/config", Ask},
		{"Edit(/g/config)", "echo x > g/config", Ask},
		{"Edit(config)", "echo x > .git/config", Ask},
	} {
		rule := strings.ReplaceAll(test.rule, "//ROOT", "/"+p.root)
		if v := p.bash(t, p.gate(t, Default, lists{allow: []string{rule}}, nil), test.command); v.Behavior != test.want {
			t.Errorf("%s: %q: %s (%s), want %s", rule, test.command, v.Behavior, v.Reason, test.want)
		}
	}
	g := p.gate(t, Default, lists{allow: []string{"Edit(/.git/config)"}}, nil)
	for path, want := range map[string]Behavior{".git/config": Allow, ".git/hooks": Ask, "g/config": Ask} {
		if v := p.file(t, g, "Edit", p.root+"/"+path); v.Behavior != want {
			t.Errorf("Edit %s: %s (%s), want %s", path, v.Behavior, v.Reason, want)
		}
	}
	if v := p.bash(t, p.gate(t, Default, lists{allow: []string{"Bash(touch .git/config)"}, deny: []string{"Edit(.git/**)"}}, nil), "touch .git/config"); v.Behavior != Deny {
		t.Errorf("with a deny rule beside the exact one: %s (%s)", v.Behavior, v.Reason)
	}
}
