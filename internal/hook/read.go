package hook

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"heddle/internal/config"
)

// Read reads the value of "hooks": lists of groups by event, each a matcher and hooks.
//
//	{"PreToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "./check.sh"}]}]}
//
// A bad entry costs only itself and is one of the problems. Warnings are about what has
// no effect here. vars, such as CLAUDE_PLUGIN_ROOT, are known to the hooks as ${NAME}.
func Read(l *config.Layers, source string, vars map[string]string) (hooks []Hook, problems, warnings []*config.Problem) {
	if l == nil {
		return nil, nil, nil
	}
	r := &reader{source: source, env: environment(vars)}
	events, err := config.Section[map[string]json.RawMessage](l, "")
	if err != nil {
		r.reject(err)
	}
	if events == nil {
		return nil, r.problems, nil
	}
	for _, name := range l.Keys() {
		r.event(name, l.At(name))
	}
	return r.hooks, r.problems, r.warnings
}

// environment writes vars as a process gets them: under the names of either program.
func environment(vars map[string]string) []string {
	var env []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
		if rest, ours := strings.CutPrefix(name, "CLAUDE_"); ours {
			env = append(env, "HEDDLE_"+rest+"="+vars[name])
		}
	}
	return env
}

type reader struct {
	source string
	env    []string

	hooks              []Hook
	problems, warnings []*config.Problem
}

// group is the format of the files, with [handler] in it.
type group struct {
	Matcher string          `json:"matcher"`
	Hooks   json.RawMessage `json:"hooks"`

	// What a plugin or a person notes for other people.
	Description json.RawMessage `json:"description"`
}

func (r *reader) event(name string, l *config.Layers) {
	e := Event(name)
	if _, ok := known[e]; !ok {
		text := fmt.Sprintf("there is no event %q; its hooks never run", name)
		if s := similar(name); s != "" {
			text = fmt.Sprintf("there is no event %q; did you mean %s?", name, s)
		}
		r.problem(l.Here(), text)
		return
	}
	if !e.Supported() {
		r.warn(l.Here(), fmt.Sprintf("%s does not happen in this version; its hooks never run", e))
	}
	if !isList(l) {
		r.problem(l.Here(), fmt.Sprintf("%s: write a list of groups, each {\"matcher\": …, \"hooks\": […]}", e))
		return
	}
	for _, i := range l.Keys() {
		r.group(e, l.At(i))
	}
}

func (r *reader) group(e Event, l *config.Layers) {
	g, err := config.Section[group](l, "")
	if err != nil {
		r.reject(err)
		return
	}
	r.warnings = append(r.warnings, config.Unknown[group](l, "")...)
	if _, err := newMatcher(e, g.Matcher); err != nil {
		r.problem(l.At("matcher").Here(), err.Error())
		return
	}
	if g.Matcher != "" && g.Matcher != "*" && e.Subject() == "" {
		r.warn(l.At("matcher").Here(), fmt.Sprintf("%s has nothing to compare a matcher with; the hooks always run", e))
	}
	list := l.At("hooks")
	if list == nil || !isList(list) {
		r.problem(l.Here(), `a group needs "hooks", a list of what to run`)
		return
	}
	for _, i := range list.Keys() {
		r.handler(e, g.Matcher, list.At(i))
	}
}

func (r *reader) handler(e Event, matcher string, l *config.Layers) {
	f, err := config.Section[handler](l, "")
	if err != nil {
		r.reject(err)
		return
	}
	r.warnings = append(r.warnings, config.Unknown[handler](l, "")...)
	if f.Type == "agent" {
		r.warn(l.Here(), `hooks of type "agent" are not supported; "prompt" asks a model without tools`)
		return
	}
	h, wrong := f.hook()
	if wrong == "" {
		wrong = f.wrongFor(e)
	}
	if wrong != "" {
		r.problem(l.Here(), wrong)
		return
	}
	if h.If != "" && !known[e].call {
		r.warn(l.At("if").Here(), fmt.Sprintf(`"if" is about a tool call, which %s is not; the hook never runs`, e))
		return
	}
	h.Event, h.Matcher, h.Origin, h.Source, h.Env = e, matcher, l.Here(), r.source, r.env
	r.hooks = append(r.hooks, h)
}

func isList(l *config.Layers) bool { return l.JSON()[0] == '[' }

func (r *reader) problem(at config.Origin, text string) {
	r.problems = append(r.problems, &config.Problem{Origin: at, Text: text})
}

func (r *reader) warn(at config.Origin, text string) {
	r.warnings = append(r.warnings, &config.Problem{Origin: at, Text: text})
}

// reject takes over what config found.
func (r *reader) reject(err error) {
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range several.Unwrap() {
			r.reject(e)
		}
		return
	}
	var p *config.Problem
	if !errors.As(err, &p) {
		p = &config.Problem{Text: err.Error()}
	}
	r.problems = append(r.problems, p)
}
