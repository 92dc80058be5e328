package briefing

import "strings"

// findImports returns what text imports: each @path outside of code whose @ begins a
// word. "\ " stands for a space in a path. Code is what stands in fences or between
// backticks in a line; indented code looks like a list and counts as text.
func findImports(text string) []string {
	if !strings.Contains(text, "@") {
		return nil
	}
	var out []string
	var fence fence
	for line := range strings.Lines(text) {
		if !fence.covers(line) {
			out = append(out, lineImports(line)...)
		}
	}
	return out
}

// fence follows the fenced code blocks of a text.
type fence struct{ open string }

// covers reports whether the next line belongs to a code block, its fences included.
// A fence may be indented by any depth, as within lists.
func (f *fence) covers(line string) bool {
	line = strings.TrimSpace(line)
	run := leadingRun(line)
	if f.open != "" {
		if line == run && strings.HasPrefix(run, f.open) {
			f.open = ""
		}
		return true
	}
	// Backticks further on make it code within a line.
	if len(run) < 3 || run[0] == '`' && strings.Contains(line[len(run):], "`") {
		return false
	}
	f.open = run
	return true
}

// leadingRun returns the backticks or tildes that s begins with.
func leadingRun(s string) string {
	if s == "" || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := 1
	for n < len(s) && s[n] == s[0] {
		n++
	}
	return s[:n]
}

// lineImports returns the imports of a line.
func lineImports(line string) []string {
	var out []string
	for i := 0; i < len(line); {
		switch {
		case line[i] == '`':
			i += codeSpan(line[i:])
		case line[i] == '@' && (i == 0 || strings.IndexByte(" \t(", line[i-1]) >= 0):
			path, n := importPath(line[i+1:])
			if path != "" {
				out = append(out, path)
			}
			i += 1 + n
		default:
			i++
		}
	}
	return out
}

// codeSpan returns the length of the code that s, which begins with a backtick, begins
// with: up to a run of as many backticks, or, if there is none, just the run.
func codeSpan(s string) int {
	open := len(leadingRun(s))
	for i := open; ; {
		next := strings.IndexByte(s[i:], '`')
		if next < 0 {
			return open
		}
		run := len(leadingRun(s[i+next:]))
		i += next + run
		if run == open {
			return i
		}
	}
}

// importPath returns the path that s begins with, and how much of s it took. What ends
// a sentence does not belong to a path.
func importPath(s string) (path string, length int) {
	n := 0
	for n < len(s) && strings.IndexByte(" \t\r\n`<>\"|", s[n]) < 0 {
		if strings.HasPrefix(s[n:], `\ `) {
			n++
		}
		n++
	}
	path = strings.TrimRight(s[:n], ".,;:!?)'*_]}")
	return strings.ReplaceAll(path, `\ `, " "), n
}

// stripComments removes the HTML comments that stand as blocks of their own, outside of
// code: they are notes for people. One that never ends is text.
func stripComments(text string) string {
	if !strings.Contains(text, "<!--") {
		return text
	}
	var out strings.Builder
	var fence fence
	endless := false // no comment that begins from here on ends
	for text != "" {
		end := strings.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		line := text[:end]
		if !fence.covers(line) && !endless && strings.HasPrefix(strings.TrimLeft(line, " "), "<!--") {
			_, after, closed := strings.Cut(text, "-->")
			if closed {
				if first, rest, _ := strings.Cut(after, "\n"); strings.TrimSpace(first) == "" {
					after = rest
				}
				text = after
				continue
			}
			endless = true
		}
		out.WriteString(line)
		text = text[end:]
	}
	return out.String()
}

// hasPaths reports whether a text says in front of itself that it is for some paths
// only. It need not be told before somebody works there.
func hasPaths(text string) bool {
	front, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return false
	}
	for line := range strings.Lines(front) {
		line = strings.TrimRight(line, " \t\n")
		if line == "---" {
			return false
		}
		if rest, ok := strings.CutPrefix(line, "paths:"); ok && strings.Trim(rest, " []") != "" || line == "paths:" {
			return true
		}
	}
	return false
}
