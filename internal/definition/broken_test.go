package definition

import (
	"fmt"
	"strings"
	"testing"

	"heddle/internal/config"
)

// damages are what goes wrong with a line of front matter when it is typed or pasted.
var damages = []struct {
	name string
	of   func(line string) string
}{
	{"colon missing", func(l string) string { return strings.Replace(l, ":", "", 1) }},
	{"colon doubled", func(l string) string { return strings.Replace(l, ":", ": :", 1) }},
	{"blank missing", func(l string) string { return strings.Replace(l, ": ", ":", 1) }},
	{"quote opened", func(l string) string { return strings.Replace(l, ": ", `: "`, 1) }},
	{"quote closed", func(l string) string { return l + `"` }},
	{"bracket opened", func(l string) string { return strings.Replace(l, ": ", ": [", 1) }},
	{"bracket closed", func(l string) string { return l + "]" }},
	{"brace", func(l string) string { return strings.Replace(l, ": ", ": {", 1) }},
	{"tab", func(l string) string { return "\t" + l }},
	{"indented", func(l string) string { return "   " + l }},
	{"dash", func(l string) string { return "- " + l }},
	{"alias", func(l string) string { return strings.Replace(l, ": ", ": *", 1) }},
	{"anchor", func(l string) string { return strings.Replace(l, ": ", ": &", 1) }},
	{"tag", func(l string) string { return strings.Replace(l, ": ", ": !", 1) }},
	{"percent", func(l string) string { return "%" + l }},
	{"doubled", func(l string) string { return l + "\n" + l }},
	{"fence above", func(l string) string { return "---\n" + l }},
	{"fence below", func(l string) string { return l + "\n---" }},
	{"control character", func(l string) string { return l + "\x01" }},
	{"typographic quotes", func(l string) string { return strings.Replace(l, ": ", ": “", 1) }},
	{"conflict", func(l string) string { return "<<<<<<< HEAD\n" + l + "\n=======\n" + l + "\n>>>>>>> x" }},
	{"cut", func(l string) string { return l[:len(l)/2] }},
}

func TestBrokenFrontMatter(t *testing.T) {
	t.Parallel()
	good := []string{
		"name: reviewer", "description: Reviews what changed", "tools: Read, Grep, Agent(a, b)",
		"metadata:", "  version: 1.0", "skills: [one, two]", "background: yes",
	}
	variants := 0
	for _, ends := range []string{"\n", "\r\n"} {
		for i := range good {
			for _, d := range damages {
				bad := append([]string(nil), good...)
				bad[i] = d.of(good[i])
				text := strings.ReplaceAll("---\n"+strings.Join(bad, "\n")+"\n---\nBody\n", "\n", ends)
				checkBroken(t, fmt.Sprintf("%s in line %d, ends %q", d.name, i+2, ends), text, strings.Count(text, ends))
				variants++
			}
		}
	}
	if variants < 100 {
		t.Errorf("%d variants, want at least 100", variants)
	}
}

// checkBroken checks that a file is read, or refused at one of its lines.
func checkBroken(t *testing.T, name, text string, lines int) {
	t.Helper()
	f, err := Parse(config.User, "x.md", []byte(text))
	if err != nil {
		if line := place(err); line < 1 || line > lines {
			t.Errorf("%s: %v, want a line of the file", name, err)
		}
		return
	}
	for _, w := range f.Warnings {
		if w.Line < 1 || w.Line > lines || w.File != "x.md" {
			t.Errorf("%s: %v, want a line of the file", name, w)
		}
	}
	if !strings.HasSuffix(f.Body, "Body") {
		t.Errorf("%s: body = %q, want that it ends with Body", name, f.Body)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"---\na: b\n---\nBody", "---\r\na: b: c\r\n---", "---\n\ta: [x\n---\n", "---\na: |\n  x\nb: *x\n---\n", "\ufeff---\n- a\n---",
		"---\na: {b: [1, 0x2, ~, .nan]}\nc: !!str 1\n---\n", "---\n? a\n: b\n---\n", "---\na: \"x\\u0000\"\n...\n---", "---\na: 'x\n  y'\n<<: b\n---\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(config.User, "x.md", []byte(text))
		if err != nil {
			if place(err) < 1 {
				t.Errorf("Parse(%q) = %v, want a line", text, err)
			}
			return
		}
		for _, key := range d.Keys() {
			value, line, ok := d.Value(key)
			if !ok {
				continue
			}
			if _, err := config.Text(config.User, "x.md", value); err != nil && line > 0 && !strings.Contains(err.Error(), "already") {
				t.Errorf("Value(%q) of %q = %s: %v", key, text, value, err)
			}
			_, _ = d.Text(key)
			_, _ = d.Words(key)
			_, _ = d.Bool(key, true)
		}
	})
}
