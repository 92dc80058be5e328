package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// document is JSON with comments that is changed in places. All else keeps its bytes.
type document struct {
	mark  []byte // that some editors put before the text
	text  []byte
	root  hujson.Value
	line  string // the end of a line
	edits []edit
}

// edit replaces the bytes from one offset to another.
type edit struct {
	from, to int
	text     string
}

var byteOrderMark = []byte("\ufeff")

// parseDocument reads a text that is an object, or nothing.
func parseDocument(text []byte) (*document, error) {
	d := &document{line: "\n"}
	d.text = bytes.TrimPrefix(text, byteOrderMark)
	d.mark = text[:len(text)-len(d.text)]
	if bytes.Contains(text, []byte("\r\n")) {
		d.line = "\r\n"
	}
	if len(bytes.TrimSpace(d.text)) == 0 {
		d.text = []byte("{}" + d.line)
	}
	var err error
	// A comment has to end with its line; the last one of a file may not.
	if d.root, err = hujson.Parse(append(bytes.Clone(d.text), '\n')); err != nil {
		return nil, err
	}
	if _, ok := d.root.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf("want an object")
	}
	return d, nil
}

// bytes returns the text with all changes.
func (d *document) bytes() []byte {
	slices.SortStableFunc(d.edits, func(a, b edit) int { return a.from - b.from })
	out, at := bytes.Clone(d.mark), 0
	for _, e := range d.edits {
		out = append(append(out, d.text[at:e.from]...), e.text...)
		at = e.to
	}
	return append(out, d.text[at:]...)
}

// member finds what an object holds under a name.
func member(o *hujson.Object, name string) *hujson.ObjectMember {
	if i := memberIndex(o, name); i >= 0 {
		return &o.Members[i]
	}
	return nil
}

func memberIndex(o *hujson.Object, name string) int {
	return slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool {
		return m.Name.Value.(hujson.Literal).String() == name
	})
}

// replace puts a value in the place of another.
func (d *document) replace(old hujson.Value, value any) error {
	text, err := encode(value, d.indent(old.StartOffset), d.unit())
	if err != nil {
		return err
	}
	d.edits = append(d.edits, edit{old.StartOffset, old.EndOffset, d.lines(text)})
	return nil
}

// insert adds a member at the end of an object, written like those that are there.
func (d *document) insert(object hujson.Value, name string, value any) error {
	o := object.Value.(*hujson.Object)
	prefix, unit, spread := d.style(object)
	key, err := encode(name, "", "")
	if err != nil {
		return err
	}
	text, err := encode(value, prefix, unit)
	if err != nil {
		return err
	}
	text = key + ": " + d.lines(text)
	if n := len(o.Members); n > 0 {
		if last := o.Members[n-1].Value; last.AfterExtra != nil { // a comma follows already
			text += ","
		} else {
			d.edits = append(d.edits, edit{last.EndOffset, last.EndOffset, ","})
		}
	}
	brace := object.EndOffset - 1
	end := brace - len(o.AfterExtra) + len(bytes.TrimRight(o.AfterExtra, " \t\r\n")) // behind comments
	switch {
	case !spread:
		d.edits = append(d.edits, edit{end, end, " " + text})
	case bytes.IndexByte(d.text[end:brace], '\n') >= 0:
		d.edits = append(d.edits, edit{end, end, d.line + prefix + text})
	default:
		d.edits = append(d.edits, edit{end, brace, d.line + prefix + text + d.line + d.indent(object.StartOffset)})
	}
	return nil
}

// style says how the members of an object are written: spread over lines, each after
// prefix, or all in one.
func (d *document) style(object hujson.Value) (prefix, unit string, spread bool) {
	o := object.Value.(*hujson.Object)
	if len(o.Members) > 0 && bytes.IndexByte(d.text[object.StartOffset:object.EndOffset], '\n') < 0 {
		return "", "", false
	}
	unit = d.unit()
	if len(o.Members) > 0 && d.starts(o.Members[0].Name.StartOffset) {
		return d.indent(o.Members[0].Name.StartOffset), unit, true
	}
	return d.indent(object.StartOffset) + unit, unit, true
}

// remove takes a member out of an object, with its line but not with comments around it:
// nobody can say what they are about.
func (d *document) remove(object hujson.Value, name string) {
	o := object.Value.(*hujson.Object)
	i := memberIndex(o, name)
	m := o.Members[i]
	from, to := m.Name.StartOffset, m.Value.EndOffset
	if around := append(bytes.Clone(d.text[object.StartOffset+1:from]), d.text[to:object.EndOffset-1]...); len(o.Members) == 1 &&
		len(bytes.Trim(around, " \t\r\n,")) == 0 {
		d.edits = append(d.edits, edit{object.StartOffset + 1, object.EndOffset - 1, ""})
		return
	}
	last := i == len(o.Members)-1
	switch comma := to + len(m.Value.AfterExtra); {
	case !last || m.Value.AfterExtra != nil: // a comma follows
		if len(bytes.TrimSpace(m.Value.AfterExtra)) == 0 {
			to = comma + 1
		} else {
			d.edits = append(d.edits, edit{comma, comma + 1, ""})
		}
	case i > 0:
		before := o.Members[i-1].Value
		comma := before.EndOffset + len(before.AfterExtra)
		d.edits = append(d.edits, edit{comma, comma + 1, ""})
	}
	from, to = d.widen(from, to)
	d.edits = append(d.edits, edit{from, to, ""})
}

// widen takes the blanks around a range that is about to go: the line, if it is all that
// stands there.
func (d *document) widen(from, to int) (int, int) {
	start, end := from, to
	for start > 0 && isBlank(d.text[start-1]) {
		start--
	}
	for end < len(d.text) && isBlank(d.text[end]) {
		end++
	}
	switch {
	case start > 0 && d.text[start-1] == '\n' && end < len(d.text) && d.text[end] == '\n':
		return start, end + 1
	case end < len(d.text) && d.text[end] == '}':
		return start, end
	}
	return from, end
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// indent is the white space that the line of an offset begins with.
func (d *document) indent(offset int) string {
	start := bytes.LastIndexByte(d.text[:offset], '\n') + 1
	end := start
	for end < offset && (d.text[end] == ' ' || d.text[end] == '\t') {
		end++
	}
	return string(d.text[start:end])
}

// starts reports whether an offset is where its line begins.
func (d *document) starts(offset int) bool {
	line := d.text[bytes.LastIndexByte(d.text[:offset], '\n')+1 : offset]
	return len(line) < offset && len(bytes.TrimSpace(line)) == 0
}

// unit is by how much the text indents.
func (d *document) unit() string {
	if o := d.root.Value.(*hujson.Object); len(o.Members) > 0 && d.starts(o.Members[0].Name.StartOffset) {
		if unit := d.indent(o.Members[0].Name.StartOffset); unit != "" {
			return unit
		}
	}
	return "  "
}

// lines gives a text the ends of lines that the document has.
func (d *document) lines(text string) string { return strings.ReplaceAll(text, "\n", d.line) }
