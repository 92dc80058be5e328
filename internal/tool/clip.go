package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Clip shortens text to about limit bytes: its beginning and its end stay, at line
// borders where lines are short, and a line between them says exactly what is
// missing. A single giant line is cut inside.
func Clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := text[:limit/2], text[len(text)-limit/2:]
	// A border further away than a quarter of a part is not worth what it drops.
	if i := strings.LastIndexByte(head, '\n'); i >= len(head)*3/4 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/4 {
		tail = tail[i+1:]
	}
	head, tail = wholeRunes(head, tail)
	middle := text[len(head) : len(text)-len(tail)]
	note := fmt.Sprintf("%d bytes omitted", len(middle))
	if strings.HasSuffix(head, "\n") && strings.HasSuffix(middle, "\n") {
		note = fmt.Sprintf("%d lines omitted (%d bytes)", strings.Count(middle, "\n"), len(middle))
	}
	return strings.TrimSuffix(head, "\n") + "\n\n[… " + note + " …]\n\n" + tail
}

// wholeRunes drops what a cut left of a character.
func wholeRunes(head, tail string) (string, string) {
	for range utf8.UTFMax - 1 {
		if r, size := utf8.DecodeLastRuneInString(head); r != utf8.RuneError || size != 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for range utf8.UTFMax - 1 {
		if len(tail) == 0 || utf8.RuneStart(tail[0]) {
			break
		}
		tail = tail[1:]
	}
	return head, tail
}
