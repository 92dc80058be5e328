package briefing

import "strings"

// importRef is an import in a text: @path, from start to end.
type importRef struct {
	path       string
	start, end int
}

// findImports finds @path outside of code. The @ begins a word.
func findImports(text string) []importRef {
	var out []importRef
	offset := 0
	fence := ""
	for line := range strings.Lines(text) {
		if f := fenceOf(line); f != "" && (fence == "" || strings.HasPrefix(f, fence) && strings.TrimSpace(line) == f) {
			if fence == "" {
				fence = f
			} else {
				fence = ""
			}
		} else if fence == "" {
			for _, imp := range lineImports(line) {
				imp.start += offset
				imp.end += offset
				out = append(out, imp)
			}
		}
		offset += len(line)
	}
	return out
}

// fenceOf returns the run of ` or ~ with which line opens or closes a code block.
func fenceOf(line string) string {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 {
		return ""
	}
	for _, c := range []string{"`", "~"} {
		n := len(s) - len(strings.TrimLeft(s, c))
		if n >= 3 {
			return s[:n]
		}
	}
	return ""
}

// lineImports finds the imports of a line outside of code spans.
func lineImports(line string) []importRef {
	var out []importRef
	for i := 0; i < len(line); i++ {
		switch {
		case line[i] == '`':
			n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			if end := strings.Index(line[i+n:], line[i:i+n]); end >= 0 {
				i += n + end
			}
			i += n - 1
		case line[i] == '@' && (i == 0 || strings.IndexByte(" \t(", line[i-1]) >= 0):
			end := i + 1
			for end < len(line) && strings.IndexByte(" \t\r\n`<>\"|", line[end]) < 0 {
				end++
			}
			path := strings.TrimRight(line[i+1:end], ".,;:!?)")
			if path != "" {
				out = append(out, importRef{path, i, i + 1 + len(path)})
			}
			i = end - 1
		}
	}
	return out
}

// stripComments removes HTML comments that stand on lines of their own, outside of
// code: notes for people.
func stripComments(text string) string {
	if !strings.Contains(text, "<!--") {
		return text
	}
	var out strings.Builder
	fence, inside := "", false
	for line := range strings.Lines(text) {
		if inside {
			inside = !strings.Contains(line, "-->")
			continue
		}
		if f := fenceOf(line); f != "" && (fence == "" || strings.HasPrefix(f, fence)) {
			if fence == "" {
				fence = f
			} else {
				fence = ""
			}
		}
		if fence == "" && strings.HasPrefix(strings.TrimSpace(line), "<!--") {
			_, after, closed := strings.Cut(line, "-->")
			inside = !closed
			if strings.TrimSpace(after) == "" {
				continue
			}
			line = after
		}
		out.WriteString(line)
	}
	return out.String()
}
