package search

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ripgrepPath returns the installed ripgrep, or skips the test.
func ripgrepPath(t *testing.T) string {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep is not installed")
	}
	return rg
}

// listing writes an answer in one line per entry.
func listing(dir string, f Found) []string {
	out := []string{}
	for _, file := range f.Files {
		rel, _ := filepath.Rel(dir, file.Path)
		if file.Lines == nil {
			out = append(out, fmt.Sprintf("%s %d", rel, file.Count))
		}
		for _, l := range file.Lines {
			mark := ":"
			if l.Context {
				mark = "-"
			}
			if l.Gap {
				mark += "gap:"
			}
			out = append(out, fmt.Sprintf("%s:%d%s%s", rel, l.Number, mark, l.Text))
		}
	}
	return out
}

func forest(t *testing.T) string {
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		".gitignore":      "*.log\n",
		"a.go":            "package a\n\nfunc Foo() {}\nfunc Bar() {}\n// foo\n",
		"b.txt":           "one\r\ntwo foo\r\nthree\r\n",
		"c.log":           "foo ignored\n",
		"sub/d.go":        "x\nx\nx\nfoo\nx\nx\nx\nfoo bar foo\nlast without end",
		"sub/.hidden":     "foo hidden\n",
		"sub/bin":         "foo\x00bar\n",
		"sub/latin":       "caf\xe9 foo\n",
		"sub/bom":         "\uFEFFfoo at the start\n",
		"sub/utf16":       "\xff\xfef\x00o\x00o\x00\n\x00",
		"with\nbreak/a b": "foo in an odd place\n",
		"-dash":           "foo\n",
		".git/config":     "foo\n",
		"empty":           "",
	})
	return dir
}

