package builtin

import (
	"fmt"
	"strings"
	"unicode"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// find returns where old stands in text, without overlaps. A line break in old
// also matches CR LF: what a model was shown has plain line breaks.
func find(text, old string) []span {
	parts := strings.Split(old, "\n")
	var found []span
	for at := 0; at <= len(text); {
		sp, ok := next(text, parts, at)
		if !ok {
			return found
		}
		found = append(found, sp)
		at = max(sp.end, sp.start+1)
	}
	return found
}

// next returns the first match of the lines at or after from.
func next(text string, lines []string, from int) (span, bool) {
	// The search is for the first line with the break after it, if there is one.
	probe := lines[0]
	if probe == "" && len(lines) > 1 {
		probe = "\n"
	}
	for at := from; ; at++ {
		i := strings.Index(text[at:], probe)
		if i < 0 {
			return span{}, false
		}
		at += i
		start := at
		if lines[0] == "" && start > from && text[start-1] == '\r' {
			start--
		}
		if end, ok := matchAt(text, lines, start); ok {
			return span{start, end}, true
		}
	}
}

// matchAt reports whether the lines stand in text from at on, and where they end.
func matchAt(text string, lines []string, at int) (end int, ok bool) {
	for i, l := range lines {
		if i > 0 {
			switch rest := text[at:]; {
			case strings.HasPrefix(rest, "\n"):
				at++
			case strings.HasPrefix(rest, "\r\n"):
				at += 2
			default:
				return 0, false
			}
		}
		if !strings.HasPrefix(text[at:], l) {
			return 0, false
		}
		at += len(l)
	}
	return at, true
}

// substitute replaces the spans, where old was found, by new. Line breaks in new
// become those of the text it replaces, or else those of the file; if the model
// wrote CR itself, it means what it says.
func substitute(text string, spans []span, old, new string) (result string, first span) {
	literal := strings.Contains(old, "\r") || strings.Contains(new, "\r")
	dominant := strings.Count(text, "\r\n")*2 > strings.Count(text, "\n")
	var b strings.Builder
	at := 0
	for i, sp := range spans {
		b.WriteString(text[at:sp.start])
		replaced := text[sp.start:sp.end]
		crlf := dominant
		if strings.Contains(replaced, "\n") {
			crlf = strings.Contains(replaced, "\r\n")
		}
		start := b.Len()
		if crlf && !literal {
			b.WriteString(strings.ReplaceAll(new, "\n", "\r\n"))
		} else {
			b.WriteString(new)
		}
		if i == 0 {
			first = span{start, b.Len()}
		}
		at = sp.end
	}
	b.WriteString(text[at:])
	return b.String(), first
}

// whyNotFound compares old with what the file holds and names the likely slip.
func whyNotFound(text, old string) string {
	if bare, ok := withoutNumbers(old); ok && len(find(text, bare)) > 0 {
		return "It is there without the line numbers: leave out the number and the tab that Read puts before each line."
	}
	if from, to, ok := similar(text, old, squeeze); ok {
		return "It differs only in white space from this part of the file:\n" + quoteLines(text, from, to)
	}
	if from, to, ok := similar(text, old, plainQuotes); ok {
		return "It differs only in quotes, dashes or white space from this part of the file:\n" + quoteLines(text, from, to)
	}
	first, _, _ := strings.Cut(strings.TrimSpace(old), "\n")
	if from, _, ok := similar(text, first, squeeze); ok && first != strings.TrimSpace(old) {
		return "Its first line is there, but what follows differs:\n" + quoteLines(text, from, from+strings.Count(old, "\n")+1)
	}
	return "Read the file again and copy the text exactly."
}

// withoutNumbers removes line numbers as Read prints them from every line.
func withoutNumbers(s string) (string, bool) {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		number, rest, ok := strings.Cut(l, "\t")
		number = strings.TrimSpace(number)
		if l == "" && i == len(lines)-1 {
			continue
		}
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
			return "", false
		}
		lines[i] = rest
	}
	return strings.Join(lines, "\n"), true
}

// similar finds consecutive lines of text that are those of old once both are
// simplified. Lines that become empty do not count at the edges of old.
func similar(text, old string, simplify func(string) string) (from, to int, ok bool) {
	want := strings.Split(strings.TrimSpace(old), "\n")
	for i := range want {
		want[i] = simplify(want[i])
	}
	if want[0] == "" {
		return 0, 0, false
	}
	have := strings.Split(text, "\n")
	for i := range have {
		have[i] = simplify(have[i])
	}
	for i := 0; i+len(want) <= len(have); i++ {
		if matchLines(have[i:i+len(want)], want) {
			return i, i + len(want), true
		}
	}
	return 0, 0, false
}

// matchLines compares whole lines; a single one may be a part of a line.
func matchLines(have, want []string) bool {
	if len(want) == 1 {
		return strings.Contains(have[0], want[0])
	}
	for i := range want {
		if have[i] != want[i] {
			return false
		}
	}
	return true
}

// squeeze removes all white space.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// plainQuotes also makes typographic quotes and dashes plain.
func plainQuotes(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune("‘’‚‛′", r):
			return '\''
		case strings.ContainsRune("“”„‟″", r):
			return '"'
		case unicode.Is(unicode.Pd, r):
			return '-'
		case unicode.IsSpace(r):
			return -1
		}
		return r
	}, s)
}

// quoteLines shows lines of text, numbered from 1, at most a few of them.
func quoteLines(text string, from, to int) string {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	for i := from; i < min(to, from+20, len(lines)); i++ {
		line, _ := cutLine(strings.TrimSuffix(lines[i], "\r"))
		fmt.Fprintf(&b, "%6d\t%s\n", i+1, line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
