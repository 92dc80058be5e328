package tool

import (
	"strings"
	"unicode/utf8"
)

// Plain returns what a terminal would leave readable of raw output: escape
// sequences and control bytes are gone, a line that was redrawn with carriage
// returns is only its last frame, and bytes that are not UTF-8 are U+FFFD.
func Plain(raw []byte) string {
	p := plain{}
	p.out.Grow(len(raw))
	for len(raw) > 0 {
		raw = raw[p.take(raw):]
	}
	p.flush()
	return p.out.String()
}

// plain is a terminal of one line.
type plain struct {
	out  strings.Builder
	line []rune // as drawn so far
	at   int    // where the next character goes
}

// take handles what raw begins with and returns its length.
func (p *plain) take(raw []byte) int {
	switch c := raw[0]; {
	case c == '\n':
		p.flush()
		p.out.WriteByte('\n')
		return 1
	case c == '\r':
		p.at = 0
		return 1
	case c == '\b':
		p.at = max(p.at-1, 0)
		return 1
	case c == 0x1b:
		return p.escape(raw)
	case c == '\t' || c >= 0x20 && c < 0x7f:
		p.put(rune(c))
		return 1
	case c < 0x20 || c == 0x7f:
		return 1
	}
	r, size := utf8.DecodeRune(raw)
	if r >= 0x80 && r < 0xa0 {
		return size // control characters in their other form
	}
	p.put(r)
	return size
}

func (p *plain) put(r rune) {
	if p.at < len(p.line) {
		p.line[p.at] = r
	} else {
		p.line = append(p.line, r)
	}
	p.at++
}

func (p *plain) flush() {
	p.out.WriteString(string(p.line))
	p.line, p.at = p.line[:0], 0
}

// escape skips an escape sequence, and follows the one that erases to the end of
// the line, with which progress bars clear what was longer.
func (p *plain) escape(raw []byte) int {
	if len(raw) < 2 {
		return 1
	}
	switch raw[1] {
	case '[': // control sequence: parameters, then a final byte
		for i := 2; i < len(raw); i++ {
			if c := raw[i]; c >= 0x40 && c <= 0x7e {
				if c == 'K' {
					p.erase(string(raw[2:i]))
				}
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return i // broken off: what follows is not part of it
			}
		}
		return len(raw)
	case ']', 'P', 'X', '^', '_': // a string, up to its terminator
		for i := 2; i < len(raw); i++ {
			switch {
			case raw[i] == 0x07:
				return i + 1
			case raw[i] == 0x1b && i+1 < len(raw) && raw[i+1] == '\\':
				return i + 2
			case raw[i] == '\n':
				return i // never terminated: the rest of the output is not lost
			}
		}
		return len(raw)
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

// erase erases the line as its parameter says: to the end, to the beginning, or whole.
func (p *plain) erase(param string) {
	switch param {
	case "", "0":
		p.line = p.line[:min(p.at, len(p.line))]
	case "2":
		p.line = p.line[:0]
		for range p.at {
			p.line = append(p.line, ' ')
		}
	}
}
