package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// element is a value of a JSON text, or a member of an object, and where it
// stands. With it a value can be replaced without touching what is around it.
type element struct {
	key        string // of a member
	start, end int    // of the value
	from       int    // of the member; start, if it is none
}

func (e element) in(text string) string { return text[e.start:e.end] }

var errShape = errors.New("it does not have the shape of a notebook")

// members returns the members of the object that text[at:end] is.
func members(text string, at, end int) ([]element, error) { return elements(text, at, end, '{') }

// items returns the values of the list that text[at:end] is.
func items(text string, at, end int) ([]element, error) { return elements(text, at, end, '[') }

func elements(text string, at, end int, open json.Delim) ([]element, error) {
	dec := json.NewDecoder(strings.NewReader(text[at:end]))
	if t, err := dec.Token(); err != nil {
		return nil, err
	} else if t != open {
		return nil, errShape
	}
	var found []element
	for dec.More() {
		var e element
		if open == '{' {
			t, err := dec.Token()
			if err != nil {
				return nil, err
			}
			e.key, _ = t.(string)
			keyEnd := at + int(dec.InputOffset())
			e.from = strings.LastIndexByte(text[:keyEnd-1], '"')
			for escaped(text, e.from) {
				e.from = strings.LastIndexByte(text[:e.from], '"')
			}
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, err
		}
		e.end = at + int(dec.InputOffset())
		e.start = e.end - len(raw)
		if open == '[' {
			e.from = e.start
		}
		found = append(found, e)
	}
	_, err := dec.Token()
	return found, err
}

// escaped reports whether a backslash protects the byte at i.
func escaped(text string, i int) bool {
	n := 0
	for i > n && text[i-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

// member returns the member of that name; of several, the last, as decoders do.
func member(es []element, key string) (element, bool) {
	for i := len(es) - 1; i >= 0; i-- {
		if es[i].key == key {
			return es[i], true
		}
	}
	return element{}, false
}

// quoteJSON writes s as a JSON string, without escaping what need not be.
func quoteJSON(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always can be
	return strings.TrimSuffix(b.String(), "\n")
}
