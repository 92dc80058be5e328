package permission

import "testing"

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
