package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"heddle/internal/config"
	"heddle/internal/roster"
	"heddle/internal/tool"
)

// agentCommands lists what there is after heddle agents.
func agentCommands() []command {
	return []command{
		{"list", "[--json]", "List the agents that can be called, and where they are from", listAgents},
		{"show", "NAME [--json]", "Show one agent", showAgent},
		{"validate", "[FOLDER|FILE] [--json]", "Check definitions of agents: those here, or those in a folder", validateAgents},
	}
}

// runAgents looks at the agents that can be called.
func runAgents(ctx context.Context, args []string, std stdio) error {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && args[0] != "-h" && args[0] != "--help" {
		return listAgents(ctx, args, std)
	}
	var names []string
	for _, c := range agentCommands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], std)
		}
		names = append(names, c.name)
	}
	if args[0] != "-h" && args[0] != "--help" && args[0] != "help" {
		return usagef("agents: there is no %q%s; there are %s", args[0], didYouMean(args[0], "", names), strings.Join(names, ", "))
	}
	for _, c := range agentCommands() {
		if _, err := fmt.Fprintf(std.out, "  heddle agents %s %s\n      %s\n", c.name, c.args, c.summary); err != nil {
			return err
		}
	}
	return nil
}

// seenAgent is an agent as commands print it. The JSON is what programs read.
type seenAgent struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Source      string   `json:"source"`
	File        string   `json:"file,omitempty"`
	Format      string   `json:"format"`
	Model       string   `json:"model,omitempty"`
	Tools       []string `json:"tools,omitempty"` // absent: all that agents may have
	Disallowed  []string `json:"disallowedTools,omitempty"`
	MaxTurns    int      `json:"maxTurns,omitempty"`
	Background  bool     `json:"background,omitempty"`
	Isolation   string   `json:"isolation,omitempty"`
	Hidden      bool     `json:"hidden,omitempty"`
	Prompt      string   `json:"prompt,omitempty"`
}

func seen(a *roster.Agent) seenAgent {
	s := seenAgent{
		Name: a.Name, Description: a.Description, Source: a.Source, File: a.Path, Format: string(a.Kind), Model: a.Model,
		Disallowed: a.Disallowed, MaxTurns: a.MaxTurns, Background: a.Background, Isolation: a.Isolation, Hidden: a.Hidden,
	}
	if a.HasTools {
		s.Tools = append([]string{}, a.Tools...)
	}
	return s
}

// listAgents lists all agents.
func listAgents(_ context.Context, args []string, std stdio) error {
	fs := newFlags("agents list")
	asJSON := fs.Bool("json", false, "print JSON")
	if done, err := parseAll(fs, args, std, "agents list [--json]"); done || err != nil {
		return err
	}
	b, err := lookAtBrought(std.err)
	if err != nil {
		return err
	}
	all := []seenAgent{}
	for _, a := range b.found.Agents.List() {
		all = append(all, seen(a))
	}
	if *asJSON {
		return printJSON(std.out, all)
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSOURCE\tMODEL\tDESCRIPTION")
	for _, a := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", plainLine(a.Name), plainLine(a.Source), plainLine(a.Model), brief60(plainLine(a.Description)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return tellAgents(b.found.Agents, std)
}

// tellAgents says what does not count, on standard error.
func tellAgents(r *roster.Roster, std stdio) error {
	for _, s := range r.Shadowed() {
		fmt.Fprintf(std.err, "heddle: %s does not count: %s has the same name %q\n", s.Path, s.By, s.Name)
	}
	for _, p := range slices.Concat(r.Problems(), r.Warnings()) {
		fmt.Fprintf(std.err, "heddle: %s\n", plainLine(p.Error()))
	}
	if len(r.Problems()) > 0 {
		return exitError(exitFailed)
	}
	return nil
}

// showAgent shows one agent whole.
func showAgent(_ context.Context, args []string, std stdio) error {
	fs := newFlags("agents show")
	asJSON := fs.Bool("json", false, "print JSON")
	rest, done, err := parse(fs, args, std, "agents show NAME [--json]")
	switch {
	case err != nil || done:
		return err
	case len(rest) != 1:
		return usagef("agents show: name one agent; heddle agents lists them")
	}
	b, err := lookAtBrought(std.err)
	if err != nil {
		return err
	}
	a, ok := b.found.Agents.Get(rest[0])
	if !ok {
		hint := ""
		if near := b.found.Agents.Suggest(rest[0]); near != "" {
			hint = fmt.Sprintf(" (did you mean %s?)", near)
		}
		return usagef("agents show: there is no agent %q%s; heddle agents lists them", rest[0], hint)
	}
	s := seen(a)
	s.Prompt = a.Prompt
	if *asJSON {
		return printJSON(std.out, s)
	}
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(std.out, "%-12s %s\n", name, plainLine(value))
		}
	}
	line("name", s.Name)
	line("description", s.Description)
	line("source", strings.TrimSpace(s.Source+" "+s.File))
	line("model", s.Model)
	if a.HasTools {
		line("tools", strings.Join(s.Tools, ", "))
	}
	line("without", strings.Join(s.Disallowed, ", "))
	line("isolation", s.Isolation)
	_, err = fmt.Fprintf(std.out, "\n%s\n", tool.Plain([]byte(a.Prompt)))
	return err
}

// validateAgents checks definitions and prints what is wrong with them.
func validateAgents(_ context.Context, args []string, std stdio) error {
	fs := newFlags("agents validate")
	asJSON := fs.Bool("json", false, "print JSON")
	rest, done, err := parse(fs, args, std, "agents validate [FOLDER|FILE] [--json]")
	switch {
	case err != nil || done:
		return err
	case len(rest) > 1:
		return usagef("agents validate takes one folder or file, not %q too", rest[1])
	}
	var found *roster.Roster
	if len(rest) == 1 {
		info, err := os.Stat(rest[0])
		if err != nil {
			return usagef("agents validate: there is no folder or file %s", rest[0])
		}
		source := roster.Source{Layer: config.Flags, Name: rest[0], Trusted: true}
		if info.IsDir() {
			source.Folders = rest
		} else {
			source.Files = rest
		}
		found = roster.Find(source)
	} else {
		b, err := lookAtBrought(std.err)
		if err != nil {
			return err
		}
		found = b.found.Agents
	}
	problems, warnings := found.Problems(), found.Warnings()
	if *asJSON {
		err := printJSON(std.out, map[string]any{"agents": len(found.List()), "problems": append([]*config.Problem{}, problems...), "warnings": append([]*config.Problem{}, warnings...)})
		if err == nil && len(problems) > 0 {
			err = exitError(exitFailed)
		}
		return err
	}
	for _, p := range problems {
		fmt.Fprintf(std.out, "problem: %s\n", plainLine(p.Error()))
	}
	for _, p := range warnings {
		fmt.Fprintf(std.out, "warning: %s\n", plainLine(p.Error()))
	}
	fmt.Fprintf(std.out, "%d agents, %d problems, %d warnings\n", len(found.List()), len(problems), len(warnings))
	if len(problems) > 0 {
		return exitError(exitFailed)
	}
	return nil
}
