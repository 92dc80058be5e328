package attach

import (
	"maps"
	"strings"
	"testing"
	"unicode"

	"heddle/internal/mcp"
)

func promptWith(names ...string) mcp.Prompt {
	p := mcp.Prompt{Full: "mcp__s__p"}
	for _, name := range names {
		optional := strings.TrimSuffix(name, "?")
		p.Arguments = append(p.Arguments, mcp.Argument{Name: optional, Required: optional == name})
	}
	return p
}

func TestArgumentsOfPrompts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		prompt mcp.Prompt
		typed  string
		want   map[string]string
		err    string
	}{
		{promptWith(), "", map[string]string{}, ""},
		{promptWith(), " x", nil, `takes no argument "x"`},
		{promptWith("a"), "one two ", map[string]string{"a": "one two"}, ""},
		{promptWith("a"), `"one two"`, map[string]string{"a": "one two"}, ""},
		{promptWith("a"), `"one" two`, map[string]string{"a": `"one" two`}, ""},
		{promptWith("a"), `it's`, map[string]string{"a": "it's"}, ""},
		{promptWith("a", "b"), `"one two"   three four`, map[string]string{"a": "one two", "b": "three four"}, ""},
		{promptWith("a", "b"), `'one two' "three"`, map[string]string{"a": "one two", "b": "three"}, ""},
		{promptWith("a", "b"), `"open three`, map[string]string{"a": `"open`, "b": "three"}, ""},
		{promptWith("a", "b"), "title\n\nlong\ntext", map[string]string{"a": "title", "b": "long\ntext"}, ""},
		{promptWith("a", "b?"), "one", map[string]string{"a": "one"}, ""},
		{promptWith("a", "b"), "one", nil, "b is missing: write /mcp__s__p a b"},
		{promptWith("a", "b?"), "  ", nil, "a is missing: write /mcp__s__p a [b]"},
	} {
		got, err := arguments(c.prompt, c.typed)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("arguments(%q) = %v, %v, want the error %q", c.typed, got, err, c.err)
			}
			continue
		}
		if err != nil || !maps.Equal(got, c.want) {
			t.Errorf("arguments(%q) = %q, %v, want %q", c.typed, got, err, c.want)
		}
	}
}

// Whatever is typed, nothing of it is lost but quotes and blanks.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{"", "a b c", `"a b" c`, `'a`, `"" x`, "\"a\"b", "a\tb", "ä \xff"} {
		f.Add(seed)
	}
	bare := func(s string) string {
		return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '"' || r == '\'' || unicode.IsSpace(r) }), "")
	}
	f.Fuzz(func(t *testing.T, typed string) {
		got, err := arguments(promptWith("a?", "b?"), typed)
		if err != nil {
			t.Fatalf("arguments(%q): %v", typed, err)
		}
		if bare(got["a"]+got["b"]) != bare(typed) {
			t.Errorf("arguments(%q) = %q: something is lost", typed, got)
		}
	})
}

func TestOfferingNamesSomePrompts(t *testing.T) {
	t.Parallel()
	var all []mcp.Prompt
	for range 12 {
		all = append(all, promptWith())
	}
	for n, want := range map[int]string{
		0: "/mcp shows which servers are there", 1: "there are /mcp__s__p; /mcp shows",
		12: strings.Repeat("/mcp__s__p, ", 10) + "…; /mcp",
	} {
		if got := offering(all[:n]); !strings.Contains(got, want) {
			t.Errorf("offering(%d prompts) = %q, want %q", n, got, want)
		}
	}
}
