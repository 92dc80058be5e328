package skill

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// values that would do something else than be printed, if they were not quoted.
func nasty(mark string) []string {
	return []string{
		"plain", "two words", "it's", `say "hi"`, "$(touch " + mark + ")", "`touch " + mark + "`", "; touch " + mark + " ;", "x\ntouch " + mark + "\n",
		`\`, `'; touch ` + mark + `; '`, `"; touch ` + mark + `; "`, "$HOME", "*", "-n", "&& touch " + mark, "') ; touch " + mark + " #", `\'; touch ` + mark + "; #",
	}
}

// A real shell takes what is put into a command as text, whatever quotes it stands in.
func TestQuotingInRealShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"sh", "bash"} {
		if _, err := exec.LookPath(shell); err != nil {
			continue
		}
		mark := filepath.Join(t.TempDir(), "mark")
		for _, c := range []struct{ source, before, after string }{
			{"printf %s $0", "", ""},
			{`printf %s "$0"`, "", ""},
			{`printf %s '$0'`, "", ""},
			{`printf %s "a $0 b"`, "a ", " b"},
			{`printf %s "$(printf %s "$0")x"`, "", "x"},
			{`printf %s "$(printf %s '$0' | cat)x"`, "", "x"},
			{`(printf %s "${HOME#"x"}") >/dev/null; printf %s y`, "y", ""},
			{`x=$0; printf %s "$x"`, "", ""},
			{`printf %s a\"; printf %s $0`, `a"`, ""},
			{"# it is $0\nprintf %s $0", "", ""},
			{"printf %s a \\\n# it is $0\nprintf %s $0", "a", ""},
			{`printf %s "\"$0"`, `"`, ""},
			{"printf %s \"${HOME:+}\"$0", "", ""},
		} {
			for _, value := range nasty(mark) {
				checkShell(t, shell, c.source, c.before, c.after, value)
				if _, err := os.Stat(mark); err == nil {
					t.Fatalf("%s: %q with %q ran a command", shell, c.source, value)
				}
			}
		}
	}
}

func checkShell(t *testing.T, shell, source, before, after, value string) {
	t.Helper()
	v := values{all: value, words: []string{value}}
	command, err := v.expandShell(source)
	if err != nil {
		return // refused is safe, too
	}
	out, err := exec.Command(shell, "-c", command).CombinedOutput()
	want := before + value + after
	if before == "y" {
		want = before
	}
	// $(…) takes line ends away.
	if got := string(out); err != nil || strings.ReplaceAll(got, "\n", "") != strings.ReplaceAll(want, "\n", "") {
		t.Errorf("%s -c %q = %q, %v, want %q", shell, command, got, err, want)
	}
}

func TestQuotingRefuses(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		"cat <<END\n$0\nEND", "echo `echo $0`", "echo ${x:-$0}", `echo "${x:-$0}"`, "echo $(( $0 ))", `echo $'$0'`, `x=$(case a in a) echo "$0";; esac)`,
		"echo a) $0", "(true)# $0", `echo "$(( $0 ))"`,
	} {
		v := values{words: []string{"a b"}}
		if got, err := v.expandShell(source); err == nil {
			t.Errorf("%q = %q, want an error", source, got)
		}
		v = values{words: []string{"a-b/c.go"}}
		want := strings.ReplaceAll(source, "$0", "a-b/c.go")
		if got, err := v.expandShell(source); err != nil || got != want {
			t.Errorf("%q with a harmless value = %q, %v, want %q", source, got, err, want)
		}
	}
}

func TestArgumentsAreWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, args, want string }{
		{"git log $ARGUMENTS", "-n 5 'a b'", "git log '-n' '5' 'a b'"},
		{`git log "$ARGUMENTS"`, "-n 5", `git log "'-n 5'"`},
		{"git log $ARGUMENTS", "", "git log ''"},
		{"git log $ARGUMENTS", "$(id); x", "git log '$(id);' 'x'"},
	} {
		v := values{all: c.args, words: words(c.args)}
		if c.source[len(c.source)-1] == '"' {
			c.want = fmt.Sprintf("git log \"\"'%s'\"\"", c.args)
		}
		if got, err := v.expandShell(c.source); err != nil || got != c.want {
			t.Errorf("%q with %q = %q, %v, want %q", c.source, c.args, got, err, c.want)
		}
	}
}
