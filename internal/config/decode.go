package config

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Section decodes what all layers together say under a key into a T, or all
// settings if key is empty. Keys that T does not name are left out, see
// [Unknown]. A value of the wrong type is an error in whatever layer it
// stands, also if a higher one hides it; several are joined, each a [*Problem].
func Section[T any](l *Layers, key string) (T, error) {
	var v T
	n, path := l.section(key)
	if n == nil {
		return v, nil
	}
	c := checker{}
	text := c.check(nil, n, reflect.TypeFor[T](), path)
	if len(c.problems) > 0 {
		return v, errors.Join(c.problems...)
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return v, &Problem{n.at, path + ": " + err.Error()}
	}
	return v, nil
}

func (l *Layers) section(key string) (n *node, path string) {
	if key == "" {
		return l.root, ""
	}
	return l.root.members[key], member("", key)
}

// checker compares nodes with types.
type checker struct {
	problems []error
}

// check appends n to dst as JSON that a value of type t can be decoded from.
func (c *checker) check(dst []byte, n *node, t reflect.Type, path string) []byte {
	for _, h := range n.hidden {
		c.check(nil, h, t, path)
	}
	switch shapeOf(t) {
	case pointer:
		return c.check(dst, n, t.Elem(), path)
	case structure:
		return c.object(dst, n, path, func(key string) reflect.Type { return fields(t)[key] }, t)
	case dictionary:
		return c.object(dst, n, path, func(string) reflect.Type { return t.Elem() }, t)
	case sequence:
		return c.list(dst, n, t, path)
	case scalar:
		return c.scalar(dst, n, t, path)
	}
	return c.opaque(dst, n, t, path)
}

func (c *checker) object(dst []byte, n *node, path string, of func(key string) reflect.Type, t reflect.Type) []byte {
	if n.kind != anObject {
		return c.mismatch(dst, n, t, path)
	}
	dst = append(dst, '{')
	comma := false
	for _, k := range n.keys {
		inner := of(k)
		if inner == nil {
			continue
		}
		if comma {
			dst = append(dst, ',')
		}
		comma = true
		dst = c.check(appendKey(dst, k), n.members[k], inner, member(path, k))
	}
	return append(dst, '}')
}

func (c *checker) list(dst []byte, n *node, t reflect.Type, path string) []byte {
	if n.kind != aList {
		return c.mismatch(dst, n, t, path)
	}
	dst = append(dst, '[')
	for i, e := range n.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = c.check(dst, e, t.Elem(), element(path, i))
	}
	return append(dst, ']')
}

func (c *checker) scalar(dst []byte, n *node, t reflect.Type, path string) []byte {
	if n.kind != scalarKind(t) {
		return c.mismatch(dst, n, t, path)
	}
	if n.kind == aNumber && json.Unmarshal(n.text, reflect.New(t).Interface()) != nil {
		c.report(n, path, "expected "+describe(t)+", found "+string(n.text))
	}
	return append(dst, n.text...)
}

// opaque leaves n to the type's own method of decoding.
func (c *checker) opaque(dst []byte, n *node, t reflect.Type, path string) []byte {
	start := len(dst)
	dst = n.appendJSON(dst)
	into := reflect.New(t).Interface()
	if _, ok := into.(encoding.TextUnmarshaler); ok && n.kind != aString {
		if _, ok := into.(json.Unmarshaler); !ok {
			c.report(n, path, "expected "+string(aString)+", found "+string(n.kind))
			return dst
		}
	}
	err := json.Unmarshal(dst[start:], into)
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong):
		c.report(n, path, "found "+wrong.Value+", which cannot be used here")
	case err != nil:
		c.report(n, path, err.Error())
	}
	return dst
}

func (c *checker) mismatch(dst []byte, n *node, t reflect.Type, path string) []byte {
	c.report(n, path, "expected "+describe(t)+", found "+string(n.kind))
	return append(dst, "null"...)
}

func (c *checker) report(n *node, path, what string) {
	if path != "" {
		what = path + ": " + what
	}
	c.problems = append(c.problems, &Problem{n.at, strings.ReplaceAll(what, "\n", " ")})
}

// Unknown returns a problem for every key in a section that T does not name.
// An empty section is all settings.
func Unknown[T any](l *Layers, key string) []*Problem {
	n, path := l.section(key)
	if n == nil {
		return nil
	}
	return unknown(nil, n, reflect.TypeFor[T](), path)
}

func unknown(out []*Problem, n *node, t reflect.Type, path string) []*Problem {
	for _, h := range n.hidden {
		out = unknown(out, h, t, path)
	}
	switch shape := shapeOf(t); {
	case shape == pointer:
		return unknown(out, n, t.Elem(), path)
	case shape == sequence:
		for i, e := range n.items {
			out = unknown(out, e, t.Elem(), element(path, i))
		}
	case shape == dictionary:
		for _, k := range n.keys {
			out = unknown(out, n.members[k], t.Elem(), member(path, k))
		}
	case shape == structure:
		known := fields(t)
		for _, k := range n.keys {
			inner, m := known[k], n.members[k]
			if inner == nil {
				out = append(out, &Problem{m.key, fmt.Sprintf("%s: unknown setting%s", member(path, k), suggestion(k, known))})
				continue
			}
			out = unknown(out, m, inner, member(path, k))
		}
	}
	return out
}