func TestGrep(t *testing.T) {
	t.Parallel()
	dir := forest(t)
	for _, tt := range []struct {
		name string
		q    Query
		want []string
	}{
		{"files in the order of paths", Query{Pattern: "foo", Mode: Files},
			[]string{"-dash 1", "a.go 1", "b.txt 1", "sub/.hidden 1", "sub/bom 1", "sub/d.go 1", "sub/latin 1", "sub/utf16 1", "with\nbreak/a b 1"}},
		{"counts", Query{Pattern: "foo", Mode: Counts, Globs: []string{"*.go"}}, []string{"a.go 1", "sub/d.go 2"}},
		{"lines with context", Query{Pattern: "foo", Mode: Lines, Before: 1, After: 2, Globs: []string{"d.go"}}, []string{
			"sub/d.go:3-x", "sub/d.go:4:foo", "sub/d.go:5-x", "sub/d.go:6-x", "sub/d.go:7-x", "sub/d.go:8:foo bar foo", "sub/d.go:9-last without end"}},
		{"a gap in the context", Query{Pattern: "foo", Mode: Lines, Before: 1, Globs: []string{"d.go"}}, []string{
			"sub/d.go:3-x", "sub/d.go:4:foo", "sub/d.go:7-gap:x", "sub/d.go:8:foo bar foo"}},
		{"only what matches", Query{Pattern: "fo.", Mode: Lines, OnlyMatch: true, Globs: []string{"d.go"}}, []string{
			"sub/d.go:4:foo", "sub/d.go:8:foo", "sub/d.go:8:foo"}},
		{"no case", Query{Pattern: "FOO", Mode: Counts, IgnoreCase: true, Type: "go"}, []string{"a.go 2", "sub/d.go 2"}},
		{"anchors at CR LF", Query{Pattern: "^two foo$", Mode: Lines}, []string{"b.txt:2:two foo"}},
		{"start after a byte order mark", Query{Pattern: "^foo at", Mode: Lines}, []string{"sub/bom:1:foo at the start"}},
		{"bytes that are no text", Query{Pattern: "caf", Mode: Lines}, []string{"sub/latin:1:caf\uFFFD foo"}},
		{"across lines", Query{Pattern: `\) \{\}\nfunc`, Mode: Lines, Multiline: true}, []string{"a.go:3:func Foo() {}", "a.go:4:func Bar() {}"}},
		{"across CR LF", Query{Pattern: "one\ntwo", Mode: Lines, Multiline: true}, []string{"b.txt:1:one", "b.txt:2:two foo"}},
		{"dot across lines", Query{Pattern: "(?U)package.*Bar", Mode: Counts, Multiline: true}, []string{"a.go 1"}},
		{"names left out", Query{Pattern: "foo", Mode: Files, Globs: []string{"!*.go", "!.hidden", "!sub/[bu]*", "!-*"}},
			[]string{"b.txt 1", "sub/latin 1", "with\nbreak/a b 1"}},
		{"whole paths", Query{Pattern: "foo", Mode: Files, Globs: []string{"sub/**/*.go"}}, []string{"sub/d.go 1"}},
		{"class with a line break", Query{Pattern: `x[^a]foo`, Mode: Lines}, []string{}},
		{"space is not a line break", Query{Pattern: `x\sfoo`, Mode: Lines}, []string{}},
		{"word boundary", Query{Pattern: `\bfoo\b`, Mode: Counts, Globs: []string{"d.go"}}, []string{"sub/d.go 2"}},
		{"inside a word", Query{Pattern: `\Boo`, Mode: Counts, Globs: []string{"d.go"}}, []string{"sub/d.go 2"}},
		{"ends of the text mean ends of lines", Query{Pattern: `\Afoo\z`, Mode: Lines, Globs: []string{"d.go"}}, []string{"sub/d.go:4:foo"}},
		{"empty pattern matches lines, not the end", Query{Pattern: "^", Mode: Counts, Globs: []string{"a.go", "empty"}}, []string{"a.go 5"}},
		{"one file", Query{Pattern: "Foo", Mode: Lines, Root: "a.go"}, []string{"a.go:3:func Foo() {}"}},
		{"limit", Query{Pattern: "foo", Mode: Files, Limit: 2}, []string{"-dash 1", "a.go 1"}},
	} {
		rg, _ := exec.LookPath("rg")
		for engine, program := range map[string]string{"own engine": "", "ripgrep": rg} {
			q := tt.q
			q.Root = filepath.Join(dir, q.Root)
			if q.Limit == 0 {
				q.Limit = 1000
			}
			found, err := Grep(t.Context(), q, program)
			if err != nil {
				t.Fatalf("%s, %s: %v", tt.name, engine, err)
			}
			if d := cmp.Diff(tt.want, listing(dir, found)); d != "" {
				t.Errorf("%s, %s (-want +got):\n%s", tt.name, engine, d)
			}
		}
	}
}

