package tool

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// Plain returns what a terminal would leave readable of raw output: escape
// sequences and control bytes are gone, a line that was redrawn with carriage
// returns is only its last frame, and bytes that are not UTF-8 are U+FFFD.
//
// It keeps each line break and treats each line alone, so output may be passed
// in pieces that end with a line. It takes linear time.
func Plain(raw []byte) string {
	var out strings.Builder
	out.Grow(len(raw))
	var screen screen
	for len(raw) > 0 {
		line, end := raw, ""
		if i := bytes.IndexByte(raw, '\n'); i >= 0 {
			line, end = raw[:i], "\n"
		}
		raw = raw[len(line)+len(end):]
		if still(line) {
			out.Write(line)
		} else {
			screen.draw(line)
			screen.flush(&out)
		}
		out.WriteString(end)
	}
	return out.String()
}

// still reports whether a line needs no terminal: most lines of most programs.
func still(line []byte) bool {
	ascii := true
	for _, c := range line {
		if c < 0x20 && c != '\t' || c == 0x7f {
			return false
		}
		ascii = ascii && c < 0x80
	}
	// C2 begins the control characters U+0080 to U+009F, among others.
	return ascii || utf8.Valid(line) && bytes.IndexByte(line, 0xc2) < 0
}

// screen is a terminal of one line and any width.
type screen struct {
	line []rune // as drawn so far
	at   int    // where the next character goes; never beyond the end
}

func (s *screen) flush(out *strings.Builder) {
	for _, r := range s.line {
		out.WriteRune(r)
	}
	s.line, s.at = s.line[:0], 0
}

func (s *screen) draw(raw []byte) {
	for len(raw) > 0 {
		raw = raw[s.take(raw):]
	}
}

// take handles what raw begins with and returns its length.
func (s *screen) take(raw []byte) int {
	switch c := raw[0]; {
	case c == '\r':
		s.at = 0
		return 1
	case c == '\b':
		s.at = max(s.at-1, 0)
		return 1
	case c == escapeByte:
		return s.escape(raw)
	case c == '\t' || c >= 0x20 && c < 0x7f:
		s.put(rune(c))
		return 1
	case c < 0x80:
		return 1
	}
	r, size := utf8.DecodeRune(raw)
	if r >= 0x80 && r < 0xa0 {
		return size // control characters in their other form
	}
	s.put(r)
	return size
}

func (s *screen) put(r rune) {
	if s.at < len(s.line) {
		s.line[s.at] = r
	} else {
		s.line = append(s.line, r)
	}
	s.at++
}

const escapeByte = 0x1b

// escape skips an escape sequence and returns its length.
func (s *screen) escape(raw []byte) int {
	if len(raw) < 2 {
		return 1
	}
	switch raw[1] {
	case '[':
		return s.control(raw)
	case ']', 'P', 'X', '^', '_': // a string, up to its terminator
		for i := 2; i < len(raw); i++ {
			if raw[i] == 0x07 {
				return i + 1
			}
			if raw[i] == escapeByte {
				if i+1 < len(raw) && raw[i+1] == '\\' {
					return i + 2
				}
				return i // another sequence breaks it off
			}
		}
		return 2 // never terminated: what follows is text after all
	}
	i := 1
	for i < len(raw) && raw[i] >= 0x20 && raw[i] <= 0x2f {
		i++ // intermediate bytes
	}
	if i < len(raw) && raw[i] >= 0x30 && raw[i] <= 0x7e {
		i++
	}
	return i
}

// control handles a control sequence: parameters, then a final byte. It follows
// those with which progress bars redraw a line.
func (s *screen) control(raw []byte) int {
	i := 2
	for i < len(raw) && raw[i] >= 0x20 && raw[i] <= 0x3f {
		i++
	}
	if i == len(raw) || raw[i] < 0x40 || raw[i] > 0x7e {
		return i // broken off: what follows is not part of it
	}
	switch param := raw[2:i]; raw[i] {
	case 'K':
		s.erase(string(param))
	case 'G': // to a column
		s.at = min(number(param)-1, len(s.line))
	case 'C': // right
		s.at = min(s.at+number(param), len(s.line))
	case 'D': // left
		s.at = max(s.at-number(param), 0)
	}
	return i + 1
}

// erase erases to the end of the line, or all of it. The latter also goes to its
// beginning, as programs do before or after it; blanks would be all that is lost.
func (s *screen) erase(param string) {
	switch param {
	case "", "0":
		s.line = s.line[:s.at]
	case "2":
		s.line, s.at = s.line[:0], 0
	}
}

// number reads a parameter: 1 if there is none, or none that makes sense.
func number(param []byte) int {
	n := 0
	for _, c := range param {
		if c < '0' || c > '9' || n > 1<<20 {
			return max(n, 1)
		}
		n = n*10 + int(c-'0')
	}
	return max(n, 1)
}
