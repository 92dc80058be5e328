package skill

import "strings"

type blockKind int

const (
	prose   blockKind = iota
	code              // a fenced block, with its fences
	command           // what is between the fences of a block to run
)

// block is a piece of a text, from a line on that is counted from 0.
type block struct {
	kind     blockKind
	text     string
	line     int
	unclosed bool
}

// blocks splits a text at the fences of code blocks.
func blocks(text string) []block {
	var out []block
	current, start := block{}, 0
	fence := "" // of the block that is open
	finish := func(end int, next block, begin int) {
		if current.text = text[start:end]; current.text != "" {
			out = append(out, current)
		}
		current, start = next, begin
	}
	number, from := 0, 0
	for line := range strings.Lines(text) {
		to := from + len(line)
		marks, info := fenceOf(line)
		switch {
		case fence == "" && marks != "":
			fence = marks
			if info == "!" {
				finish(from, block{kind: command, line: number, unclosed: true}, to)
			} else {
				finish(from, block{kind: code, line: number}, from)
			}
		case fence != "" && info == "" && strings.HasPrefix(marks, fence):
			fence = ""
			current.unclosed = false
			end := from
			if current.kind == code {
				end = to
			}
			finish(end, block{line: number + 1}, to)
		}
		number, from = number+1, to
	}
	finish(len(text), block{}, len(text))
	return out
}

// fenceOf returns the marks of a line that begins or ends a code block, and what stands
// behind them.
func fenceOf(line string) (marks, info string) {
	line = strings.TrimSpace(line)
	for _, mark := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, mark)
		if n := len(line) - len(rest); n >= 3 && !strings.Contains(rest, mark) {
			return line[:n], strings.TrimSpace(rest)
		}
	}
	return "", ""
}

// inlineCommand returns the command that text begins with, as !`command`, or "".
func inlineCommand(text string) string {
	source, ok := strings.CutPrefix(text, "!`")
	if !ok {
		return ""
	}
	end := strings.IndexAny(source, "`\n")
	if end < 0 || source[end] == '\n' || strings.HasPrefix(source[end:], "``") {
		return ""
	}
	return source[:end]
}

// inlineCode returns how long the code is that text begins with: to as many backticks
// as at its start, in the same paragraph. If there are none, it is the backticks.
func inlineCode(text string) int {
	open := len(run(text, isBacktick))
	for i := open; i < len(text) && !strings.HasPrefix(text[i:], "\n\n"); i++ {
		if n := len(run(text[i:], isBacktick)); n == open {
			return i + n
		} else if n > 0 {
			i += n - 1
		}
	}
	return open
}

func isBacktick(c byte) bool { return c == '`' }

// filePath returns the path that text begins with behind an @, without the marks of the
// sentence that it stands in, and how long both are.
func filePath(text string) (path string, n int) {
	if quoted, ok := strings.CutPrefix(text, `@"`); ok {
		if end := strings.IndexAny(quoted, "\"\n"); end >= 0 && quoted[end] == '"' {
			return quoted[:end], end + len(`@""`)
		}
	}
	path = text[1:]
	if end := strings.IndexAny(path, " \t\n`@\"'<>"); end >= 0 {
		path = path[:end]
	}
	for path != "" {
		last := path[len(path)-1]
		opened, pair := map[byte]string{')': "(", ']': "[", '}': "{"}[last]
		if pair && strings.Contains(path, opened) || !pair && !strings.ContainsRune(".,;:!?", rune(last)) {
			break
		}
		path = path[:len(path)-1]
	}
	return path, len(path) + 1
}
