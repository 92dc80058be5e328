package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// Text reads one tree from text, as if it were all there is; file names it in
// messages. What it accepts is what a settings file may hold. Nothing at all is an
// empty object. Where a name is set twice, the first stands, and what is returned with
// the error can be used.
func Text(layer Layer, file string, text []byte) (*Layers, error) {
	at := Origin{Layer: layer, File: file}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(bytes.TrimSpace(text)) == 0 {
		return &Layers{root: &node{kind: anObject, at: at}}, nil
	}
	n, problems := parseValue(text, at)
	if n == nil {
		return nil, errors.Join(problems...)
	}
	return &Layers{root: n}, errors.Join(problems...)
}

// File reads one file like [Text]. If there is none, the error is [fs.ErrNotExist].
func File(layer Layer, path string) (*Layers, error) {
	text, err := readFile(path)
	if err != nil && missing(err) {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, &Problem{Origin{Layer: layer, File: path}, reason(err)}
	}
	return Text(layer, path, text)
}

// At returns what stands under a path of keys and numbers of list elements, as layers
// of their own, so that a list or an object can be decoded entry by entry and a bad
// one costs only itself. It is nil if there is nothing, also when l is.
func (l *Layers) At(path ...string) *Layers {
	if l == nil {
		return nil
	}
	n := l.root.find(path)
	if n == nil {
		return nil
	}
	return &Layers{root: n}
}

// Keys returns the names of what an object holds, in the order of the files; of a list,
// the numbers of its elements; of anything else, none.
func (l *Layers) Keys() []string {
	if l == nil {
		return nil
	}
	if l.root.kind != aList {
		return l.root.keys
	}
	keys := make([]string, len(l.root.items))
	for i := range keys {
		keys[i] = strconv.Itoa(i)
	}
	return keys
}

// Here is the place of the value itself.
func (l *Layers) Here() Origin { return l.root.at }

// JSON is the value itself, as standard JSON without comments.
func (l *Layers) JSON() []byte { return l.root.appendJSON(nil) }
