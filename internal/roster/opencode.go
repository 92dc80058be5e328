package roster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"heddle/internal/config"
)

// openCode reads a definition of OpenCode. What it restricts stays restricted, or there
// is a warning; that it allows something permits nothing here.
func (l *loader) openCode(f found) (*Agent, []*config.Problem, error) {
	a := l.agent
	disabled, err := l.Bool("disable", false)
	l.fail(err)
	if disabled && l.problem == nil {
		return nil, l.warnings, nil
	}
	l.call(f.base())
	mode := l.oneOf("mode", "primary", "subagent", "all")
	hidden, err := l.Bool("hidden", false)
	l.fail(err)
	a.Hidden = hidden || mode == "primary"
	l.words()
	if a.Prompt == "" {
		a.Prompt = l.prompt(f)
	}
	if a.Effort == "" {
		a.Effort = l.effort("reasoningEffort")
	}
	a.MaxTurns = l.turns("maxSteps")
	if !l.Has("maxSteps") {
		a.MaxTurns = l.turns("steps")
	}
	l.switches()
	l.permissions()
	if l.problem != nil {
		return nil, nil, l.problem
	}
	return a, l.warnings, nil
}

// prompt reads the text under that key, which may name a file.
func (l *loader) prompt(f found) string {
	text := l.text("prompt")
	name, ok := strings.CutPrefix(text, "{file:")
	if !ok {
		return text
	}
	name, ok = strings.CutSuffix(name, "}")
	if !ok {
		l.fail(l.Problem("prompt", "expected {file:NAME}"))
		return ""
	}
	text, err := files{l.source.FS}.beside(f, strings.TrimSpace(name))
	if err != nil {
		l.fail(l.Problem("prompt", fmt.Sprintf("cannot read %q: %s", clip(name), reason(err))))
	}
	return text
}

// switches reads which tools are on or off by name. If all are off, those that are on are
// a list of what there is.
func (l *loader) switches() {
	on := map[string]bool{}
	names := l.names("tools", func(name string, value json.RawMessage) {
		var is bool
		if json.Unmarshal(value, &is) != nil {
			l.fail(l.Problem("tools", fmt.Sprintf("expected true or false for %q", clip(name))))
		}
		on[name] = is
	})
	none, said := on["*"]
	if said && !none {
		l.agent.HasTools = true
	}
	for _, name := range names {
		switch {
		case name == "*":
		case !on[name]:
			l.disallow("tools", name)
		case l.agent.HasTools:
			l.agent.Tools = append(l.agent.Tools, l.here("tools", name)...)
		}
	}
}

// permissions reads what the agent must not do. What stands behind a denial of all is an
// exception from it.
func (l *loader) permissions() {
	if text, _, ok := l.Value("permission"); ok && first(text) == '"' {
		if l.oneOf("permission", "allow", "ask", "deny") == "deny" {
			l.agent.HasTools, l.agent.Tools = true, nil
		}
		return
	}
	closed := false
	l.names("permission", func(name string, value json.RawMessage) {
		rules, ok := readPatterns(value)
		switch all := rules.decides("*"); {
		case !ok:
			l.fail(l.Problem("permission", fmt.Sprintf("expected allow, ask, deny, or a map of patterns with these, for %q", clip(name))))
		case name == "*" && all == "deny":
			closed = true
			l.agent.HasTools, l.agent.Tools = true, nil
		case name == "*":
		case closed && all != "deny":
			l.agent.Tools = append(l.agent.Tools, l.here("permission", name)...)
			l.restrict(name, rules)
		default:
			l.restrict(name, rules)
		}
	})
}

// restrict applies what is permitted of one tool.
func (l *loader) restrict(name string, rules patterns) {
	denied := rules.decides("*") == "deny"
	switch {
	case name == "task":
		l.spawns(rules)
	case denied && (rules.has("allow") || rules.has("ask")):
		l.disallow("permission", name)
		l.warn("permission", fmt.Sprintf("%q is denied altogether: exceptions are not kept to here", clip(name)))
	case denied:
		l.disallow("permission", name)
	case rules.has("deny"):
		l.warn("permission", fmt.Sprintf("what is denied of %q is not kept to here: add a permission rule for it", clip(name)))
	}
}

// spawns reads which agents the agent may call.
func (l *loader) spawns(rules patterns) {
	a := l.agent
	if rules.decides("*") == "deny" {
		a.limited = true
		for _, r := range rules {
			if r.pattern != "*" && rules.decides(r.pattern) != "deny" {
				a.only = append(a.only, r.pattern)
			}
		}
		if len(a.only) == 0 {
			a.Disallowed = append(a.Disallowed, "Agent")
		}
		return
	}
	for _, r := range rules {
		if rules.decides(r.pattern) == "deny" {
			a.Disallowed = append(a.Disallowed, "Agent("+r.pattern+")")
		}
	}
}

// disallow takes a tool away by the name that it has in OpenCode.
func (l *loader) disallow(key, name string) {
	for _, tool := range l.here(key, name) {
		if !slices.Contains(l.agent.Disallowed, tool) {
			l.agent.Disallowed = append(l.agent.Disallowed, tool)
		}
	}
}

// here are the names here of a tool of OpenCode.
func (l *loader) here(key, name string) []string {
	switch name {
	case "edit":
		if key == "permission" { // which covers all that writes
			return []string{"Edit", "Write", "NotebookEdit"}
		}
		return []string{"Edit", "NotebookEdit"}
	case "patch", "multiedit":
		return []string{"Edit"}
	case "lsp", "list", "todoread", "websearch", "codesearch", "question", "external_directory", "doom_loop":
		return nil // there is no such tool here
	}
	same := []string{"Read", "Write", "Bash", "Glob", "Grep", "WebFetch", "TodoWrite", "Skill"}
	if i := slices.IndexFunc(same, func(ours string) bool { return strings.EqualFold(ours, name) }); i >= 0 {
		return same[i : i+1]
	}
	if name == "task" {
		return []string{"Agent"}
	}
	if server, tool, ok := strings.Cut(name, "_"); ok { // of an MCP server
		return []string{serverPrefix + server + "__" + tool}
	}
	l.warn(key, fmt.Sprintf("there is no tool %q here, so it is ignored", clip(name)))
	return nil
}

// names calls each for the entries of a map in their order, and returns their names.
func (l *loader) names(key string, each func(name string, value json.RawMessage)) []string {
	text, _, ok := l.Value(key)
	if !ok {
		return nil
	}
	names, values, ok := inOrder(text)
	if !ok {
		l.fail(l.Problem(key, "expected a map by names of tools"))
		return nil
	}
	for i, name := range names {
		each(name, values[i])
	}
	return names
}

// inOrder reads an object without losing the order of its keys.
func inOrder(text []byte) (names []string, values []json.RawMessage, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, false
	}
	for d.More() {
		t, err := d.Token()
		name, isText := t.(string)
		var value json.RawMessage
		if err != nil || !isText || d.Decode(&value) != nil {
			return nil, nil, false
		}
		names, values = append(names, name), append(values, value)
	}
	return names, values, true
}
