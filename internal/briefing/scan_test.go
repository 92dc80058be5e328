package briefing

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindImports(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"@a", []string{"a"}},
		{"@a.md @b/c.md,\n- @~/d.\n* (@/e/f.md)", []string{"a.md", "b/c.md", "~/d", "/e/f.md"}},
		{"**Read** @../x.md!", []string{"../x.md"}},
		{`@my\ notes.md and`, []string{"my notes.md"}},
		{"a@b.c, @ alone, @, @.", nil},
		{"`@a` ``@b ` @c`` @d", []string{"d"}},
		{"` @a", []string{"a"}}, // a backtick without a partner is text
		{"`` @a ` @b", []string{"a", "b"}},
		{"```\n@a\n```\n@b", []string{"b"}},
		{"```go\n@a\n~~~\n@b\n````\n@c", []string{"c"}},
		{"~~~~\n@a\n~~~\n@b\n~~~~\n@c", []string{"c"}},
		{"  - x\n      ```sh\n      @a\n      ```\n  - @b", []string{"b"}},
		{"```never closed\n@a", nil},
		{"```code``` @a\n@b", []string{"a", "b"}}, // no fence, but code in a line
		{"``` a\n``` b\n@c", nil},                 // a closing fence has nothing after it
	} {
		if d := cmp.Diff(c.want, findImports(c.text)); d != "" {
			t.Errorf("findImports(%q) (-want +got):\n%s", c.text, d)
		}
	}
}

func TestStripComments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"a\n<!-- x -->\nb\n", "a\nb\n"},
		{"a\n<!-- x\n```\n@y\n-->\nb", "a\nb"},
		{"<!-- x --> after\n", " after\n"},
		{"<!-- x --><!-- y -->\nz", "z"},
		{"in a line <!-- stays -->\n", "in a line <!-- stays -->\n"},
		{"```html\n<!-- code -->\n```\n<!-- x -->", "```html\n<!-- code -->\n```\n"},
		{"a\n<!-- never closed\nb\n", "a\n<!-- never closed\nb\n"},
		{"<!-- x -->", ""},
		{"a", "a"},
	} {
		if got := stripComments(c.text); got != c.want {
			t.Errorf("stripComments(%q) = %q, want %q", c.text, got, c.want)
		}
	}
}

// A text made to be slow costs no more than another of its length: these would take hours
// if it did, and the time limit of the tests ends them.
func TestScanningIsLinear(t *testing.T) {
	t.Parallel()
	stripComments(strings.Repeat("<!--\n", maxFile/5))
	findImports(strings.Repeat("` `` ``` ```` `````  @x ", maxFile/24))
	var runs strings.Builder
	for i := range 1500 {
		runs.WriteString(strings.Repeat("`", i) + " ")
	}
	if got := findImports(runs.String() + strings.Repeat("x", maxFile) + "@"); len(got) != 0 {
		t.Errorf("imports: %q", got)
	}
	if got := escape(strings.Repeat("<", maxFile)); len(got) < maxFile {
		t.Errorf("escape gives %d bytes", len(got))
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"@a `@b` <!-- @c -->\n```\n@d\n```\n@e", "<!--\n-->\n@x\\ y", "~~~\n<!--\n~~~\n-->", "</memory>", "< / Memory\n>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		stripped := stripComments(text)
		if len(stripped) > len(text) {
			t.Errorf("stripComments(%q) = %q", text, stripped)
		}
		hasPaths(text)
		for _, imp := range findImports(stripped) {
			if imp == "" || strings.ContainsAny(imp, "\n\r\t`") {
				t.Errorf("findImports(%q) gives %q", stripped, imp)
			}
		}
		s := Briefing{Memory: []File{{Path: text, Text: text}}}.String()
		if strings.Count(strings.ToLower(s), "</memory>") != 1 || strings.Count(strings.ToLower(s), "<memory path=") != 1 {
			t.Errorf("the text ends its element:\n%s", s)
		}
	})
}
