package definition

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

func TestSpellingsOfKeys(t *testing.T) {
	t.Parallel()
	for _, written := range []string{"allowed-tools", "allowed_tools", "allowedTools"} {
		f := parse(t, "---\n"+written+": Read\n---\n")
		for _, asked := range []string{"allowed-tools", "allowed_tools", "allowedTools"} {
			if got, err := f.Text(asked); got != "Read" || err != nil || !f.Has(asked) {
				t.Errorf("Text(%s) of %s = %q, %v, want Read", asked, written, got, err)
			}
		}
	}
	f := parse(t, "---\nallowed-tools: Read\nother: 1\nallowedTools: Write\n---\n")
	if diff := cmp.Diff([]string{"allowed-tools", "other"}, f.Keys()); diff != "" {
		t.Errorf("Keys (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"x.md:4:1: allowedTools: is set already in line 2, which counts: remove one of them"}, warnings(f)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestBool(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"true": true, "TRUE": true, "yes": true, "On": true, "1": true, `"true"`: true,
		"false": false, "No": false, "off": false, "0": false,
	} {
		got, err := parse(t, "---\nx: "+text+"\n---\n").Bool("x", !want)
		if got != want || err != nil {
			t.Errorf("Bool of %s = %t, %v, want %t", text, got, err, want)
		}
	}
	f := parse(t, "---\nnull:\nbad: maybe\nlist: [true]\n---\n")
	for _, key := range []string{"none", "null"} {
		if got, err := f.Bool(key, true); !got || err != nil {
			t.Errorf("Bool(%s) = %t, %v, want the default", key, got, err)
		}
	}
	for key, want := range map[string]string{
		"bad":  `x.md:3:1: bad: expected true or false, found "maybe"`,
		"list": "x.md:4:1: list: expected true or false, found a list",
	} {
		if _, err := f.Bool(key, true); err == nil || err.Error() != want {
			t.Errorf("Bool(%s) = %v, want %s", key, err, want)
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text        string
		list, words []string
	}{
		{"Read, Write", []string{"Read", "Write"}, []string{"Read", "Write"}},
		{"Agent(a, b), Read", []string{"Agent(a, b)", "Read"}, []string{"Agent(a, b)", "Read"}},
		{"Bash(git *) Read", []string{"Bash(git *) Read"}, []string{"Bash(git *)", "Read"}},
		{"[Agent(a, b), Read, Agent(c)]", []string{"Agent(a, b)", "Read", "Agent(c)"}, []string{"Agent(a, b)", "Read", "Agent(c)"}},
		{`["Bash(echo \"(\":*)", Read]`, []string{`Bash(echo "(":*)`, "Read"}, []string{`Bash(echo "(":*)`, "Read"}},
		{"\n  - Read\n  - Bash(ls a)\n  -\n", []string{"Read", "Bash(ls a)"}, []string{"Read", "Bash(ls a)"}},
		{"[1, true]", []string{"1", "true"}, []string{"1", "true"}},
		{", ,", nil, nil},
		{"", nil, nil},
		{"\"*\"", []string{"*"}, []string{"*"}},
		{"Bash(rm, Write", []string{"Bash(rm, Write"}, []string{"Bash(rm, Write"}},
	} {
		f := parse(t, "---\nx: "+c.text+"\n---\n")
		if got, err := f.List("x"); err != nil || !cmp.Equal(got, c.list) {
			t.Errorf("List of %q = %q, %v, want %q", c.text, got, err, c.list)
		}
		if got, err := f.Words("x"); err != nil || !cmp.Equal(got, c.words) {
			t.Errorf("Words of %q = %q, %v, want %q", c.text, got, err, c.words)
		}
	}
	f := parse(t, "---\nmap: {a: b}\nnested: [[a]]\n---\n")
	for key, want := range map[string]string{
		"map":    "x.md:2:1: map: expected a list, found a map",
		"nested": "x.md:3:1: nested: expected a list of texts, found a list",
	} {
		if _, err := f.List(key); err == nil || err.Error() != want {
			t.Errorf("List(%s) = %v, want %s", key, err, want)
		}
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	f := parse(t, "---\na: 5\nb: \"6\"\nc: 1.5\nd: many\n---\n")
	for key, want := range map[string]int{"a": 5, "b": 6} {
		if got, ok, err := f.Number(key); got != want || !ok || err != nil {
			t.Errorf("Number(%s) = %d, %t, %v, want %d", key, got, ok, err, want)
		}
	}
	if _, ok, err := f.Number("none"); ok || err != nil {
		t.Errorf("Number(none) = %t, %v, want nothing", ok, err)
	}
	for key, want := range map[string]string{
		"c": "x.md:4:1: c: expected a whole number, found 1.5",
		"d": `x.md:5:1: d: expected a whole number, found "many"`,
	} {
		if _, _, err := f.Number(key); err == nil || err.Error() != want {
			t.Errorf("Number(%s) = %v, want %s", key, err, want)
		}
	}
}

func TestValueKeepsPlaces(t *testing.T) {
	t.Parallel()
	f := parse(t, `---
name: x
hooks:
  PreToolUse:
    # a comment
    - matcher: Bash
      timeout: soon
      hooks: [{type: command, command: "a\nb", n: 0x1F, big: 1_000, no: .inf, nil: ~}]
---
`)
	text, line, ok := f.Value("hooks")
	if !ok || line != 4 {
		t.Errorf("Value(hooks) begins in line %d, %t, want 4", line, ok)
	}
	l, err := config.Text(f.Layer, f.Path, text)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"PreToolUse":[{"matcher":"Bash","timeout":"soon","hooks":[{"type":"command","command":"a\nb","n":31,"big":1000,"no":".inf"}]}]}`
	if got := string(l.JSON()); got != want {
		t.Errorf("JSON = %s, want %s", got, want)
	}
	if got := l.At("PreToolUse", "0", "timeout").Here().Line; got != 7 {
		t.Errorf("timeout is in line %d, want 7", got)
	}
	if _, _, ok := f.Value("none"); ok {
		t.Error("Value(none) = something, want nothing")
	}
}
