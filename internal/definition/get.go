package definition

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"heddle/internal/config"
)

// canonical is the same for allowed-tools, allowed_tools and allowedTools.
func canonical(key string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, key)
}

// find returns nil if the key is not there or has no value.
func (f *File) find(key string) *value {
	e := f.byKey[canonical(key)]
	if e == nil || e.value.kind == aNull {
		return nil
	}
	return e.value
}

// Has reports whether there is a key, in any of its spellings. It may have no value.
func (f *File) Has(key string) bool { return f.byKey[canonical(key)] != nil }

// Keys returns all keys as they are written, in the order of the file.
func (f *File) Keys() []string {
	keys := make([]string, len(f.entries))
	for i, e := range f.entries {
		keys[i] = e.key
	}
	return keys
}

// Problem is something wrong with what stands under a key, at its line; without the key,
// at the top of the file.
func (f *File) Problem(key, text string) *config.Problem {
	at := config.Origin{Layer: f.Layer, File: f.Path, Line: 1, Column: 1}
	if e := f.byKey[canonical(key)]; e != nil {
		at.Line, at.Column = e.line, e.column
		key = e.key
	}
	return &config.Problem{Origin: at, Text: key + ": " + text}
}

func (f *File) mismatch(key, wanted string, found *value) error {
	what := string(found.kind)
	switch found.kind {
	case aText:
		what = strconv.Quote(clip(found.text))
	case aBool, aNumber:
		what = clip(found.text)
	}
	return f.Problem(key, fmt.Sprintf("expected %s, found %s", wanted, what))
}

func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "…"
	}
	return s
}

// Text returns the text under a key, or "". A number or a date is the text that it is
// written as; the elements of a list are joined with commas.
func (f *File) Text(key string) (string, error) {
	v := f.find(key)
	switch {
	case v == nil:
		return "", nil
	case v.kind == aMap:
		return "", f.mismatch(key, "a text", v)
	case v.kind == aList:
		items, err := f.List(key)
		return strings.Join(items, ", "), err
	}
	return v.text, nil
}

// Bool returns whether a key is switched on: true, yes, on or 1, in any case. It is
// otherwise if the key is not there.
func (f *File) Bool(key string, otherwise bool) (bool, error) {
	v := f.find(key)
	if v == nil {
		return otherwise, nil
	}
	if v.kind != aList && v.kind != aMap {
		switch strings.ToLower(strings.TrimSpace(v.text)) {
		case "true", "yes", "on", "1":
			return true, nil
		case "false", "no", "off", "0":
			return false, nil
		}
	}
	return otherwise, f.mismatch(key, "true or false", v)
}

// Number returns a whole number, and whether there is one.
func (f *File) Number(key string) (n int, ok bool, err error) {
	v := f.find(key)
	if v == nil {
		return 0, false, nil
	}
	if v.kind == aNumber || v.kind == aText {
		if n, err := strconv.Atoi(strings.TrimSpace(v.text)); err == nil {
			return n, true, nil
		}
	}
	return 0, false, f.mismatch(key, "a whole number", v)
}

// List returns the elements of a list, or what stands between the commas of a text.
// Commas in parentheses separate nothing: "Agent(a, b), Read" has two elements, in
// either form.
func (f *File) List(key string) ([]string, error) {
	return f.list(key, func(c rune) bool { return c == ',' })
}

// Words is like [File.List], but blanks separate the elements of a text as well.
func (f *File) Words(key string) ([]string, error) {
	return f.list(key, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })
}

func (f *File) list(key string, separator func(rune) bool) ([]string, error) {
	v := f.find(key)
	if v == nil {
		return nil, nil
	}
	if v.kind == aMap {
		return nil, f.mismatch(key, "a list", v)
	}
	if v.kind != aList {
		return split(v.text, separator), nil
	}
	var out []string
	open := 0 // parentheses
	for _, e := range v.items {
		if e.kind == aList || e.kind == aMap {
			return nil, f.mismatch(key, "a list of texts", e)
		}
		text := strings.TrimSpace(e.text)
		switch {
		case open > 0: // YAML splits [Agent(a, b)] in two
			out[len(out)-1] += ", " + text
		case text != "" && e.kind != aNull:
			out = append(out, text)
		}
		if v.flow && !e.quoted {
			open = max(open+strings.Count(text, "(")-strings.Count(text, ")"), 0)
		}
	}
	return out, nil
}

// split cuts text at separators outside of parentheses, and drops empty pieces.
func split(text string, separator func(rune) bool) []string {
	var out []string
	add := func(piece string) {
		if piece = strings.TrimSpace(piece); piece != "" {
			out = append(out, piece)
		}
	}
	depth, start := 0, 0
	for i, c := range text {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth = max(depth-1, 0)
		case depth == 0 && separator(c):
			add(text[start:i])
			start = i + utf8.RuneLen(c)
		}
	}
	add(text[start:])
	return out
}
