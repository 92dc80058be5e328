package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Clip shortens a text that is longer than limit bytes: its beginning and its end
// stay, together at most limit bytes, cut between lines where lines are short,
// and a line between them says exactly what is missing.
func Clip(text string, limit int) string {
	limit = max(limit, 0)
	if len(text) <= limit {
		return text
	}
	half := len(text) / 2
	for lowest := max(half-utf8.UTFMax+1, 0); half > lowest && !utf8.RuneStart(text[half]); {
		half--
	}
	return clip(Excerpt{Head: text[:half], Tail: text[half:]}, limit)
}

// Excerpt is a text of which the middle may be missing, for instance because the
// file that holds it is too large to be read.
type Excerpt struct {
	Head, Tail string
	// Bytes and Lines are what is missing between them. Lines is -1 if that is not
	// whole lines, or nobody counted them.
	Bytes, Lines int64
}

// Clip returns the text, shortened as by [Clip].
func (e Excerpt) Clip(limit int) string {
	if e.Bytes == 0 {
		return Clip(e.Head+e.Tail, limit)
	}
	return clip(e, limit)
}

func clip(e Excerpt, limit int) string {
	part := max(limit/2, 0)
	head, tail := beginning(e.Head, part), ending(e.Tail, part)
	cutHead, cutTail := e.Head[len(head):], e.Tail[:len(e.Tail)-len(tail)]
	missing := e.Bytes + int64(len(cutHead)+len(cutTail))
	note := fmt.Sprintf("%d bytes omitted", missing)
	fromLine := head == "" || strings.HasSuffix(head, "\n")
	toLine := cutTail == "" || strings.HasSuffix(cutTail, "\n")
	if e.Lines >= 0 && fromLine && toLine {
		lines := e.Lines + int64(strings.Count(cutHead, "\n")+strings.Count(cutTail, "\n"))
		note = fmt.Sprintf("%d lines omitted (%d bytes)", lines, missing)
	}
	return strings.TrimSuffix(head, "\n") + "\n\n[… " + note + " …]\n\n" + tail
}

// worth is which share of a part may be given up to cut between lines.
const worth = 4

// beginning returns at most n bytes from the beginning of text.
func beginning(text string, n int) string {
	if len(text) <= n {
		return text
	}
	part := text[:n]
	if i := strings.LastIndexByte(part, '\n'); i >= n-n/worth {
		return part[:i+1]
	}
	for range utf8.UTFMax - 1 { // what the cut left of a character
		if r, size := utf8.DecodeLastRuneInString(part); r != utf8.RuneError || size != 1 {
			break
		}
		part = part[:len(part)-1]
	}
	return part
}

// ending returns at most n bytes from the end of text.
func ending(text string, n int) string {
	if len(text) <= n {
		return text
	}
	part := text[len(text)-n:]
	if text[len(text)-n-1] == '\n' {
		return part
	}
	if i := strings.IndexByte(part, '\n'); i >= 0 && i < n/worth {
		return part[i+1:]
	}
	for range utf8.UTFMax - 1 {
		if len(part) == 0 || utf8.RuneStart(part[0]) {
			break
		}
		part = part[1:]
	}
	return part
}
