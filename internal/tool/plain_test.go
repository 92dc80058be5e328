package tool

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestPlain(t *testing.T) {
	t.Parallel()
	progress := ""
	for _, frame := range []string{"0", "1", "12", "123", "500"} {
		progress += "\rp " + frame
	}
	for _, tt := range []struct{ name, raw, want string }{
		{"text", "a\tb\n c\n", "a\tb\n c\n"},
		{"no line end", "a\nb", "a\nb"},
		{"empty lines", "\n\na\n\n", "\n\na\n\n"},
		{"other scripts", "zażółć 日本 é\n", "zażółć 日本 é\n"},
		{"not UTF-8", "a\xff\xfe\x00b\n", "a\uFFFD\uFFFDb\n"},
		{"character torn at the end", "a\xe6\x97", "a\uFFFD\uFFFD"},
		{"control bytes", "\x00a\x01\x07\x0b\x0c\x7fb\u009b", "ab"},
		{"CR LF", "a\r\nb\r\n", "a\nb\n"},
		{"CR CR LF", "a\r\r\n", "a\n"},
		{"progress", progress + "\ndone\n", "p 500\ndone\n"},
		{"shorter frame leaves the rest", "12345\rab\n", "ab345\n"},
		{"erased to the end", "12345\rab\x1b[K\n", "ab\n"},
		{"erased whole", "12345\x1b[2K\rab\n", "ab\n"},
		{"erased whole, back by column", "12345\x1b[2K\x1b[1Gab\n", "ab\n"},
		{"column beyond the end", "ab\x1b[999999999Gc\n", "abc\n"},
		{"left and right", "abcd\x1b[3Dx\x1b[Cy\n", "axcy\n"},
		{"backspace", "abc\b\bx\n", "axc\n"},
		{"backspace at the beginning", "\b\b\ba\n", "a\n"},
		{"bold of manual pages", "N\bNA\bA _\bx\n", "NA x\n"},
		{"colour", "\x1b[1;31mred\x1b[0m \x1b[38;2;1;2;3mx\x1b[m\n", "red x\n"},
		{"title, BEL", "\x1b]0;title\x07a\n", "a\n"},
		{"title, ST", "\x1b]0;title\x1b\\a\n", "a\n"},
		{"link", "\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\\n", "text\n"},
		{"title cut off by colour", "\x1b]0;ti\x1b[31ma\n", "a\n"},
		{"title without an end", "\x1b]0;title\nb\n", "0;title\nb\n"},
		{"screen cleared", "a\x1b[2J\x1b[Hb\n", "ab\n"},
		{"private sequence", "\x1b[?25la\x1b[?1049h\n", "a\n"},
		{"character set", "\x1b(Ba\x1b=\x1b>b\x1bc\n", "ab\n"},
		{"sequence cut off", "a\x1b[31", "a"},
		{"sequence broken off by a line end", "a\x1b[31\nb", "a\nb"},
		{"escape at the end", "a\x1b", "a"},
	} {
		if got := Plain([]byte(tt.raw)); got != tt.want {
			t.Errorf("%s: Plain(%q) = %q, want %q", tt.name, tt.raw, got, tt.want)
		}
	}
}

// Output made to be slow: each piece makes a quadratic terminal redraw the line.
func TestPlainTakesLinearTime(t *testing.T) {
	t.Parallel()
	const size = 1 << 18
	for _, piece := range []string{
		"\x1b[2Kx", "\x1b[1K", "\bx", "\x1b[99999Gx", "\x1b]", "\x1b[", "\x1bP\r", "\x1b[K\bx", "\x1b[9999D\x1b[9999C", "\xe6\x97",
	} {
		raw := append(bytes.Repeat([]byte("a"), size), bytes.Repeat([]byte(piece), size/len(piece))...)
		begin := time.Now()
		Plain(raw)
		if took := time.Since(begin); took > 3*time.Second {
			t.Errorf("%q: %v for half a MB", piece, took)
		}
	}
}

func checkPlain(t interface{ Fatalf(string, ...any) }, raw []byte) {
	got := Plain(raw)
	if !utf8.ValidString(got) {
		t.Fatalf("Plain(%q) = %q is not UTF-8", raw, got)
	}
	for _, r := range got {
		if r < 0x20 && r != '\t' && r != '\n' || r >= 0x7f && r < 0xa0 {
			t.Fatalf("Plain(%q) = %q holds %q", raw, got, r)
		}
	}
	if strings.Count(got, "\n") != bytes.Count(raw, []byte("\n")) {
		t.Fatalf("Plain(%q) = %q has other lines", raw, got)
	}
	if again := Plain([]byte(got)); again != got {
		t.Fatalf("Plain(%q) = %q is plain, but becomes %q", raw, got, again)
	}
	if i := bytes.IndexByte(raw, '\n'); i >= 0 {
		if parts := Plain(raw[:i+1]) + Plain(raw[i+1:]); parts != got {
			t.Fatalf("Plain(%q) = %q, in two parts %q", raw, got, parts)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, s := range []string{"a\r\nb", "\x1b]0;x\x07\x1b[2J", "\rp 1\rp 2\x1b[K\n", "\xff\xc2\x9b", "\x1b[1G\b\x1b[3C"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { checkPlain(t, raw) })
}

// Random bytes rarely are escape sequences; these often are.
func TestPlainOfAlmostEscapes(t *testing.T) {
	t.Parallel()
	pieces := rapid.SliceOf(rapid.SampledFrom([]string{
		"\x1b", "[", "]", "P", "\\", "\x07", "2", ";", "K", "G", "C", "D", "m", "\r", "\n", "\b", "a", "bc", "é", "\xc2", "\x9b", "\xff", "\t", "\x00",
	}))
	rapid.Check(t, func(t *rapid.T) { checkPlain(t, []byte(strings.Join(pieces.Draw(t, "pieces"), ""))) })
}

func BenchmarkPlain(b *testing.B) {
	for name, line := range map[string]string{
		"text":   "2026-01-02T03:04:05 a line of a log as programs write it, nothing special\n",
		"colour": "\x1b[32mok\x1b[0m  \x1b[1mheddle/internal/task\x1b[0m 1.23s and some more words\n",
	} {
		b.Run(name, func(b *testing.B) {
			raw := []byte(strings.Repeat(line, (1<<20)/len(line)))
			b.SetBytes(int64(len(raw)))
			for b.Loop() {
				Plain(raw)
			}
		})
	}
}
