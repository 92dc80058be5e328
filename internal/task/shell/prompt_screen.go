package shell

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// screen is what a terminal would show at the end of the output.
type screen struct {
	lines  []string // the last ones that are not blank; blanks at their ends are cut
	open   bool     // the cursor is on the last of them
	spaced bool     // and behind a blank
	status bool     // and all of it is in reverse video
}

// shown is how many lines a screen keeps: enough for a menu.
const shown = 14

// render plays output that may begin and end in the middle of anything.
func render(out []byte) screen {
	var (
		s    screen
		line []byte
		back bool // the cursor is at the beginning of the line: what comes replaces it
		from = -1 // where reverse video began
		to   = -1 // and ended
	)
	end := func() {
		if trimmed := strings.TrimRight(string(line), " "); trimmed != "" {
			s.lines = append(s.lines, trimmed)
		}
		line, back, from, to = line[:0], false, -1, -1
	}
	for len(out) > 0 {
		if out[0] == 0x1b {
			seq, n := escapeSequence(out)
			switch out = out[n:]; {
			case seq == "[2J" || seq == "[3J" || seq == "c":
				s.lines, line, back = nil, line[:0], false
			case seq == "[7m":
				from, to = len(line), -1
			case seq == "[27m" || seq == "[m" || seq == "[0m":
				if to < 0 {
					to = len(line)
				}
			case seq == "[2K" || seq == "[G" || seq == "[1G":
				back = true
			case strings.HasSuffix(seq, "A") || strings.HasSuffix(seq, "H"):
				end()
			case strings.HasPrefix(seq, "[") && strings.HasSuffix(seq, "C"):
				line = append(line, ' ')
			}
			continue
		}
		r, n := utf8.DecodeRune(out)
		switch out = out[n:]; {
		case r == '\n':
			end()
			continue
		case r == '\r':
			back = true
			continue
		case r == '\b':
			_, n := utf8.DecodeLastRune(line)
			line = line[:len(line)-n]
			continue
		case unicode.IsSpace(r):
			r = ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			continue
		}
		if back {
			line, back = line[:0], false
		}
		line = utf8.AppendRune(line, r)
	}
	s.status = from == 0 && to == len(line) && to > 0
	s.spaced = len(line) > 0 && line[len(line)-1] == ' '
	before := len(s.lines)
	end()
	s.open = len(s.lines) > before
	s.spaced, s.status = s.spaced && s.open, s.status && s.open
	s.lines = s.lines[max(0, len(s.lines)-shown):]
	return s
}

// escapeSequence returns the sequence at the start of b, without its ESC, and how
// many bytes it takes: all of them if it is cut.
func escapeSequence(b []byte) (string, int) {
	if len(b) < 2 {
		return "", len(b)
	}
	i := 1
	switch b[1] {
	case '[':
		for i = 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return string(b[1 : i+1]), i + 1
			}
			if b[i] < 0x20 {
				return "", i // broken off: the control character counts
			}
		}
		return "", len(b)
	case ']', 'P', '_', '^', 'X': // a string, up to BEL or ESC \
		end := bytes.IndexAny(b, "\a\n")
		if st := bytes.Index(b, []byte("\x1b\\")); st > 0 && (end < 0 || st < end) {
			return "", st + 2
		}
		if end < 0 {
			return "", len(b)
		}
		if b[end] == '\n' {
			return "", end // never ended
		}
		return "", end + 1
	}
	for i < len(b) && b[i] >= 0x20 && b[i] <= 0x2f {
		i++
	}
	if i == len(b) || b[i] < 0x20 || b[i] > 0x7e {
		return "", i
	}
	return string(b[1 : i+1]), i + 1
}

// clip keeps the end of a long line: that is where the question is.
func clip(line string) string {
	line = strings.TrimSpace(line)
	n := utf8.RuneCountInString(line)
	if n <= maxLine {
		return line
	}
	for ; n >= maxLine; n-- {
		_, size := utf8.DecodeRuneInString(line)
		line = line[size:]
	}
	return "…" + line
}
