package roster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"heddle/internal/config"
)

// object reads the definitions of a source that are written in JSON.
func (r *Roster) object(s Source) []*Agent {
	if s.JSON == nil {
		return nil
	}
	if first(s.JSON.JSON()) != '{' {
		r.tell([]*config.Problem{{Origin: s.JSON.Here(), Text: "expected an object of agents by name, as in {\"reviewer\": {\"description\": \"…\", \"prompt\": \"…\"}}"}}, nil)
		return nil
	}
	var out []*Agent
	for _, name := range s.JSON.Keys() {
		tree := s.JSON.At(name)
		if first(tree.JSON()) != '{' {
			r.tell([]*config.Problem{{Origin: tree.Here(), Text: clip(name) + ": expected an object with a description and a prompt"}}, nil)
			continue
		}
		a, warnings, err := loadObject(s, name, tree)
		if err != nil {
			r.tell([]*config.Problem{asProblem(err, tree.Here())}, nil)
			continue
		}
		r.tell(nil, warnings)
		out = append(out, a)
	}
	return out
}

func loadObject(s Source, name string, tree *config.Layers) (*Agent, []*config.Problem, error) {
	o := object{name: name, tree: tree, keys: map[string]string{}}
	for _, key := range tree.Keys() {
		if _, ok := o.keys[canonical(key)]; !ok {
			o.keys[canonical(key)] = key
		}
	}
	s.Layer = tree.Here().Layer
	l := newLoader(s, o, Agent{Kind: KindClaude, Path: tree.Here().File})
	l.call(name)
	if other := l.text("name"); other != "" && other != name {
		l.warn("name", fmt.Sprintf("%q is ignored: the agent is called %q, the name that its object stands under", clip(other), name))
	}
	l.agent.Prompt = l.text("prompt")
	if l.agent.Prompt == "" {
		l.fail(o.Problem("prompt", "is missing: say what the agent is to do"))
	}
	return l.finish()
}

// object is one definition in JSON. As in a file, a number is the text that it is written
// as, and a list may be a text with commas.
type object struct {
	name string
	tree *config.Layers
	keys map[string]string // as they are written, by canonical key
}

// at is nil if there is nothing under a key.
func (o object) at(key string) *config.Layers {
	if written, ok := o.keys[canonical(key)]; ok {
		return o.tree.At(written)
	}
	return nil
}

// value decodes what stands under a key; nil is nothing.
func (o object) value(key string) any {
	at := o.at(key)
	if at == nil {
		return nil
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(at.JSON()))
	d.UseNumber()
	if d.Decode(&v) != nil { // the tree is JSON
		return nil
	}
	return v
}

func (o object) Has(key string) bool { return o.at(key) != nil }

func (o object) Keys() []string { return o.tree.Keys() }

func (o object) Problem(key, text string) *config.Problem {
	origin := o.tree.Here()
	if at := o.at(key); at != nil {
		origin, key = at.Here(), o.keys[canonical(key)]
	}
	return &config.Problem{Origin: origin, Text: clip(o.name) + "." + key + ": " + text}
}

func (o object) mismatch(key, wanted string) error {
	found := "something else"
	switch v := o.value(key).(type) {
	case string:
		found = strconv.Quote(clip(v))
	case json.Number:
		found = clip(v.String())
	case bool:
		found = strconv.FormatBool(v)
	case []any:
		found = "a list"
	case map[string]any:
		found = "an object"
	}
	return o.Problem(key, fmt.Sprintf("expected %s, found %s", wanted, found))
}

func (o object) Text(key string) (string, error) {
	switch v := o.value(key).(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	}
	return "", o.mismatch(key, "a text")
}

func (o object) Bool(key string, otherwise bool) (bool, error) {
	switch v := o.value(key).(type) {
	case nil:
		return otherwise, nil
	case bool:
		return v, nil
	}
	return otherwise, o.mismatch(key, "true or false")
}

func (o object) Number(key string) (n int, ok bool, err error) {
	switch v := o.value(key).(type) {
	case nil:
		return 0, false, nil
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n, true, nil
		}
	}
	return 0, false, o.mismatch(key, "a whole number")
}

func (o object) List(key string) ([]string, error) {
	switch v := o.value(key).(type) {
	case nil:
		return nil, nil
	case string:
		return pieces(v), nil
	case []any:
		var out []string
		for _, item := range v {
			text, ok := item.(string)
			if !ok {
				return nil, o.Problem(key, "expected a list of texts, found something else in it")
			}
			if text = strings.TrimSpace(text); text != "" {
				out = append(out, text)
			}
		}
		return out, nil
	}
	return nil, o.mismatch(key, "a list of texts")
}

func (o object) Words(key string) ([]string, error) { return o.List(key) }

// Value lets the JSON begin where it begins in the file. What is inside stands in one
// line.
func (o object) Value(key string) (text []byte, line int, ok bool) {
	at := o.at(key)
	if at == nil {
		return nil, 0, false
	}
	here := at.Here()
	text = []byte(strings.Repeat("\n", max(here.Line-1, 0)) + strings.Repeat(" ", max(here.Column-1, 0)))
	return append(text, at.JSON()...), here.Line, true
}

// pieces cuts a text at commas outside of parentheses, and drops empty pieces.
func pieces(text string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (text[i] != ',' || depth > 0) {
			switch text[i] {
			case '(':
				depth++
			case ')':
				depth = max(depth-1, 0)
			}
			continue
		}
		if piece := strings.TrimSpace(text[start:i]); piece != "" {
			out = append(out, piece)
		}
		start = i + 1
	}
	return out
}
