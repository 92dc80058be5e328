package permission

import (
	"os"
	"testing"

	"heddle/internal/tool"
)

// Commands that once passed as reading only, and ran or wrote something.
func TestEvasionsOfTheReadOnlySetAreAsked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	g := p.gate(t, Default, lists{}, nil)
	for _, command := range []string{
		`git grep -e hello -e -- -O'touch PWN;:'`,
		`git log -1 --format=x --decorate-refs -- --output=F`,
		`git show -s --decorate-refs -- --output=F`,
		`git blame --contents -- --output=F a.txt`,
		"cat <<EOF\nhi\nEO\\\nF\ntouch PWN\n: <<EOF\nEOF\n:",
		`echo x/y | sed 's/x[/]y/p;s#a;touch PWN4/e#x#'`,
		`sed -n '/[/]/p;s#x#id#e' f`,
		`tr '\0' '\n' < /proc/$PPID/environ`,
		`cat /proc/self/environ`, `cat /proc/"$PPID"/environ`, `head -c 9 /pr*/self/env*`, `cd /proc/1 && cat environ`, `strings /proc/$PPID/mem`,
		`XDG_CONFIG_HOME=$PWD/cfg; git status`, `XDG_CONFIG_HOME=cfg git status`, `LESS=x; git log`,
	} {
		if v := p.bash(t, g, command).Behavior; v != Ask {
			t.Errorf("%q: %s, want ask", command, v)
		}
	}
	for _, command := range []string{
		`git log --oneline -- a.txt`, `git diff -- .`, "cat <<EOF\nhi\nEOF", "cat <<'EOF'\nhi\nEOF",
		`sed -n 's/[0-9]*//p' f`, `sed 's/[^a-z]/x/g' f`, `git grep -e x -- '*.go'`, `cat process/x.go`, `ls processes`,
	} {
		if v := p.bash(t, g, command).Behavior; v != Allow {
			t.Errorf("%q: %s, want allow", command, v)
		}
	}
}

// What only reads is asked all the same if it reads what is nobody else's business.
func TestCommandsThatReadPrivateFilesAreAsked(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, p.outside+"/open")
	p.write(t, p.outside+"/closed")
	if err := os.Chmod(p.outside+"/closed", 0o600); err != nil {
		t.Fatal(err)
	}
	p.link(t, p.outside+"/closed", p.root+"/link")
	p.write(t, p.root+"/own")
	g := p.gate(t, Default, lists{}, nil)
	private := []string{
		"cat ~/.bashrc", "ls ~", "cd ~ && ls", "cat ../../notes", "head -1 " + p.home + "/x", "grep -r key ~/.ssh", "wc -l < ~/.netrc",
		"cat " + p.outside + "/closed", "cat link", "diff own ../x", "sum ~/x", "find ~ -name x", "ls /root", "cat /home/other/x",
	}
	for _, command := range private {
		if v := p.bash(t, g, command); v.Behavior != Ask {
			t.Errorf("%q: %s, want ask", command, v.Behavior)
		}
		for _, rule := range []string{"Bash", "Bash(*)"} {
			if v := p.bash(t, p.gate(t, Default, lists{allow: []string{rule}}, nil), command); v.Behavior != Allow {
				t.Errorf("%q with the rule %s: %s (%s), want allow", command, rule, v.Behavior, v.Reason)
			}
		}
	}
	if v := p.bash(t, p.gate(t, Default, lists{allow: []string{"Read(~/.bashrc)"}}, nil), "cat ~/.bashrc"); v.Behavior != Allow {
		t.Errorf("a rule for the file: %s (%s)", v.Behavior, v.Reason)
	}
	for _, command := range []string{"cat " + p.outside + "/open", "ls " + p.outside, "cat own", "ls /usr/include", "cat /etc/os-release", "ls /", "echo ~"} {
		if v := p.bash(t, g, command); v.Behavior != Allow {
			t.Errorf("%q: %s (%s), want allow", command, v.Behavior, v.Reason)
		}
	}
}

// A rule that keeps a file from being read holds for commands that read it under
// another name, or find it themselves.
func TestReadRulesHoldForCommands(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	g := p.gate(t, Default, lists{deny: []string{"Read(secret.txt)"}}, nil)
	for command, want := range map[string]Behavior{
		"unexpand secret.txt": Deny, "sum secret.txt": Deny, "git show HEAD:secret.txt": Deny, "git show HEAD:./secret.txt": Deny,
		"git cat-file -p HEAD:secret.txt": Deny, "git blame secret.txt": Deny, "git diff --no-index /dev/null secret.txt": Deny,
		"git log -p -- secret.txt": Deny, "git grep x -- secret.txt": Deny, "git diff secret.txt": Deny,
		"grep -r x": Ask, "grep -rn x .": Ask, "grep --recursive x .": Ask, "grep -d recurse x .": Ask, "rg x": Ask, "git grep x": Ask, "diff -r a b": Ask,
		"git status": Allow, "git log --oneline": Allow, "git show HEAD:other.txt": Allow, "grep x other.txt": Allow, "sum other.txt": Allow, "echo secret.txt": Allow,
	} {
		if v := p.bash(t, g, command); v.Behavior != want {
			t.Errorf("%q: %s (%s), want %s", command, v.Behavior, v.Reason, want)
		}
	}
	if !g.MayRead(p.scope(), p.root+"/other.txt") || g.MayRead(p.scope(), p.root+"/secret.txt") || g.MayRead(p.scope(), p.root+"/src/secret.txt") {
		t.Error("MayRead does not follow the rule")
	}
	ask := p.gate(t, Default, lists{ask: []string{"Read(secret.txt)"}}, nil)
	if ask.MayRead(tool.NewScope(p.root, ""), p.root+"/secret.txt") {
		t.Error("MayRead shows without asking what is to be asked")
	}
}
