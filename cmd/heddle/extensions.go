package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"heddle/internal/config"
	"heddle/internal/extension"
	"heddle/internal/hook"
	"heddle/internal/permission"
	"heddle/internal/skill"
)

// bring finds what people brought along for a conversation.
func bring(p place, o *options, layers, granted *config.Layers, set settings) (*extension.Found, error) {
	var problems []*config.Problem
	approved := func(file, name string, entry []byte) bool {
		a, err := p.approvals(file)
		var wrong *config.Problem
		if errors.As(err, &wrong) && !slices.ContainsFunc(problems, func(x *config.Problem) bool { return *x == *wrong }) {
			problems = append(problems, wrong)
		}
		return a.covers(name, entry)
	}
	user, err := os.UserHomeDir()
	if err != nil {
		user = "" // then nothing of the user's is there
	}
	find := extension.Options{
		Dir: p.dir, Project: p.project(), Home: p.home, UserHome: user, Managed: config.ManagedDir(),
		Granted: granted, Chosen: set.broughtSettings, Trusted: granted == layers,
		Flags:    extension.Flags{Bare: o.bare, Servers: o.serverConfigs, Strict: o.strictServers, Plugins: o.pluginDirs, Agents: o.agents},
		Approved: approved, Getenv: os.LookupEnv,
	}
	if o.sourcesSet {
		find.Sources = []config.Layer{}
		for _, s := range o.sources {
			find.Sources = append(find.Sources, config.Layer(s))
		}
	}
	found, err := extension.Find(find)
	if err != nil {
		return nil, usageError{err.Error()}
	}
	found.Problems = slices.Concat(found.Problems, problems, p.badSkills(found.Skills), p.badConditions(found.Hooks))
	return found, nil
}

// badConditions are those of hooks that are no rule, or one that is about nothing. It takes
// them away, so that these hooks run as if they had none: they may be there to refuse.
func (p place) badConditions(hooks []hook.Hook) (problems []*config.Problem) {
	for i, h := range hooks {
		if h.If == "" {
			continue
		}
		rule, err := permission.ParseRule(p.source(h.Origin), h.If)
		why := rule.Useless()
		if err != nil {
			why = err.Error()
		}
		if why != "" {
			text := fmt.Sprintf("the \"if\" %.80q of a %s hook: %s; until it is a rule such as \"Bash(git *)\", the hook runs at every call that its matcher lets through", h.If, h.Event, why)
			problems = append(problems, &config.Problem{Origin: h.Origin, Text: text})
			hooks[i].If = ""
		}
	}
	return problems
}

// badSkills are those that cannot be called, and those that ask for rules that are none.
func (p place) badSkills(skills *skill.Catalog) (problems []*config.Problem) {
	for _, s := range skills.List() {
		at := config.Origin{Layer: s.Layer, File: s.Path}
		if s.Name == "compact" || s.Name == "mcp" {
			problems = append(problems, &config.Problem{Origin: at, Text: "/" + s.Name + " is a command of heddle itself; give this one another name"})
		}
		for _, rule := range slices.Concat(s.Allowed, s.Disallowed) {
			if _, err := permission.ParseRule(p.source(at), rule); err != nil {
				problems = append(problems, &config.Problem{Origin: at, Text: "allowed-tools or disallowed-tools: " + err.Error()})
			}
		}
	}
	return problems
}

// tellFound tells the person what of it does not count, in a few lines: the rest is for
// heddle doctor.
func tellFound(p place, found *extension.Found, stderr io.Writer) {
	if n := len(found.Problems); n > 0 {
		fmt.Fprintf(stderr, "heddle: %v\n", found.Problems[0])
		switch {
		case n == 2:
			fmt.Fprintln(stderr, "heddle: and 1 more problem of what you brought along: heddle doctor")
		case n > 2:
			fmt.Fprintf(stderr, "heddle: and %d more problems of what you brought along: heddle doctor\n", n-1)
		}
	}
	if len(found.Withheld) > 0 {
		fmt.Fprintf(stderr, "heddle: this project is not trusted, so this does not count: %s. If you trust it, add %q to trustedProjects in %s\n",
			strings.Join(found.Withheld, ", "), p.project(), filepath.Join(p.home, "settings.json"))
	}
	switch n := len(found.Unapproved); {
	case n == 1:
		c := found.Unapproved[0]
		fmt.Fprintf(stderr, "heddle: the MCP server %q of %s is not started before you have approved it: heddle mcp approve %s\n", c.Name, c.Origin.File, shellWord(c.Name))
	case n > 1:
		fmt.Fprintf(stderr, "heddle: %d MCP servers of this project are not started before you have approved them: heddle mcp list shows them, heddle mcp approve NAME or --all approves\n", n)
	}
}

// shellWord writes a name so that it can be typed in a shell, and shows what it is.
func shellWord(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return "$'" + strings.ReplaceAll(strings.Trim(strconv.QuoteToASCII(s), `"`), "'", `\'`) + "'"
	}
	if strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/@", r)
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}
