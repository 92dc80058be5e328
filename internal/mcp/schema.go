package mcp

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/google/jsonschema-go/jsonschema"
)

// cleanSchema returns the schema of a tool as model APIs take it. One schema that they do
// not take would spoil every request, so that what is doubtful is refused here. note says
// what was left out.
func cleanSchema(from any) (schema json.RawMessage, note string, err error) {
	object, ok := from.(map[string]any)
	if from == nil {
		object, ok = map[string]any{}, true
	}
	if !ok {
		return nil, "", fmt.Errorf("is not an object")
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		if _, there := object[key]; there {
			delete(object, key)
			note = fmt.Sprintf("%s at the top of its schema is left out, since model APIs do not take it", key)
		}
	}
	switch object["type"] {
	case nil:
		object["type"] = "object"
	case "object":
	default:
		return nil, "", fmt.Errorf("is of type %v; want object", object["type"])
	}
	if object["properties"] == nil {
		object["properties"] = map[string]any{}
	}
	properties, ok := object["properties"].(map[string]any)
	if !ok {
		return nil, "", fmt.Errorf("has properties that are no object")
	}
	for name := range properties {
		if !isProperty(name) {
			return nil, "", fmt.Errorf("has an argument %.100q; want up to %d letters, digits, _, . and -", name, maxName)
		}
	}
	if dropPatterns(object, 0) {
		note = "patterns in its schema are left out: they are no RE2"
	}
	delete(object, "$schema") // which draft it is changes nothing that models read
	if schema, err = json.Marshal(object); err != nil {
		return nil, "", fmt.Errorf("cannot be written down: %w", err)
	}
	if len(schema) > maxSchema {
		return nil, "", fmt.Errorf("has %d kB; want %d at most", len(schema)>>10, maxSchema>>10)
	}
	return schema, note, valid(object, schema)
}

// dropPatterns takes out patterns in the syntax of JavaScript, which would make the schema
// none here. They only describe; who calls the tool with something else hears of it.
func dropPatterns(schema any, depth int) (dropped bool) {
	if depth > maxDepth {
		return false
	}
	bad := func(text any) bool {
		s, ok := text.(string)
		_, err := regexp.Compile(s)
		return ok && err != nil
	}
	switch v := schema.(type) {
	case []any:
		for _, one := range v {
			dropped = dropPatterns(one, depth+1) || dropped
		}
	case map[string]any:
		if bad(v["pattern"]) {
			delete(v, "pattern")
			dropped = true
		}
		if named, ok := v["patternProperties"].(map[string]any); ok {
			for p := range named {
				if bad(p) {
					delete(named, p)
					dropped = true
				}
			}
		}
		for _, key := range inner {
			dropped = dropPatterns(v[key], depth+1) || dropped
		}
		for _, key := range innerByName {
			named, _ := v[key].(map[string]any)
			for _, one := range named {
				dropped = dropPatterns(one, depth+1) || dropped
			}
		}
	}
	return dropped
}

// valid reports what makes a schema none.
func valid(object map[string]any, text []byte) error {
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("is not a JSON schema: %w", err)
	}
	if _, err := s.Resolve(&jsonschema.ResolveOptions{}); err != nil {
		return fmt.Errorf("is not a JSON schema: %w", err)
	}
	return typed(object, 0)
}

// maxDepth is how deep schemas may nest: no model makes sense of deeper ones.
const maxDepth = 64

// The keys of a schema under which there are more: one, a list of them, or some by name.
var (
	inner = []string{"items", "contains", "additionalItems", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema", "not", "if", "then", "else",
		"allOf", "anyOf", "oneOf", "prefixItems"}
	innerByName = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// typed reports a type that there is none of, which the library lets pass.
func typed(schema any, depth int) error {
	if list, ok := schema.([]any); ok {
		for _, one := range list {
			if err := typed(one, depth+1); err != nil {
				return err
			}
		}
	}
	object, ok := schema.(map[string]any)
	if !ok {
		return nil // true and false are schemas, too
	}
	if depth > maxDepth {
		return fmt.Errorf("nests more than %d deep", maxDepth)
	}
	if err := knownTypes(object["type"]); err != nil {
		return err
	}
	for _, key := range inner {
		if err := typed(object[key], depth+1); err != nil {
			return err
		}
	}
	for _, key := range innerByName {
		named, _ := object[key].(map[string]any)
		for _, one := range named {
			if err := typed(one, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func knownTypes(types any) error {
	list, ok := types.([]any)
	if !ok {
		list = []any{types}
	}
	for _, t := range list {
		switch t {
		case nil, "object", "array", "string", "number", "integer", "boolean", "null":
		default:
			return fmt.Errorf("is not a JSON schema: there is no type %.50v", t)
		}
	}
	return nil
}

func isProperty(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	for _, r := range name {
		if r != '_' && r != '.' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return true
}