// TestBothEnginesAgree compares ripgrep with the own engine on random files and
// patterns.
func TestBothEnginesAgree(t *testing.T) {
	rg := ripgrepPath(t)
	top := t.TempDir()
	word := rapid.SampledFrom([]string{"foo", "bar", "x", " ", "\n", "\r\n", "\n\n", "_", "9", "é", "FOO", "(", "a.b", "\t", "k", "-"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 30).Draw(t, "words"), "") })
	piece := rapid.SampledFrom([]string{"foo", "bar", "x", ".", `\w`, `\d+`, `\s`, `\b`, "[a-f]", "[^x]", "é", "o*", "(?i)fo",
		"(foo|bar)", "x?", `\.`, `\pL`, `[^\s]`, "(?:a|)", `\W`, "k", "[[:upper:]]", "-", `\x{66}`, "{", "[&~-]"})
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(top, "t")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		files := map[string]string{}
		for _, name := range []string{"a.go", "b/c.txt", "b/d.go", "b-d"} {
			files[name] = text.Draw(t, name)
		}
		plant(t, dir, files)
		q := Query{
			Root: dir,
			// Anchors where people put them: ripgrep sees "$^" its own way.
			Pattern: rapid.SampledFrom([]string{"", "", "^"}).Draw(t, "start") +
				strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "pattern"), "") +
				rapid.SampledFrom([]string{"", "", "$"}).Draw(t, "end"),
			Mode:       rapid.SampledFrom([]Mode{Lines, Files, Counts}).Draw(t, "mode"),
			IgnoreCase: rapid.Bool().Draw(t, "ignore case"), OnlyMatch: rapid.Bool().Draw(t, "only match"),
			Before: rapid.IntRange(0, 2).Draw(t, "before"), After: rapid.IntRange(0, 2).Draw(t, "after"),
			Type: rapid.SampledFrom([]string{"", "go"}).Draw(t, "type"), Limit: 1000,
		}
		if q.OnlyMatch {
			q.Before, q.After = 0, 0
		}
		own, err := Grep(context.Background(), q, "")
		if err != nil {
			t.Skip(err)
		}
		// Not through Grep, which would hide a failure by falling back.
		p, _ := compile(q)
		names, _ := newFilter(q.Globs, q.Type)
		globs, _ := names.simple()
		text, ok := p.rust()
		if !ok {
			t.Skip("not for ripgrep")
		}
		c := newCollector(q)
		if err := ripgrep(context.Background(), rg, q, text, names, globs, c); err != nil {
			t.Fatalf("ripgrep with %q: %v", text, err)
		}
		theirs := c.found()
		if d := cmp.Diff(listing(dir, theirs), listing(dir, own)); d != "" {
			t.Fatalf("pattern %q, files %q: ripgrep (-) and the own engine (+) differ:\n%s", q.Pattern, files, d)
		}
		if q.Mode != Lines && (theirs.Total != own.Total || theirs.Sum != own.Sum) {
			t.Fatalf("totals %d/%d and %d/%d differ", theirs.Total, theirs.Sum, own.Total, own.Sum)
		}
	})
}

// TestScannerFindsWhatARegexpFindsLineByLine checks the shortcuts of the scanner.
func TestScannerFindsWhatARegexpFindsLineByLine(t *testing.T) {
	word := rapid.SampledFrom([]string{"foo", "bar", "x", " ", "\n", "\n\n", "fo", "of"})
	piece := rapid.SampledFrom([]string{"foo", "bar", "x", ".", `\w`, "^", "$", "o*", "(fo)+", "[^x]", "(x|foo)"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(word, 0, 40).Draw(t, "text"), "")
		q := Query{Pattern: strings.Join(rapid.SliceOfN(piece, 1, 3).Draw(t, "pattern"), ""), Mode: Lines}
		p, err := compile(q)
		if err != nil {
			t.Skip(err)
		}
		want := []string{}
		re := regexp.MustCompile(q.Pattern)
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if re.MatchString(line) && text != "" {
				want = append(want, fmt.Sprint(i+1, line))
			}
		}
		var f File
		s := scanner{q: q, p: p, data: decodeText([]byte(text)), file: &f}
		s.lines()
		got := []string{}
		for _, l := range f.Lines {
			got = append(got, fmt.Sprint(l.Number, l.Text))
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("pattern %q in %q (-want +got):\n%s", q.Pattern, text, d)
		}
	})
}

func TestBadPatternsSayWhere(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]string{
		"a(b":      "missing closing ), at position 2",
		"é)":       "unexpected ), at position 2",
		"x[a":      "missing closing ] [a, at position 2",
		"a**":      "invalid nested repetition operator **, at position 2",
		"(?!x)a":   "(?! is not supported (no look-around and no back-references), at position 1",
		`a\y`:      `invalid escape sequence \y, at position 2`,
		"a\nb":     "it contains a line break, which needs multiline",
		`[[:foo:]`: `invalid character class range [:foo:], at position 2`,
		"x{2000}":  "invalid repeat count {2000}, at position 2",
		`[)](`:     "missing closing ), at position 4",
	} {
		_, err := Grep(t.Context(), Query{Pattern: pattern, Root: "/"}, "")
		var bad *BadPattern
		if !errors.As(err, &bad) || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("Grep(%q) = %v, want …%s", pattern, err, want)
		}
	}
}

