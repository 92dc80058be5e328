package definition

import (
	"errors"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"heddle/internal/config"
)

// maxDepth is how deep lists and maps may stand in each other.
const maxDepth = 32

// kind is what a value is, worded for messages.
type kind string

const (
	aNull   kind = "nothing"
	aBool   kind = "true or false"
	aNumber kind = "a number"
	aText   kind = "a text"
	aList   kind = "a list"
	aMap    kind = "a map"
)

// value is one value of the front matter, at a place in the file.
type value struct {
	kind         kind
	text         string // of a scalar, as it is written
	quoted       bool   // a scalar
	flow         bool   // a list in brackets
	items        []*value
	entries      []entry
	line, column int
}

type entry struct {
	key          string
	line, column int
	value        *value
}

// front reads the lines of front matter. What is wrong at first may have been meant in
// a way that can be guessed.
func (r *reader) front(front []string) ([]entry, error) {
	size := 0
	for _, l := range front {
		size += len(l) + 1
	}
	if size > maxFront {
		return nil, r.problem(1, 1, "the front matter is larger than %d KiB", maxFront>>10)
	}
	front = r.untab(front)
	if p := r.checkTokens(tokenize(front)); p != nil {
		return nil, p
	}
	before := len(r.warnings)
	entries, p := r.mapping(front)
	if p != nil {
		r.warnings = r.warnings[:before]
		if repaired := r.quote(front); repaired != nil {
			entries, p = r.mapping(repaired)
		}
	}
	if p != nil {
		return nil, p
	}
	return entries, nil
}

// tokenize puts an empty line in the place of the fence, so that lines are those of the
// file.
func tokenize(front []string) token.Tokens {
	return lexer.Tokenize("\n" + strings.Join(front, "\n") + "\n")
}

// mapping reads front matter as YAML with one map at its top.
func (r *reader) mapping(front []string) ([]entry, *config.Problem) {
	f, err := parser.Parse(tokenize(front), 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, r.syntax(err)
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return nil, nil
	}
	if len(f.Docs) > 1 {
		return nil, r.at(f.Docs[1].GetToken(), "a second YAML document begins here: there can be one")
	}
	v, p := r.value(f.Docs[0].Body, 0)
	if p != nil {
		return nil, p
	}
	if v.kind == aNull {
		return nil, nil
	}
	if v.kind != aMap {
		return nil, r.problem(v.line, v.column, "expected lines of the form KEY: VALUE, found %s", v.kind)
	}
	return v.entries, nil
}

// checkTokens refuses what would take the parser long, or grow when it is used.
func (r *reader) checkTokens(tokens token.Tokens) *config.Problem {
	depth, dashes := 0, 0
	for _, t := range tokens {
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.AnchorType, token.MergeKeyType:
			return r.at(t, "anchors (&) and merge keys (<<) are not supported: put the text in quotes, or write it out")
		}
		dashes++
		if t.Type != token.SequenceEntryType {
			dashes = 0
		}
		if depth > maxDepth || dashes > maxDepth {
			return r.at(t, "lists and maps stand more than %d deep in each other", maxDepth)
		}
	}
	return nil
}

func (r *reader) at(t *token.Token, format string, args ...any) *config.Problem {
	if t == nil || t.Position == nil {
		return r.problem(1, 1, format, args...)
	}
	return r.problem(max(t.Position.Line, 1), t.Position.Column, format, args...)
}

func (r *reader) syntax(err error) *config.Problem {
	if y, ok := errors.AsType[yaml.Error](err); ok {
		return r.at(y.GetToken(), "not valid YAML: %s", oneLine(y.GetMessage()))
	}
	return r.problem(1, 1, "not valid YAML: %s", oneLine(err.Error()))
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (r *reader) value(n ast.Node, depth int) (*value, *config.Problem) {
	if n == nil {
		return &value{kind: aNull}, nil
	}
	t := n.GetToken()
	if depth > maxDepth {
		return nil, r.at(t, "lists and maps stand more than %d deep in each other", maxDepth)
	}
	v := &value{text: t.Value, line: t.Position.Line, column: t.Position.Column}
	switch n := n.(type) {
	case *ast.NullNode:
		v.kind = aNull
	case *ast.BoolNode:
		v.kind = aBool
	case *ast.IntegerNode, *ast.FloatNode:
		v.kind = aNumber
	case *ast.StringNode:
		v.kind, v.text = aText, n.Value
		v.quoted = t.Type == token.SingleQuoteType || t.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		v.kind, v.text = aText, n.Value.Value
	case *ast.InfinityNode, *ast.NanNode:
		v.kind = aText // JSON has no such numbers
	case *ast.SequenceNode:
		return r.list(v, n, depth)
	case *ast.MappingNode:
		return r.pairs(v, n.Values, depth)
	case *ast.MappingValueNode:
		return r.pairs(v, []*ast.MappingValueNode{n}, depth)
	case *ast.TagNode:
		if !strings.HasPrefix(t.Value, "!!") {
			return nil, r.at(t, "the tag %s is not supported: put the text in quotes", t.Value)
		}
		return r.value(n.Value, depth+1)
	case *ast.AliasNode:
		return nil, r.at(t, "aliases (*) are not supported: put the text in quotes")
	default:
		return nil, r.at(t, "found a YAML %s, which is not supported", strings.ToLower(n.Type().String()))
	}
	return v, nil
}

func (r *reader) list(v *value, n *ast.SequenceNode, depth int) (*value, *config.Problem) {
	v.kind, v.flow = aList, n.IsFlowStyle
	for _, e := range n.Values {
		item, p := r.value(e, depth+1)
		if p != nil {
			return nil, p
		}
		v.items = append(v.items, item)
	}
	return v, nil
}

// pairs fills a map. Where a key is set twice, the first counts.
func (r *reader) pairs(v *value, pairs []*ast.MappingValueNode, depth int) (*value, *config.Problem) {
	v.kind = aMap
	seen := map[string]int{}
	for _, pair := range pairs {
		key, ok := pair.Key.(ast.ScalarNode)
		if !ok {
			return nil, r.at(pair.Key.GetToken(), "expected a word as a key")
		}
		t := key.GetToken()
		e := entry{key: t.Value, line: t.Position.Line, column: t.Position.Column}
		if text, ok := key.(*ast.StringNode); ok {
			e.key = text.Value
		}
		if first, ok := seen[e.key]; ok {
			r.again(e, first)
			continue
		}
		seen[e.key] = e.line
		var p *config.Problem
		if e.value, p = r.value(pair.Value, depth+1); p != nil {
			return nil, p
		}
		v.entries = append(v.entries, e)
	}
	return v, nil
}
