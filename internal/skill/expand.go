package skill

import (
	"fmt"
	"strings"
)

// PartKind is what is to be done with a part of an expanded text.
type PartKind int

const (
	// Text is meant as it stands. Nothing in it is to be expanded again.
	Text PartKind = iota
	// Shell is a command, to be replaced by what it prints.
	Shell
	// File is the path of a file, to be replaced by its content. It was written as
	// @path, and if there is no such file, that is what was meant.
	File
)

// Part is a piece of an expanded text.
type Part struct {
	Kind PartKind
	Text string
}

// Vars are what placeholders in texts stand for, besides arguments.
type Vars struct {
	Session string // ${CLAUDE_SESSION_ID}
	Project string // ${CLAUDE_PROJECT_DIR}
	Effort  string // ${CLAUDE_EFFORT}
}

// Expand reads the text and puts args and vars in. Neither is read as more than data: no
// placeholder, command or file name in them counts, and in commands they are quoted. The
// error is a [*config.Problem].
//
// A command is !`…` within one line, at its start or after a blank, or a code block that
// begins with ```!. Other code is left alone, but for placeholders. A backslash makes $ a
// plain character. Arguments that the text has no place for stand below it.
func (s *Skill) Expand(args string, vars Vars) ([]Part, error) {
	file, err := s.files.read(s.Layer, s.Path)
	if err != nil {
		return nil, err
	}
	e := &expander{values: s.values(args, vars)}
	if !s.Command && s.files.fs == nil {
		e.text.WriteString("Base directory of this skill: " + s.Dir + "\n\n")
	}
	for _, b := range blocks(file.Body) {
		if !e.block(b) {
			p := at(s.Layer, s.Path, e.problem)
			p.Line, p.Column = file.BodyLine+b.line+e.line, 1
			return nil, p
		}
	}
	if e.values.size > maxExpanded {
		return nil, at(s.Layer, s.Path, fmt.Sprintf("the text would be longer than %d MiB with these arguments: shorten them", maxExpanded>>20))
	}
	if !e.values.used && strings.TrimSpace(args) != "" {
		e.text.WriteString("\n\nARGUMENTS: " + args)
	}
	e.flush()
	return e.parts, nil
}

// expander collects parts.
type expander struct {
	values  values
	parts   []Part
	text    strings.Builder
	problem string
	line    int // of the problem, in its block
}

func (e *expander) flush() {
	if e.text.Len() > 0 {
		e.parts = append(e.parts, Part{Text, e.text.String()})
		e.text.Reset()
	}
}

func (e *expander) part(kind PartKind, text string) {
	e.flush()
	e.parts = append(e.parts, Part{kind, text})
}

// block reports whether it could be expanded.
func (e *expander) block(b block) bool {
	switch {
	case b.unclosed && b.kind == command:
		e.problem = "the block of commands that begins here has no end: add a line ``` after it"
		return false
	case b.kind == command:
		return e.commands(b.text)
	case b.kind == code:
		e.text.WriteString(e.values.expand(b.text))
		return true
	}
	return e.prose(b.text)
}

// commands expands a block. What follows it stays in a line of its own.
func (e *expander) commands(text string) bool {
	if strings.TrimSpace(text) == "" {
		return true
	}
	if !e.shell(strings.TrimSuffix(text, "\n")) {
		return false
	}
	e.text.WriteByte('\n')
	return true
}

func (e *expander) shell(source string) bool {
	text, err := e.values.expandShell(source)
	if err != nil {
		e.problem = err.Error()
		return false
	}
	e.part(Shell, text)
	return true
}

// prose expands text outside of code blocks.
func (e *expander) prose(text string) bool {
	for i := 0; i < len(text); {
		rest := text[i:]
		first := i == 0 || isBlank(text[i-1])
		switch c := text[i]; {
		case c == '!' && first && inlineCommand(rest) != "":
			source := inlineCommand(rest)
			if !e.shell(source) {
				e.line = strings.Count(text[:i], "\n")
				return false
			}
			i += len(source) + len("!``")
		case c == '`':
			n := inlineCode(rest)
			e.text.WriteString(e.values.expand(rest[:n]))
			i += n
		case c == '@' && (first || strings.IndexByte("([{\"'", text[i-1]) >= 0):
			path, n := filePath(rest)
			if path = e.values.expand(path); path != "" {
				e.part(File, path)
			} else {
				e.text.WriteString(rest[:n])
			}
			i += n
		case c == '\\' && strings.HasPrefix(rest, "\\`"):
			e.text.WriteString(rest[:2])
			i += 2
		case c == '\\' || c == '$':
			i += e.dollar(rest)
		default:
			e.text.WriteByte(c)
			i++
		}
	}
	return true
}

// dollar writes the placeholder that text begins with, or else a character of it, and
// returns how long that was.
func (e *expander) dollar(text string) int {
	if strings.HasPrefix(text, `\$`) {
		e.text.WriteByte('$')
		return 2
	}
	if p, n := e.values.placeholder(text); n > 0 {
		e.text.WriteString(p.value)
		return n
	}
	e.text.WriteByte(text[0])
	return 1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
