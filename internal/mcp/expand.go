package mcp

import (
	"slices"
	"strings"
)

// expander replaces ${VAR} and ${VAR:-default} by the values of variables. What it puts in
// is not looked at again.
type expander struct {
	get     func(string) (string, bool)
	missing []string // variables that are not set and have no default, each once
	used    []string // values that were put in
}

// expand replaces what an entry may hold variables in.
func (c *Config) expand(x *expander) {
	c.Command, c.URL = x.replace(c.Command), x.replace(c.URL)
	c.Args = slices.Clone(c.Args)
	for i, a := range c.Args {
		c.Args[i] = x.replace(a)
	}
	c.Env, c.Headers = x.all(c.Env), x.all(c.Headers)
}

func (x *expander) all(values map[string]string) map[string]string {
	out := make(map[string]string, len(values))
	for k, v := range values {
		out[k] = x.replace(v)
	}
	return out
}

// replace returns text with variables replaced. One that is not set and has no default
// stays as it stands.
func (x *expander) replace(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		inner, after, closed := strings.Cut(rest, "}")
		name, otherwise, hasDefault := strings.Cut(inner, ":-")
		if !closed || !isVariable(name) {
			out.WriteString("${")
			text = rest
			continue
		}
		text = after
		switch value, set := x.get(name); {
		case set && (value != "" || !hasDefault):
			out.WriteString(value)
			x.used = append(x.used, value)
		case hasDefault:
			out.WriteString(otherwise)
		default:
			out.WriteString("${" + inner + "}")
			if !slices.Contains(x.missing, name) {
				x.missing = append(x.missing, name)
			}
		}
	}
}

func isVariable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') && (r != '.' || i == 0) {
			return false
		}
	}
	return name != ""
}
