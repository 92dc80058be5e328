package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxDepth is how deep settings may be nested; the parser is recursive.
const maxDepth = 100

// parse reads one layer's text: an object, or nothing at all.
func parse(text []byte, at Origin) (*node, []error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	n, problems := parseValue(text, at)
	if n != nil && n.kind != anObject {
		problems = append(problems, &Problem{n.at, "expected " + string(anObject) + ", found " + string(n.kind)})
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return n, nil
}

func parseValue(text []byte, at Origin) (*node, []error) {
	p := &parser{text: text, at: at}
	if !utf8.Valid(text) {
		p.report(invalidByte(text), "not UTF-8 text")
		return nil, p.problems
	}
	if offset, deep := tooDeep(text); deep {
		p.report(offset, fmt.Sprintf("nested deeper than %d levels", maxDepth))
		return nil, p.problems
	}
	// The library wants a comment to end with its line; the last one of a file
	// may not.
	v, err := hujson.Parse(append(bytes.Clone(text), '\n'))
	if err != nil {
		p.syntax(err)
		return nil, p.problems
	}
	return p.node(v, ""), p.problems
}

// parser turns a syntax tree into nodes that know their place.
type parser struct {
	text     []byte
	at       Origin
	starts   []int // of lines
	last     mark
	problems []error
}

func (p *parser) report(offset int, text string) {
	p.problems = append(p.problems, &Problem{p.place(offset), text})
}

// mark is a place whose column is known.
type mark struct{ line, column, offset int }

// place counts columns in characters, as editors do. Going forward it counts
// from the last place on: a large file may be a single line.
func (p *parser) place(offset int) Origin {
	if p.starts == nil {
		p.starts = []int{0}
		for i, c := range p.text {
			if c == '\n' {
				p.starts = append(p.starts, i+1)
			}
		}
	}
	line := sort.SearchInts(p.starts, offset+1)
	from := p.last
	if from.line != line || from.offset > offset {
		from = mark{line: line, column: 1, offset: p.starts[line-1]}
	}
	from.column += utf8.RuneCount(p.text[from.offset:offset])
	from.offset = offset
	p.last = from
	at := p.at
	at.Line, at.Column = from.line, from.column
	return at
}

// syntax reports the error of the library in our words.
func (p *parser) syntax(err error) {
	var line, column int
	if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); n != 2 {
		p.report(0, err.Error())
		return
	}
	p.place(0)
	offset := len(p.text)
	if line <= len(p.starts) {
		offset = min(p.starts[line-1]+column-1, offset)
	}
	what := err.Error()
	if inner := errors.Unwrap(err); inner != nil {
		what = inner.Error()
	}
	rest := p.text[offset:]
	switch {
	case strings.Contains(what, "unexpected EOF"):
		what = "the text ends too early: a quote, a bracket or the end of a comment is missing"
	case strings.HasPrefix(what, "invalid literal") && bytes.HasPrefix(rest, []byte{'"'}):
		what = "this string has a line break, a control character or a wrong escape in it"
	case strings.HasPrefix(what, "invalid literal"):
		what = fmt.Sprintf("%s is not a value; text stands in double quotes", firstWord(rest))
	}
	p.report(offset, what)
}

func firstWord(text []byte) string {
	end := bytes.IndexAny(text, " \t\r\n,]}/")
	if end < 0 || end > 40 {
		end = min(len(text), 40)
	}
	return string(text[:end])
}

// node converts v, which stands at path.
func (p *parser) node(v hujson.Value, path string) *node {
	n := &node{at: p.place(v.StartOffset)}
	switch value := v.Value.(type) {
	case *hujson.Object:
		n.kind = anObject
		n.members = map[string]*node{}
		first := map[string]int{}
		for _, m := range value.Members {
			key := m.Name.Value.(hujson.Literal).String()
			inner := member(path, key)
			if line, twice := first[key]; twice {
				p.report(m.Name.StartOffset, fmt.Sprintf("%s is set twice; it stands on line %d already", inner, line))
				continue
			}
			place := p.place(m.Name.StartOffset)
			first[key] = place.Line
			child := p.node(m.Value, inner)
			child.key = place
			if child.kind != aNull {
				n.keys = append(n.keys, key)
				n.members[key] = child
			}
		}
	case *hujson.Array:
		n.kind = aList
		for i, e := range value.Elements {
			n.items = append(n.items, p.node(e, element(path, i)))
		}
	case hujson.Literal:
		n.kind = literalKind(value)
		n.text = json.RawMessage(value)
	}
	return n
}

func literalKind(l hujson.Literal) kind {
	switch l.Kind() {
	case '"':
		return aString
	case '0':
		return aNumber
	case 'n':
		return aNull
	}
	return aBoolean
}

func invalidByte(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return 0
}

// tooDeep finds the bracket that opens one level too many.
func tooDeep(text []byte) (offset int, deep bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i, true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i += comment(text[i:])
		}
	}
	return 0, false
}

// comment returns how far the comment that text may begin with goes on.
func comment(text []byte) int {
	end := -1
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		end = bytes.IndexByte(text, '\n')
	case bytes.HasPrefix(text, []byte("/*")):
		if end = bytes.Index(text[2:], []byte("*/")); end >= 0 {
			end += 3
		}
	default:
		return 0
	}
	if end < 0 {
		return len(text)
	}
	return end
}
