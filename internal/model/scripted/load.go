package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	// maxScript is how large a script may be.
	maxScript = 1 << 20
	// maxDepth is how deep brackets may nest, as the parser recurses.
	maxDepth = 1000
)

// LoadFile reads the script in a file.
func LoadFile(path string) (*Script, error) {
	// A pipe that nobody writes to would keep the open waiting, and no signal ends that.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open the script: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open the script: %s is not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return nil, fmt.Errorf("read the script: %w", err)
	}
	return Load(path, b)
}

// Load reads a script. Errors say where in it they are: name, line and column.
func Load(name string, data []byte) (*Script, error) {
	s := &Script{name: name}
	if err := s.load(data); err != nil {
		return nil, located(name, err)
	}
	return s, nil
}

func (s *Script) load(data []byte) (err error) {
	defer func() {
		// The YAML module has had panics on text that is no YAML.
		if r := recover(); r != nil {
			err = fmt.Errorf("not YAML that can be read: %v", r)
		}
	}()
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > maxScript:
		return fmt.Errorf("the script is larger than %d bytes", maxScript)
	case !utf8.Valid(data):
		return errors.New("the script is not UTF-8 text")
	}
	if err := checkDepth(data); err != nil {
		return err
	}
	f, err := parser.ParseBytes(data, 0)
	if err != nil {
		return err
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return errors.New(`the script is empty; it needs at least "agents:"`)
	}
	if len(f.Docs) > 1 {
		return problem(f.Docs[1], "a script is one YAML document")
	}
	var c checker
	if ast.Walk(&c, f.Docs[0].Body); c.err != nil {
		return c.err
	}
	if err := yaml.NodeToValue(f.Docs[0].Body, s, yaml.Strict()); err != nil {
		return err
	}
	if len(s.Agents) == 0 || slices.ContainsFunc(s.Agents, func(a Agent) bool { return len(a.Turns) == 0 }) {
		return problem(f.Docs[0].Body, "the script has no agents, or one that is nothing")
	}
	if s.Window < 0 {
		return problem(f.Docs[0].Body, "window: want a number of tokens from 0")
	}
	return nil
}

// checkDepth refuses what nests too deeply.
func checkDepth(data []byte) error {
	depth := 0
	for n, line := range bytes.Split(data, []byte("\n")) {
		dashes := bytes.Count(line, []byte("- "))
		depth += bytes.Count(line, []byte("[")) + bytes.Count(line, []byte("{"))
		depth = max(0, depth-bytes.Count(line, []byte("]"))-bytes.Count(line, []byte("}")))
		if depth > maxDepth || dashes > maxDepth {
			return &position{n + 1, 1, "this nests too deeply"}
		}
	}
	return nil
}

// checker refuses what can make a small file large or surprising.
type checker struct{ err error }

func (c *checker) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		c.err = problem(n, "a script has no anchors and aliases: write it out")
	case *ast.TagNode, *ast.DirectiveNode:
		c.err = problem(n, "a script has no tags and directives")
	}
	if c.err != nil {
		return nil
	}
	return c
}

// position is a problem of a script and where it is.
type position struct {
	line, column int
	text         string
}

func (p *position) Error() string { return fmt.Sprintf("%d:%d: %s", p.line, p.column, p.text) }

func problem(n ast.Node, format string, args ...any) error {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key // the token of a mapping is its first colon
	}
	return at(n.GetToken(), fmt.Sprintf(format, args...))
}

func at(t *token.Token, text string) *position {
	p := &position{1, 1, text}
	if t != nil && t.Position != nil {
		p.line, p.column = t.Position.Line, t.Position.Column
	}
	return p
}

// located says in which file, and in plain words, what is wrong.
func located(name string, err error) error {
	var p *position
	var y yaml.Error
	switch {
	case errors.As(err, &p):
	case errors.As(err, &y):
		p = at(y.GetToken(), y.GetMessage())
		var kind *yaml.TypeError
		var node *yaml.UnexpectedNodeTypeError
		switch {
		case errors.As(err, &kind) && kind.DstType != nil && kind.SrcType != nil:
			p.text = fmt.Sprintf("want %s, not %s", plain(kind.DstType.Kind().String()), plain(kind.SrcType.Kind().String()))
		case errors.As(err, &node):
			p.text = fmt.Sprintf("want %s, not %s", plain(node.Expected.YAMLName()), plain(node.Actual.YAMLName()))
		}
	default:
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s:%w", name, p)
}

// plain names a kind of value as a writer of scripts knows it.
func plain(kind string) string {
	switch {
	case strings.Contains(kind, "int") || strings.Contains(kind, "float"):
		return "a number"
	case kind == "map" || kind == "mapping" || kind == "struct" || kind == "ptr":
		return "a mapping"
	case kind == "slice" || kind == "sequence":
		return "a list"
	case kind == "bool" || kind == "boolean":
		return "true or false"
	case kind == "string":
		return "a text"
	}
	return kind
}
