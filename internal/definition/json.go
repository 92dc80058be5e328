package definition

import (
	"encoding/json"
	"math/big"
	"strings"
	"unicode/utf8"
)

// Value returns what stands under a key as JSON, for [heddle/internal/config.Text], and
// the line it begins in. The JSON is laid out on the lines of the file, so that problems
// in it are reported where they are.
func (f *File) Value(key string) (text []byte, line int, ok bool) {
	v := f.find(key)
	if v == nil {
		return nil, 0, false
	}
	l := layout{line: 1, column: 1}
	l.value(v)
	return l.out, v.line, true
}

// layout writes JSON, as far as it can, at given places.
type layout struct {
	out          []byte
	line, column int
}

func (l *layout) write(s string) {
	l.out = append(l.out, s...)
	l.column += utf8.RuneCountInString(s)
}

// moveTo goes on at a place, unless it is behind it already.
func (l *layout) moveTo(line, column int) {
	for l.line < line {
		l.out = append(l.out, '\n')
		l.line, l.column = l.line+1, 1
	}
	if l.line == line && l.column < column {
		l.write(strings.Repeat(" ", column-l.column))
	}
}

func (l *layout) value(v *value) {
	switch v.kind {
	case aNull:
		l.write("null")
	case aBool:
		l.moveTo(v.line, v.column)
		l.write(strings.ToLower(v.text))
	case aNumber:
		l.moveTo(v.line, v.column)
		l.write(number(v.text))
	case aText:
		l.moveTo(v.line, v.column)
		l.write(quoted(v.text))
	case aList:
		l.write("[")
		for i, e := range v.items {
			if i > 0 {
				l.write(",")
			}
			l.value(e)
		}
		l.write("]")
	case aMap:
		l.write("{")
		for i, e := range v.entries {
			if i > 0 {
				l.write(",")
			}
			l.moveTo(e.line, e.column)
			l.write(quoted(e.key) + ":")
			l.value(e.value)
		}
		l.write("}")
	}
}

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil { // no text fails
		return `""`
	}
	return string(text)
}

// number is a YAML number as JSON. What JSON cannot say stays a text.
func number(text string) string {
	if json.Valid([]byte(text)) {
		return text
	}
	if n, ok := new(big.Int).SetString(strings.ReplaceAll(text, "_", ""), 0); ok {
		return n.String()
	}
	return quoted(text)
}
