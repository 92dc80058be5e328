package definition

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse(config.User, "x.md", []byte(text))
	if err != nil {
		t.Fatalf("Parse(%q): %v", text, err)
	}
	return f
}

func warnings(f *File) []string {
	var out []string
	for _, w := range f.Warnings {
		out = append(out, w.Error())
	}
	return out
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text  string
		description string
		body        string
		line        int
		warnings    []string
	}{
		{"plain", "---\ndescription: Reviews\n---\nBody\n", "Reviews", "Body", 4, nil},
		{"CRLF", "---\r\ndescription: Reviews\r\n---\r\n\r\nBody\r\nmore\r\n", "Reviews", "Body\nmore", 5, nil},
		{"CR", "---\rdescription: Reviews\r---\rBody", "Reviews", "Body", 4, nil},
		{"mixed line ends", "---\r\ndescription: Reviews\n---\rBody", "Reviews", "Body", 4, nil},
		{"CRLF and colon", "---\r\nname: x\r\ndescription: Use when: asked\r\n---\r\nBody", "Use when: asked", "Body", 5,
			[]string{"x.md:3:1: description: the value is not valid YAML and was read as plain text: put it in quotes"}},
		{"byte order mark", "\ufeff---\ndescription: Reviews\n---\nBody", "Reviews", "Body", 4, nil},
		{"blanks behind fences", "---  \ndescription: Reviews\n--- \t\nBody", "Reviews", "Body", 4, nil},
		{"fence at the end", "---\ndescription: Reviews\n---", "Reviews", "", 4, nil},
		{"no front matter", "# Title\n\n---\ndescription: no\n---\n", "", "# Title\n\n---\ndescription: no\n---", 1, nil},
		{"empty front matter", "---\n---\nBody", "", "Body", 3, nil},
		{"only a comment", "---\n# later\n---\nBody", "", "Body", 4, nil},
		{"nothing", "", "", "", 2, nil},
		{"tabs", "---\nmetadata:\n\tauthor: me\ndescription: Reviews\n---\nBody", "Reviews", "Body", 6,
			[]string{"x.md:3:1: indented with tabs, which YAML forbids; each was read as two spaces: use spaces"}},
		{"quotes and colon", "---\ndescription: \"Use when: asked\"\n---\nBody", "Use when: asked", "Body", 4, nil},
		{"quotes inside", "---\ndescription: 'It's fine: yes'\n---\nBody", "It's fine: yes", "Body", 4,
			[]string{"x.md:2:1: description: the value is not valid YAML and was read as plain text: put it in quotes"}},
		{"block kept", "---\ndescription: |\n  a: b\n  c\nname: x\n---\nBody", "a: b\nc\n", "Body", 7, nil},
		{"block folded", "---\ndescription: >\n  a\n  b\nname: x\n---\nBody", "a b\n", "Body", 7, nil},
		{"block beside a bad line", "---\ndescription: |\n  a: b: c\nhint: [a] [b]\n---\nBody", "a: b: c\n", "Body", 6,
			[]string{"x.md:4:1: hint: the value is not valid YAML and was read as plain text: put it in quotes"}},
		{"several lines", "---\ndescription: one\n  two\n---\nBody", "one two", "Body", 5, nil},
		{"duplicate", "---\ndescription: first\nx: 1\ndescription: second\n---\nBody", "first", "Body", 6,
			[]string{"x.md:4:1: description: is set already in line 2, which counts: remove one of them"}},
		{"emoji", "---\ndescription: 🧵 webt — schön\n---\n✅ Body", "🧵 webt — schön", "✅ Body", 4, nil},
		{"glob", "---\ndescription: *.go\n---\nBody", "*.go", "Body", 4,
			[]string{"x.md:2:1: description: the value is not valid YAML and was read as plain text: put it in quotes"}},
		{"at sign", "---\ndescription: @me\n---\nBody", "@me", "Body", 4,
			[]string{"x.md:2:1: description: the value is not valid YAML and was read as plain text: put it in quotes"}},
		{"number", "---\ndescription: 3000\n---\nBody", "3000", "Body", 4, nil},
		{"date", "---\ndescription: 2024-01-02\n---\nBody", "2024-01-02", "Body", 4, nil},
		{"list", "---\ndescription: [a, b]\n---\nBody", "a, b", "Body", 4, nil},
		{"null", "---\ndescription: ~\n---\nBody", "", "Body", 4, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := parse(t, c.text)
			got, err := f.Text("description")
			if got != c.description || err != nil {
				t.Errorf("Text(description) = %q, %v, want %q", got, err, c.description)
			}
			if f.Body != c.body || f.BodyLine != c.line {
				t.Errorf("body = %q at line %d, want %q at line %d", f.Body, f.BodyLine, c.body, c.line)
			}
			if diff := cmp.Diff(c.warnings, warnings(f)); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"no end", "---\na: b\n", "x.md:1:1: the front matter that begins here has no end: add a line --- after it"},
		{"anchor", "---\na: &x 1\nb: *x\n---\n", "x.md:2:4: anchors (&) and merge keys (<<) are not supported: put the text in quotes, or write it out"},
		{"alias in a list", "---\na:\n  - *x\n---\n", "x.md:3:5: aliases (*) are not supported: put the text in quotes"},
		{"NUL", "---\na: b\n---\n\n\x00", "x.md:5:1: the file holds a NUL byte, so it is not text"},
		{"not UTF-8", "---\na: \xff\n---\n", "x.md:2:1: the file is not valid UTF-8: save it as UTF-8"},
		{"list", "---\n- a\n---\n", "x.md:2:1: expected lines of the form KEY: VALUE, found a list"},
		{"scalar", "---\nhello\n---\n", "x.md:2:1: expected lines of the form KEY: VALUE, found a text"},
		{"second document", "---\na: 1\n...\nb: 2\n---\n", "x.md:4:2: a second YAML document begins here: there can be one"},
		{"deep", "---\na: " + strings.Repeat("[", 30000) + "\n---\n", "x.md:2:36: lists and maps stand more than 32 deep in each other"},
		{"deep dashes", "---\na:\n  " + strings.Repeat("- ", 30000) + "\n---\n", "x.md:3:67: lists and maps stand more than 32 deep in each other"},
		{"large front matter", "---\na: " + strings.Repeat("x", 70000) + "\n---\n", "x.md:1:1: the front matter is larger than 64 KiB"},
		{"large", strings.Repeat("x", MaxSize+1), "x.md:1:1: the file is larger than 1 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(config.User, "x.md", []byte(c.text))
			if err == nil || err.Error() != c.want {
				t.Errorf("Parse = %v, want %s", err, c.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, pipe := filepath.Join(dir, "a.md"), filepath.Join(dir, "pipe.md")
	if err := os.WriteFile(file, []byte("---\na: b\n---\nBody"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Read(config.Project, file)
	if err != nil || f.Body != "Body" || f.Path != file || f.Layer != config.Project {
		t.Errorf("Read(%s) = %+v, %v", file, f, err)
	}
	for _, path := range []string{pipe, dir, filepath.Join(dir, "none.md")} {
		if _, err := Read(config.Project, path); !strings.HasPrefix(fmt.Sprint(err), path+": cannot read it: ") {
			t.Errorf("Read(%s) = %v, want that it cannot be read", path, err)
		}
	}
}

// place returns the line that an error names.
func place(err error) int {
	p, ok := errors.AsType[*config.Problem](err)
	if !ok || p.File != "x.md" {
		return 0
	}
	return p.Line
}
