package builtin

import (
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"
)

// cellEdit is a change of one cell.
type cellEdit struct {
	mode   string // replace, insert or delete
	cell   string // id or number
	kind   string // code, markdown or raw; empty keeps it
	source string
}

// editNotebook makes the change in the text of a notebook and returns the number
// of the cell. The rest of the text, down to its white space, stays as it is.
func editNotebook(text string, e cellEdit) (result string, at int, err error) {
	mark := ""
	if rest, ok := strings.CutPrefix(text, bom); ok {
		mark, text = bom, rest
	}
	nb, err := parseNotebook(text)
	if err != nil {
		return "", 0, refuse("The notebook cannot be edited: %v.", err)
	}
	at = -1
	if e.cell != "" {
		if at = nb.find(e.cell); at < 0 {
			return "", 0, refuse("There is no cell %q in this notebook, which has %s. Read it to see their ids.", e.cell, plural(len(nb.cells), "cell"))
		}
	}
	switch e.mode {
	case "insert":
		at++
		result = nb.insert(at, e)
	case "delete":
		result = nb.remove(at)
	default:
		result, err = nb.replaceSource(at, e)
	}
	if err == nil && !json.Valid([]byte(result)) {
		err = refuse("The notebook cannot be edited: %v.", errShape)
	}
	return mark + result, at, err
}

// rawNotebook is the text of a notebook, and where its cells stand in it.
type rawNotebook struct {
	text    string
	list    element // of the cells
	cells   []element
	withIDs bool   // the format wants every cell to have an id
	indent  string // of one level; empty if the text is in one line
}

func parseNotebook(text string) (*rawNotebook, error) {
	start := len(text) - len(strings.TrimLeft(text, " \t\r\n"))
	top, err := members(text, start, len(text))
	if err != nil {
		return nil, err
	}
	nb := &rawNotebook{text: text}
	var ok bool
	if nb.list, ok = member(top, "cells"); !ok {
		return nil, errShape
	}
	if nb.cells, err = items(text, nb.list.start, nb.list.end); err != nil {
		return nil, err
	}
	nb.withIDs = nb.version(top) >= 4005
	nb.indent = nb.before(nb.list.from)
	return nb, nil
}

// version returns 1000 times the major number of the format plus the minor.
func (nb *rawNotebook) version(top []element) int {
	number := func(key string) int {
		m, _ := member(top, key)
		n, _ := strconv.Atoi(m.in(nb.text))
		return n
	}
	return 1000*number("nbformat") + number("nbformat_minor")
}

// before returns the white space before offset at in its line, if there is
// nothing else before it and another line above.
func (nb *rawNotebook) before(at int) string {
	start := strings.LastIndexByte(nb.text[:at], '\n') + 1
	if start == 0 || strings.Trim(nb.text[start:at], " \t") != "" {
		return ""
	}
	return nb.text[start:at]
}

// find returns the number of a cell by its id, or else by its number. It returns
// -1 if there is none.
func (nb *rawNotebook) find(name string) int {
	for i, c := range nb.cells {
		ms, err := members(nb.text, c.start, c.end)
		if err != nil {
			continue
		}
		id, ok := member(ms, "id")
		var s string
		if ok && json.Unmarshal([]byte(id.in(nb.text)), &s) == nil && s == name {
			return i
		}
	}
	n, err := strconv.Atoi(strings.TrimPrefix(name, "cell-"))
	if err != nil || n < 0 || n >= len(nb.cells) {
		return -1
	}
	return n
}

// splice replaces text[start:end].
func splice(text string, start, end int, with string) string {
	return text[:start] + with + text[end:]
}

func (nb *rawNotebook) remove(at int) string {
	c := nb.cells[at]
	switch {
	case len(nb.cells) == 1:
		return splice(nb.text, nb.list.start, nb.list.end, "[]")
	case at == 0:
		return splice(nb.text, c.start, nb.cells[1].start, "")
	default:
		return splice(nb.text, nb.cells[at-1].end, c.end, "")
	}
}

func (nb *rawNotebook) insert(at int, e cellEdit) string {
	cell := nb.newCell(e, "{}", "")
	switch {
	case len(nb.cells) == 0:
		return splice(nb.text, nb.list.start, nb.list.end, "["+nb.newLine(2)+cell+nb.newLine(1)+"]")
	case at == 0:
		first := nb.cells[0].start
		return splice(nb.text, first, first, cell+","+nb.newLine(2))
	default:
		end := nb.cells[at-1].end
		return splice(nb.text, end, end, ","+nb.newLine(2)+cell)
	}
}

// newLine begins a line at a level of indentation, if the text has lines.
func (nb *rawNotebook) newLine(level int) string {
	if nb.indent == "" {
		return ""
	}
	return "\n" + strings.Repeat(nb.indent, level)
}

// newCell writes a cell with its members in the order of their names, as Jupyter
// does.
func (nb *rawNotebook) newCell(e cellEdit, metadata, id string) string {
	var b strings.Builder
	put := func(key, value string) {
		if b.Len() > 0 {
			b.WriteString(",")
		}
		b.WriteString(nb.newLine(3) + quoteJSON(key) + ":" + nb.gap() + value)
	}
	put("cell_type", quoteJSON(e.kind))
	if e.kind == "code" {
		put("execution_count", "null")
	}
	if id == "" && nb.withIDs {
		id = quoteJSON(strings.ToLower(rand.Text()[:8]))
	}
	if id != "" {
		put("id", id)
	}
	put("metadata", metadata)
	if e.kind == "code" {
		put("outputs", "[]")
	}
	put("source", nb.sourceLines(e.source))
	return "{" + b.String() + nb.newLine(2) + "}"
}

func (nb *rawNotebook) gap() string {
	if nb.indent == "" {
		return ""
	}
	return " "
}

// sourceLines writes a source as a list of lines, each with its line break.
func (nb *rawNotebook) sourceLines(source string) string {
	var b strings.Builder
	for line := range strings.Lines(source) {
		if b.Len() > 0 {
			b.WriteString(",")
		}
		b.WriteString(nb.newLine(4) + quoteJSON(line))
	}
	if b.Len() == 0 {
		return "[]"
	}
	return "[" + b.String() + nb.newLine(3) + "]"
}

// replaceSource gives a cell a new source and clears what the old one printed.
func (nb *rawNotebook) replaceSource(at int, e cellEdit) (string, error) {
	c := nb.cells[at]
	ms, err := members(nb.text, c.start, c.end)
	if err != nil {
		return "", err
	}
	value := func(key, otherwise string) string {
		if m, ok := member(ms, key); ok {
			return m.in(nb.text)
		}
		return otherwise
	}
	kind := value("cell_type", "")
	if e.kind != "" && kind != quoteJSON(e.kind) {
		return splice(nb.text, c.start, c.end, nb.newCell(e, value("metadata", "{}"), value("id", ""))), nil
	}
	text := nb.text
	// From the last to the first, so that what stands before keeps its place.
	for i := len(ms) - 1; i >= 0; i-- {
		m := ms[i]
		with := m.in(nb.text)
		switch {
		case m.key == "source" && strings.HasPrefix(with, `"`):
			with = quoteJSON(e.source)
		case m.key == "source":
			with = nb.sourceLines(e.source)
		case m.key == "outputs" && kind == `"code"`:
			with = "[]"
		case m.key == "execution_count" && kind == `"code"`:
			with = "null"
		default:
			continue
		}
		text = splice(text, m.start, m.end, with)
	}
	if _, ok := member(ms, "source"); !ok {
		return "", refuse("Cell %d has no source that could be replaced.", at)
	}
	return text, nil
}
