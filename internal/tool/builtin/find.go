package builtin

import (
	"fmt"
	"strings"
	"unicode"
)

// span is a part of a text, in bytes.
type span struct{ start, end int }

// find returns where old stands in text, without overlaps. In a text with CR LF a
// line break of old matches either kind: a model is shown plain line breaks.
func find(text, old string) []span {
	if !strings.Contains(text, "\r\n") {
		return occurrences(text, old)
	}
	plain, breaks := plainBreaks(text)
	found := occurrences(plain, strings.ReplaceAll(old, "\r\n", "\n"))
	left := 0 // how many CR were left out before the position at hand
	original := func(at int) int {
		for left < len(breaks) && breaks[left] < at {
			left++
		}
		return at + left
	}
	for i, sp := range found {
		found[i] = span{original(sp.start), original(sp.end)}
	}
	return found
}

func occurrences(text, old string) []span {
	var found []span
	for at := 0; ; {
		i := strings.Index(text[at:], old)
		if i < 0 {
			return found
		}
		found = append(found, span{at + i, at + i + len(old)})
		at += i + len(old)
	}
}

// plainBreaks returns text with LF for CR LF, and which LF in it those are.
func plainBreaks(text string) (plain string, breaks []int) {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(text, "\r\n")
		b.WriteString(before)
		if !ok {
			return b.String(), breaks
		}
		breaks = append(breaks, b.Len())
		b.WriteByte('\n')
		text = after
	}
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

// hintLimit is the size of texts that are compared to find out what went wrong.
const hintLimit = 4 << 20

// whyNotFound compares old with what the file holds and names the likely slip.
func whyNotFound(text, old string) string {
	if len(text) > hintLimit || strings.Count(old, "\n") > 500 {
		return "Read that part of the file again and copy a short piece of it exactly."
	}
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
