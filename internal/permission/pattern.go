package permission

import (
	"strings"
)

// pattern is text in which a * stands for any text, also none.
type pattern struct {
	parts []string // the literal text between the stars
	// word asks that the last star, which ends the pattern, stands for nothing or
	// for a blank and more: "ls *" is ls and ls -la, not lsof.
	word bool
}

// parsePattern reads text with stars; \* is a star itself.
func parsePattern(text string) pattern {
	var p pattern
	var part strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && text[i+1] == '*':
			part.WriteByte('*')
			i++
		case text[i] == '*':
			p.parts = append(p.parts, part.String())
			part.Reset()
		default:
			part.WriteByte(text[i])
		}
	}
	p.parts = append(p.parts, part.String())
	return p
}

// parseCommandPattern reads a pattern for a command: " *" at its end, or ":*",
// asks for the boundary of a word.
func parseCommandPattern(text string) pattern {
	head, ok := strings.CutSuffix(text, ":*")
	if !ok {
		head, ok = strings.CutSuffix(text, " *")
	}
	if !ok || head == "" || head == "*" {
		return parsePattern(text)
	}
	p := parsePattern(strings.TrimRight(head, " "))
	p.word = true
	return p
}

// exact reports whether the pattern stands for one text only.
func (p pattern) exact() bool { return len(p.parts) == 1 && !p.word }

// open reports whether the pattern ends with a star.
func (p pattern) open() bool { return p.word || len(p.parts) > 1 && p.parts[len(p.parts)-1] == "" }

// head is the literal text that everything it matches begins with.
func (p pattern) head() string {
	if len(p.parts) == 0 {
		return ""
	}
	return p.parts[0]
}

// match reports whether the whole of text fits. It takes the earliest place for
// each part, which finds a fit if there is one, without trying all.
func (p pattern) match(text string) bool {
	if !p.word {
		return matchParts(p.parts, text)
	}
	if matchParts(p.parts, text) {
		return true
	}
	last := len(p.parts) - 1
	ends := make([]string, 0, len(p.parts)+1)
	ends = append(append(ends, p.parts[:last]...), p.parts[last]+" ", "")
	return matchParts(ends, text)
}

func matchParts(parts []string, text string) bool {
	if len(parts) == 0 {
		return text == ""
	}
	if len(parts) == 1 {
		return text == parts[0]
	}
	text, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return strings.HasSuffix(text, parts[last])
}
