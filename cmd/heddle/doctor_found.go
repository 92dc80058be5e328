package main

import (
	"fmt"
	"strings"

	"heddle/internal/hook"
)

// lookAtFound puts down what people brought along.
func (d *doctor) lookAtFound() {
	d.Withheld = append(d.Withheld, d.found.Withheld...)
	d.Servers = d.servers()
	d.HooksOff = d.found.NoHooks
	for _, h := range d.found.Hooks {
		one := seenHook{
			Event: h.Event, Matcher: h.Matcher, Type: h.Kind, What: whatRuns(h), Source: h.Source, Origin: h.Origin, Happens: h.Event.Supported(),
		}
		if h.Source == "settings" {
			one.Source = string(h.Origin.Layer) + " settings"
		}
		d.Hooks = append(d.Hooks, one)
	}
	for _, s := range d.found.Skills.List() {
		kind := "skill"
		if s.Command {
			kind = "command"
		}
		d.Skills = append(d.Skills, seenSkill{Name: s.Name, Type: kind, Source: s.Source, File: s.Path})
	}
	for _, p := range d.found.Plugins.Plugins {
		d.Plugins = append(d.Plugins, seenPlugin{Name: p.Name, Version: p.Version, Source: p.Source, Dir: p.Dir, Enabled: p.Enabled})
	}
	d.lookAtShadows()
	for _, p := range d.found.Problems {
		d.Problems = append(d.Problems, finding(*p))
	}
	for _, p := range d.found.Warnings {
		d.Warnings = append(d.Warnings, finding(*p))
	}
}

// lookAtShadows puts down what does not count because of something else.
func (d *doctor) lookAtShadows() {
	for _, o := range d.found.Overridden {
		d.Overridden = append(d.Overridden, seenShadow{"server", o.Name, o.Where.String(), o.By.String()})
	}
	for _, s := range d.found.Skills.Shadowed() {
		d.Overridden = append(d.Overridden, seenShadow{"skill", s.Name, s.Path, s.By})
	}
	for _, s := range d.found.Plugins.Shadowed {
		d.Overridden = append(d.Overridden, seenShadow{"plugin", s.Name, s.Dir, s.By})
	}
}

// judgeServers makes problems of servers that did not come up.
func (d *doctor) judgeServers() {
	for _, s := range d.Servers {
		if s.down() {
			d.Problems = append(d.Problems, finding{s.Origin, fmt.Sprintf("MCP server %q: %s", s.Name, s.advice())})
		}
		for _, text := range s.Warnings {
			d.Warnings = append(d.Warnings, finding{s.Origin, fmt.Sprintf("MCP server %q: %s", s.Name, text)})
		}
	}
}

// whatRuns says what a hook does, without what may be secret in an address.
func whatRuns(h hook.Hook) string {
	switch h.Kind {
	case hook.HTTP:
		return address(h.URL)
	case hook.MCPTool:
		return h.Server + " " + h.Tool
	case hook.Prompt:
		return h.Prompt
	}
	return strings.Join(append([]string{h.Command}, h.Args...), " ")
}
