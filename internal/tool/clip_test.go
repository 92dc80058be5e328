package tool

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestClip(t *testing.T) {
	t.Parallel()
	var seq strings.Builder
	for i := 1; i <= 1000; i++ {
		fmt.Fprintf(&seq, "%d\n", i)
	}
	giant := strings.Repeat("a", 300)
	for _, tt := range []struct {
		name, text string
		limit      int
		want       string
	}{
		{"short enough", "a\nb\n", 4, "a\nb\n"},
		{"lines", seq.String(), 40, "1\n2\n3\n4\n5\n6\n7\n8\n9\n\n[… 987 lines omitted (3858 bytes) …]\n\n997\n998\n999\n1000\n"},
		{"one giant line", giant, 20, "aaaaaaaaaa\n\n[… 280 bytes omitted …]\n\naaaaaaaaaa"},
		{"one giant line with an end", giant + "\n", 20, "aaaaaaaaaa\n\n[… 281 bytes omitted …]\n\naaaaaaaaa\n"},
		{"wide characters stay whole", strings.Repeat("日", 100), 20, "日日日\n\n[… 282 bytes omitted …]\n\n日日日"},
		{"nothing fits", "abc", 0, "\n\n[… 3 bytes omitted …]\n\n"},
		{"negative", "abc", -1, "\n\n[… 3 bytes omitted …]\n\n"},
		{"lines, nothing fits", "a\nb\n", 0, "\n\n[… 2 lines omitted (4 bytes) …]\n\n"},
	} {
		if got := Clip(tt.text, tt.limit); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestClipExcerpt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		e     Excerpt
		limit int
		want  string
	}{
		{"nothing is missing", Excerpt{Head: "a\n", Tail: "b\n"}, 10, "a\nb\n"},
		{"only the middle is missing", Excerpt{Head: "a\n", Tail: "b\n", Bytes: 7, Lines: 2}, 10, "a\n\n[… 2 lines omitted (7 bytes) …]\n\nb\n"},
		{"more is cut", Excerpt{Head: "a\nb\nc\n", Tail: "x\ny\nz\n", Bytes: 7, Lines: 2}, 4, "a\n\n[… 6 lines omitted (15 bytes) …]\n\nz\n"},
		{"nobody counted", Excerpt{Head: "a\nb\nc\n", Tail: "x\ny\nz\n", Bytes: 7, Lines: -1}, 4, "a\n\n[… 15 bytes omitted …]\n\nz\n"},
	} {
		if got := tt.e.Clip(tt.limit); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

var noteForm = regexp.MustCompile(`(?s)^(.*)\n\n\[… (?:(\d+) lines omitted \((\d+) bytes\)|(\d+) bytes omitted) …\]\n\n(.*)$`)

// checkClip checks that what Clip says is exact.
func checkClip(t interface{ Fatalf(string, ...any) }, text string, limit int) {
	got := Clip(text, limit)
	if len(text) <= max(limit, 0) {
		if got != text {
			t.Fatalf("Clip(%q, %d) = %q", text, limit, got)
		}
		return
	}
	m := noteForm.FindStringSubmatch(got)
	if m == nil {
		t.Fatalf("Clip(%q, %d) = %q, without a note", text, limit, got)
	}
	head, tail := m[1], m[5]
	if len(head)+len(tail) > max(limit, 0) || !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) {
		t.Fatalf("Clip(%q, %d) keeps %q and %q", text, limit, head, tail)
	}
	if utf8.ValidString(text) && !utf8.ValidString(got) {
		t.Fatalf("Clip(%q, %d) = %q is not UTF-8", text, limit, got)
	}
	bytes, _ := strconv.Atoi(m[3] + m[4])
	middle := strings.TrimSuffix(text[len(head):], tail)
	if m[2] == "" {
		// A line end before the note may be that of the head.
		if d := len(middle) - bytes; d != 0 && (d != 1 || middle[0] != '\n') {
			t.Fatalf("Clip(%q, %d) = %q, but %d bytes are missing", text, limit, got, len(middle))
		}
		return
	}
	whole := strings.TrimPrefix(middle, "\n")
	if head == "" {
		whole = middle[len(middle)-bytes:]
	}
	if lines, _ := strconv.Atoi(m[2]); lines != strings.Count(whole, "\n") || bytes != len(whole) {
		t.Fatalf("Clip(%q, %d) = %q, but %q is missing", text, limit, got, whole)
	}
}

func FuzzClip(f *testing.F) {
	f.Add("a\nb\nc\nd\n", 4)
	f.Add(strings.Repeat("日", 40), 30)
	f.Add("", -42)
	f.Add("\x80", -28)
	f.Add("\xff\xfe\xfd\xff\xfe\xfd", 3)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		if strings.Contains(text, "omitted") {
			t.Skip("the text looks like a note of ours")
		}
		checkClip(t, text, limit)
	})
}

func TestClipOfLines(t *testing.T) {
	t.Parallel()
	lines := rapid.SliceOf(rapid.SampledFrom([]string{"\n", "a", "bcd\n", "日本\n", "a longer line of words\n"}))
	rapid.Check(t, func(t *rapid.T) {
		checkClip(t, strings.Join(lines.Draw(t, "lines"), ""), rapid.IntRange(0, 200).Draw(t, "limit"))
	})
}