func TestBadFilters(t *testing.T) {
	t.Parallel()
	if _, err := Grep(t.Context(), Query{Pattern: "x", Root: "/", Globs: []string{"[a"}}, ""); !errors.As(err, new(BadGlob)) {
		t.Errorf("a glob without an end gives %v", err)
	}
	if _, err := Grep(t.Context(), Query{Pattern: "x", Root: "/", Type: "golang"}, ""); !errors.As(err, new(BadType)) {
		t.Errorf("an unknown type gives %v", err)
	}
}

// TestABrokenRipgrepIsReplaced: whatever is called rg on this machine, the
// answer is right.
func TestABrokenRipgrepIsReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plant(t, dir, map[string]string{"src/a": "foo\n"})
	for _, body := range []string{"echo nonsense; exit 0", "echo wrong flag >&2; exit 2", "kill -9 $$"} {
		rg := filepath.Join(dir, "rg")
		if err := os.WriteFile(rg, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		found, err := Grep(t.Context(), Query{Pattern: "foo", Root: filepath.Join(dir, "src"), Mode: Lines, Limit: 9}, rg)
		if err != nil || len(found.Files) != 1 {
			t.Errorf("with an rg that does %q: %v, %v", body, found, err)
		}
	}
}

func TestCancelledSearchEnds(t *testing.T) {
	t.Parallel()
	dir := forest(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the user said stop")
	cancel(why)
	for _, rg := range []string{"", "/usr/bin/rg"} {
		if _, err := Grep(ctx, Query{Pattern: "foo", Root: dir, Mode: Lines}, rg); !errors.Is(err, why) {
			t.Errorf("Grep(cancelled, %q) = %v, want %v", rg, err, why)
		}
	}
	if _, err := Glob(ctx, dir, "**"); !errors.Is(err, why) {
		t.Errorf("Glob(cancelled) = %v, want %v", err, why)
	}
}

func TestPipesAreNotOpened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a": "foo\n"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "loop")); err != nil {
		t.Fatal(err)
	}
	found, err := Grep(t.Context(), Query{Pattern: "foo", Root: dir, Mode: Files, Limit: 9}, "")
	if err != nil || found.Total != 1 {
		t.Errorf("Grep beside a pipe = %v, %v; want one file", found, err)
	}
	if _, err := Grep(t.Context(), Query{Pattern: "foo", Root: filepath.Join(dir, "pipe")}, ""); err == nil {
		t.Error("Grep of a pipe succeeded")
	}
}

func TestLimitKeepsTheFirstPathsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newCollector(Query{Mode: Lines, Limit: rapid.IntRange(1, 2000).Draw(t, "limit")})
		n := rapid.IntRange(1, 40).Draw(t, "files")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 300), n, n).Draw(t, "sizes")
		want, sum := 0, 0
		for want < n && sum < c.limit {
			sum += sizes[want]
			want++
		}
		for _, i := range rapid.Permutation(indices(n)).Draw(t, "order") {
			c.add(File{Path: fmt.Sprintf("%03d", i), Lines: make([]Line, sizes[i])})
		}
		found := c.found()
		if len(found.Files) != want || found.More != (want < n) || found.Total != n {
			t.Fatalf("kept %d files, more %v, total %d; want %d of %d", len(found.Files), found.More, found.Total, want, n)
		}
		for i, f := range found.Files {
			if f.Path != fmt.Sprintf("%03d", i) {
				t.Fatalf("file %d is %s", i, f.Path)
			}
		}
	})
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func TestLongLinesAreCut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plant(t, dir, map[string]string{"min.js": strings.Repeat("é", 1<<20) + "\nfoo\n"})
	for _, rg := range []string{"", "/usr/bin/rg"} {
		found, err := Grep(t.Context(), Query{Pattern: ".", Root: dir, Mode: Lines, Limit: 9}, rg)
		if err != nil || len(found.Files) != 1 || len(found.Files[0].Lines) != 2 {
			t.Fatalf("Grep = %v, %v; want two lines", found, err)
		}
		if n := len(found.Files[0].Lines[0].Text); n > lineWidth+30 {
			t.Errorf("with rg %q: the long line has %d bytes", rg, n)
		}
	}
}
