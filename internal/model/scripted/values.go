package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"heddle/internal/message"
)

// Duration is a time such as 200ms.
type Duration time.Duration

// Count is a number of times; forever is a very large one.
type Count int

const forever = 1 << 30

// Phrase is a text that must occur, or a regular expression between slashes. An
// empty one fits everything.
type Phrase struct{ matches func(string) bool }

// Pattern is a regular expression. It may hold references such as ${id}, which
// stand for the text of a value. An empty one fits everything.
type Pattern struct{ source string }

// Input is the input of a call: JSON with the keys in the order of the script,
// and texts in it that may hold references.
type Input []segment

// segment is JSON, or a text that becomes a JSON string.
type segment struct {
	json   string
	text   string
	isText bool
}

// reference is ${name}. A second dollar before it makes it plain text.
var reference = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$?\$\{[\w.-]*\}`)
})

// values are what references stand for.
type values map[string]string

// fill puts values in the place of references.
func (v values) fill(s string) (string, error) {
	return v.fillWith(s, func(s string) string { return s })
}

func (v values) fillWith(s string, quote func(string) string) (string, error) {
	var unknown string
	out := reference().ReplaceAllStringFunc(s, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		value, ok := v[ref[2:len(ref)-1]]
		if !ok && unknown == "" {
			unknown = ref
		}
		return quote(value)
	})
	if unknown != "" {
		return "", fmt.Errorf("%s has no value here; write $%s for the text itself", unknown, unknown)
	}
	return out, nil
}

// compile returns the expression with values in it.
func (p Pattern) compile(v values) (*regexp.Regexp, error) {
	source, err := v.fillWith(p.source, regexp.QuoteMeta)
	if err != nil {
		return nil, err
	}
	return compile(source)
}

// compile compiles an expression. Its ^ and $ match at the ends of lines.
func compile(source string) (*regexp.Regexp, error) {
	const lines = "(?m)"
	re, err := regexp.Compile(lines + source)
	if err != nil {
		return nil, errors.New(strings.Replace(err.Error(), lines, "", 1))
	}
	return re, nil
}

// find returns the groups of the first match, or nil.
func (p Pattern) find(s string, v values) ([]string, error) {
	re, err := p.compile(v)
	if err != nil {
		return nil, err
	}
	return re.FindStringSubmatch(s), nil
}

func (p Phrase) fits(s string) bool { return p.matches == nil || p.matches(s) }

// fill returns the JSON text of the input.
func (in Input) fill(v values) ([]byte, error) {
	if in == nil {
		return []byte("{}"), nil
	}
	var dst []byte
	for _, s := range in {
		if !s.isText {
			dst = append(dst, s.json...)
			continue
		}
		text, err := v.fill(s.text)
		if err != nil {
			return nil, err
		}
		dst = message.AppendString(dst, text)
	}
	return dst, nil
}

// UnmarshalYAML parses the time.
func (d *Duration) UnmarshalYAML(n ast.Node) error {
	v, err := time.ParseDuration(n.GetToken().Value)
	if err != nil || v < 0 {
		return problem(n, "want a time such as 200ms or 3s, not %s", shown(n))
	}
	*d = Duration(v)
	return nil
}

// UnmarshalYAML parses the number, or forever.
func (c *Count) UnmarshalYAML(n ast.Node) error {
	if s, ok := n.(*ast.StringNode); ok && s.Value == "forever" {
		*c = forever
		return nil
	}
	var v int
	if yaml.NodeToValue(n, &v) != nil || v < 1 || v > forever {
		return problem(n, "want a number from 1, or forever, not %s", shown(n))
	}
	*c = Count(v)
	return nil
}

// UnmarshalYAML checks the name.
func (c *Cut) UnmarshalYAML(n ast.Node) error {
	s, _ := textOf(n)
	if *c = Cut(s); *c != Between && *c != Within && *c != Clean {
		return problem(n, "want between, within or clean, not %s", shown(n))
	}
	return nil
}

// UnmarshalYAML compiles the expression, if it is one.
func (p *Phrase) UnmarshalYAML(n ast.Node) error {
	s, ok := textOf(n)
	if !ok {
		return problem(n, "want a text, or a /regular expression/, not %s", shown(n))
	}
	if len(s) > 2 && s[0] == '/' && s[len(s)-1] == '/' {
		re, err := compile(s[1 : len(s)-1])
		if err != nil {
			return problem(n, "%v", err)
		}
		p.matches = re.MatchString
		return nil
	}
	p.matches = func(in string) bool { return strings.Contains(in, s) }
	return nil
}

// UnmarshalYAML checks the expression.
func (p *Pattern) UnmarshalYAML(n ast.Node) error {
	s, ok := textOf(n)
	if !ok || s == "" {
		return problem(n, "want a regular expression, not %s", shown(n))
	}
	p.source = s
	if _, err := compile(reference().ReplaceAllString(s, "x")); err != nil {
		return problem(n, "%v", err)
	}
	return nil
}

// UnmarshalYAML turns the value into JSON.
func (in *Input) UnmarshalYAML(n ast.Node) error {
	*in = Input{}
	return in.add(n)
}

func (in *Input) add(n ast.Node) error {
	switch n := n.(type) {
	case *ast.MappingNode:
		return in.object(n, n.Values)
	case *ast.MappingValueNode:
		return in.object(n, []*ast.MappingValueNode{n})
	case *ast.SequenceNode:
		in.json("[")
		for i, v := range n.Values {
			if i > 0 {
				in.json(",")
			}
			if err := in.add(v); err != nil {
				return err
			}
		}
		in.json("]")
		return nil
	case *ast.NullNode:
		in.json("null")
		return nil
	case *ast.IntegerNode:
		return in.number(n, n.Value)
	case *ast.FloatNode:
		return in.number(n, n.Value)
	case *ast.BoolNode:
		in.json(fmt.Sprint(n.Value))
		return nil
	}
	s, ok := textOf(n)
	if !ok {
		return problem(n, "JSON has no %s", strings.ToLower(n.Type().String()))
	}
	*in = append(*in, segment{text: s, isText: true})
	return nil
}

// object adds an object. Its keys stay as they are written.
func (in *Input) object(n ast.Node, members []*ast.MappingValueNode) error {
	seen := map[string]bool{}
	in.json("{")
	for i, m := range members {
		key := m.Key.GetToken().Value
		if m.Key.IsMergeKey() || seen[key] {
			return problem(m.Key, "key %q: it may stand here only once; use input_raw to send what is not proper", key)
		}
		seen[key] = true
		if i > 0 {
			in.json(",")
		}
		in.json(string(message.AppendString(nil, key)) + ":")
		if err := in.add(m.Value); err != nil {
			return err
		}
	}
	in.json("}")
	return nil
}

// number keeps the spelling of a number that JSON has too, such as 1.50.
func (in *Input) number(n ast.Node, value any) error {
	text := n.GetToken().Value
	if !json.Valid([]byte(text)) {
		b, err := json.Marshal(value)
		if err != nil {
			return problem(n, "JSON has no such number")
		}
		text = string(b)
	}
	in.json(text)
	return nil
}

func (in *Input) json(text string) { *in = append(*in, segment{json: text}) }

// textOf returns the text of a string, in whatever style it is written.
func textOf(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	}
	return "", false
}

// shown names a node in an error.
func shown(n ast.Node) string {
	if s, ok := textOf(n); ok {
		return fmt.Sprintf("%q", shorten(s))
	}
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	}
	return n.GetToken().Value
}
