package config

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"heddle/internal/spelling"
)

// shape is how a Go type is decoded from settings.
type shape int

const (
	opaque shape = iota // by its own method, or any JSON will do
	pointer
	structure
	dictionary
	sequence
	scalar
)

func shapeOf(t reflect.Type) shape {
	if t.Kind() == reflect.Pointer {
		return pointer
	}
	switch reflect.New(t).Interface().(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return opaque
	}
	switch t.Kind() {
	case reflect.Struct:
		return structure
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return dictionary
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return sequence
		}
	}
	if scalarKind(t) != "" {
		return scalar
	}
	return opaque
}

func scalarKind(t reflect.Type) kind {
	switch k := t.Kind(); {
	case k == reflect.String:
		return aString
	case k == reflect.Bool:
		return aBoolean
	case k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr:
		return aNumber
	}
	return ""
}

// fields returns the types of the settings that a struct names. Unlike
// encoding/json it does not fold case: layers are merged by the exact key.
func fields(t reflect.Type) map[string]reflect.Type {
	out := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "-" || f.Anonymous && name == "" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		out[name] = f.Type
	}
	return out
}

// describe says what is expected for t.
func describe(t reflect.Type) string {
	switch shapeOf(t) {
	case pointer:
		return describe(t.Elem())
	case structure, dictionary:
		return string(anObject)
	case sequence:
		return "a list of " + plural(t.Elem())
	case scalar:
		if k := t.Kind(); k >= reflect.Int && k <= reflect.Uint64 {
			return "a whole number"
		}
		return string(scalarKind(t))
	}
	return "a value"
}

func plural(t reflect.Type) string {
	switch shapeOf(t) {
	case pointer:
		return plural(t.Elem())
	case structure, dictionary:
		return "objects"
	case sequence:
		return "lists"
	case scalar:
		switch scalarKind(t) {
		case aString:
			return "strings"
		case aNumber:
			return "numbers"
		}
	}
	return "values"
}

// suggestion names the known setting that key was probably meant to be.
func suggestion(key string, known map[string]reflect.Type) string {
	best, least := "", 3 // more differences than two are another word
	for name := range known {
		if len(key) > len(name)+least {
			continue
		}
		d := spelling.Distance(strings.ToLower(key), strings.ToLower(name))
		if d < least || d == least && name < best {
			best, least = name, d
		}
	}
	if best == "" || least >= len(best) {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
