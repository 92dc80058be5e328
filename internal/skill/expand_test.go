package skill

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// bodyOf returns a command with a text.
func bodyOf(t *testing.T, text string) *Skill {
	t.Helper()
	c := Find(Source{Name: "test", Commands: []string{"c"}, FS: fstest.MapFS{"c/x.md": {Data: []byte(text)}}, Vars: map[string]string{"CLAUDE_PLUGIN_ROOT": "/plugins/k i t"}})
	return get(t, c, "x")
}

func expand(t *testing.T, text, args string) []Part {
	t.Helper()
	parts, err := bodyOf(t, text).Expand(args, Vars{Session: "s1", Project: "/home/p", Effort: "high"})
	if err != nil {
		t.Fatalf("Expand(%q) of %q: %v", args, text, err)
	}
	return parts
}

func TestExpandText(t *testing.T) {
	t.Parallel()
	const names = "---\narguments: [file, file-kind]\n---\n"
	for _, c := range []struct{ text, args, want string }{
		{"All: $ARGUMENTS.", `a "b c"`, `All: a "b c".`},
		{"$ARGUMENTS[1]|$0|$1|$2|$10", `a "b c" d\ e`, "b c|a|b c|d e|"},
		{"$0", "it's fine", "it's"},
		{"$0 $1", `"a\"b" 'c\d'`, `a"b c\d`},
		{names + "$file, $file-kind, $file-x, $filename", "a b", "a, b, a-x, $filename"},
		{"${CLAUDE_SESSION_ID} ${HEDDLE_PROJECT_DIR} ${CLAUDE_EFFORT} ${CLAUDE_SKILL_DIR} ${HEDDLE_PLUGIN_ROOT}", "", "s1 /home/p high c /plugins/k i t"},
		{"${UNKNOWN} $HOME $ $$ ${ ${x", "", "${UNKNOWN} $HOME $ $$ ${ ${x"},
		{`\$0 \$ARGUMENTS costs \$5 $0`, "a", "$0 $ARGUMENTS costs $5 a"},
		{`\n \\ $0`, "a", `\n \\ a`},
		{"No place", "a b", "No place\n\nARGUMENTS: a b"},
		{"No place", "  ", "No place"},
		{"$0", "'$1 !`id` @x ${CLAUDE_EFFORT}' second", "$1 !`id` @x ${CLAUDE_EFFORT}"},
		{"", "", ""},
		{"$ARGUMENTSX $ARGUMENTS[x]", "a", "$ARGUMENTSX a[x]"},
		{"```sh\n!`id` @x $0\n```", "a", "```sh\n!`id` @x a\n```"},
		{"`` !`id` @x `` and `@x $0`", "a", "`` !`id` @x `` and `@x a`"},
		{"an e-mail a@b.c, no!`id`, lone @ and !", "", "an e-mail a@b.c, no!`id`, lone @ and !"},
		{"unclosed ` here\n\nand !`id", "", "unclosed ` here\n\nand !`id"},
		{"~~~\n```!\nid\n```\n~~~", "", "~~~\n```!\nid\n```\n~~~"},
	} {
		var got strings.Builder
		for _, p := range expand(t, c.text, c.args) {
			if p.Kind != Text {
				t.Errorf("Expand(%q) of %q has %+v, want only text", c.args, c.text, p)
			}
			got.WriteString(p.Text)
		}
		if got.String() != c.want {
			t.Errorf("Expand(%q) of %q = %q, want %q", c.args, c.text, got.String(), c.want)
		}
	}
}

func TestExpandParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, args string
		want       []Part
	}{
		{"!`git status`", "", []Part{{Shell, "git status"}}},
		{"State: !`git log $0` end", "it's", []Part{{Text, "State: "}, {Shell, `git log 'it'\''s'`}, {Text, " end"}}},
		{"a\n```!\ngit log\ngit diff $ARGUMENTS\n```\nb", "'x y' z", []Part{{Text, "a\n"}, {Shell, "git log\ngit diff 'x y' 'z'"}, {Text, "\nb"}}},
		{"```!\n```\nb", "", []Part{{Text, "b"}}},
		{"!`cat ${CLAUDE_PLUGIN_ROOT}/x`", "", []Part{{Shell, "cat '/plugins/k i t'/x"}}},
		{"!`awk '{print \\$1}' $0`", "f", []Part{{Shell, "awk '{print $1}' 'f'"}}},
		{"!`echo \\$HOME`", "", []Part{{Shell, "echo \\$HOME"}}},
		{"See @src/a.go, (@b.md) and @\"c d.md\".", "", []Part{
			{Text, "See "}, {File, "src/a.go"}, {Text, ", ("}, {File, "b.md"}, {Text, ") and "}, {File, "c d.md"}, {Text, "."},
		}},
		{"@$0 @${CLAUDE_PLUGIN_ROOT}/x @$5!", "'a b' ", []Part{{File, "a b"}, {Text, " "}, {File, "/plugins/k i t/x"}, {Text, " @$5!"}}},
		{"@$ARGUMENTS[0]", "a", []Part{{File, "a"}}},
		{"@[id].ts @x[0] [@y]", "", []Part{{File, "[id].ts"}, {Text, " "}, {File, "x[0]"}, {Text, " ["}, {File, "y"}, {Text, "]"}}},
	} {
		if diff := cmp.Diff(c.want, expand(t, c.text, c.args)); diff != "" {
			t.Errorf("Expand(%q) of %q (-want +got):\n%s", c.args, c.text, diff)
		}
	}
}

func TestExpandSkill(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"skills/x/SKILL.md": "---\ndescription: d\n---\n\nRead ${CLAUDE_SKILL_DIR}/references/a.md."})
	s := get(t, Find(of(config.User, dir)), "x")
	parts, err := s.Expand("", Vars{})
	folder := filepath.Join(dir, "skills/x")
	want := []Part{{Text, "Base directory of this skill: " + folder + "\n\nRead " + folder + "/references/a.md."}}
	if diff := cmp.Diff(want, parts); diff != "" || err != nil {
		t.Errorf("Expand: %v (-want +got):\n%s", err, diff)
	}
	if err := os.WriteFile(s.Path, []byte("a new text"), 0o600); err != nil {
		t.Fatal(err)
	}
	parts, err = s.Expand("", Vars{})
	if err != nil || !strings.HasSuffix(parts[0].Text, "\n\na new text") {
		t.Errorf("Expand of what was changed = %v, %v, want the new text", parts, err)
	}
	if err := os.Remove(s.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Expand("", Vars{}); err == nil || !strings.Contains(err.Error(), "cannot read it") {
		t.Errorf("Expand of what was removed = %v, want that it cannot be read", err)
	}
}

func TestExpandRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, args, want string }{
		{"---\nx: y\n---\na\n\n```!\nid\n", "", "c/x.md:6:1: the block of commands that begins here has no end"},
		{"a\n\n!`echo ${x:-$0}`", "'a b'", "c/x.md:3:1: a value with special characters cannot be put into this command safely"},
		{"a\n```!\ncat <<END\n$0\nEND\n```", "$(id)", "c/x.md:2:1: a value with special characters cannot be put into this command safely"},
		{strings.Repeat("$ARGUMENTS", 1000), strings.Repeat("x", 10000), "c/x.md: the text would be longer than 8 MiB with these arguments: shorten them"},
	} {
		_, err := bodyOf(t, c.text).Expand(c.args, Vars{})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Expand(%.40q) of %.40q = %v, want %s…", c.args, c.text, err, c.want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range [][2]string{
		{"$ARGUMENTS $0 ${CLAUDE_EFFORT} \\$1", "a 'b"}, {"!`x \"$0\" '$1'`", "a b"}, {"```!\n$0 # $1\n```\n@a.md @\"b", "x\ny"},
		{"`a` ``b` ~~~\n```\n@$0,", "\\"}, {"!`case $(a) in \"$(b)\" <<x $0`", "z"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		c := Find(Source{Name: "fuzz", Commands: []string{"c"}, FS: fstest.MapFS{"c/x.md": {Data: []byte(text)}}})
		s, ok := c.Get("x")
		if !ok {
			return
		}
		parts, err := s.Expand(args, Vars{})
		if err != nil {
			return
		}
		plain, err := s.Expand("", Vars{})
		if err == nil && count(plain, Shell) != count(parts, Shell) {
			t.Errorf("Expand(%q) of %q has %d commands, without arguments %d", args, text, count(parts, Shell), count(plain, Shell))
		}
	})
}

func count(parts []Part, kind PartKind) int {
	n := 0
	for _, p := range parts {
		if p.Kind == kind {
			n++
		}
	}
	return n
}
