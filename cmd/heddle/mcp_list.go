package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// listServers prints the servers and whether they can be reached.
func listServers(ctx context.Context, args []string, std stdio) error {
	fs := newFlags("mcp list")
	asJSON := fs.Bool("json", false, "print JSON")
	noCheck := fs.Bool("no-check", false, "start no server")
	if done, err := parseAll(fs, args, std, "mcp list [--no-check] [--json]"); done || err != nil {
		return err
	}
	b, err := lookAtBrought(std.err)
	if err != nil {
		return err
	}
	servers := b.servers()
	if !*noCheck {
		if err := b.check(ctx, servers, std.err); err != nil {
			return err
		}
	}
	broken := b.tellProblems(std.err)
	if *asJSON {
		err = printJSON(std.out, servers)
	} else if len(servers) > 0 || !broken {
		err = printServers(std.out, servers)
	}
	for _, s := range servers {
		broken = broken || s.down()
	}
	if err != nil || !broken {
		return err
	}
	return exitError(exitFailed)
}

// tellProblems tells what is wrong with entries, and reports whether anything is.
func (b brought) tellProblems(stderr io.Writer) bool {
	problems, others := b.problems()
	for _, p := range problems {
		fmt.Fprintf(stderr, "heddle: %s\n", plainLine(p.Error()))
	}
	if others > 0 {
		fmt.Fprintf(stderr, "heddle: there are problems with what else you brought along: heddle doctor\n")
	}
	return len(problems) > 0
}

func printServers(out io.Writer, servers []seenServer) error {
	if len(servers) == 0 {
		_, err := fmt.Fprintln(out, "There are no MCP servers. heddle mcp add NAME -- COMMAND adds one to .mcp.json here; with --user, to your own settings.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tTOOLS\tWHERE\tSOURCE")
	var below []string
	for _, s := range servers {
		tools := "-"
		if s.Version != "" || s.ToolCount > 0 {
			tools = fmt.Sprint(s.ToolCount)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", plainLine(s.Name), s.word(), tools, brief60(plainLine(s.Where)), plainLine(s.Source))
		if text := s.advice(); text != "" {
			below = append(below, plainLine(s.Name)+": "+text)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(below) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(out, "\n%s\n", strings.Join(below, "\n"))
	return err
}

// getServer prints all that is known of one server.
func getServer(ctx context.Context, args []string, std stdio) error {
	fs := newFlags("mcp get")
	asJSON := fs.Bool("json", false, "print JSON")
	noCheck := fs.Bool("no-check", false, "do not start it")
	name, done, err := parseServer(fs, args, std, "mcp get NAME [--no-check] [--json]")
	if done || err != nil {
		return err
	}
	b, err := lookAtBrought(std.err)
	if err != nil {
		return err
	}
	one, err := b.server(name)
	if err != nil {
		return err
	}
	if !*noCheck {
		if err := b.check(ctx, one, std.err); err != nil {
			return err
		}
	}
	if *asJSON {
		err = printJSON(std.out, one[0])
	} else {
		err = one[0].print(std.out)
	}
	if err != nil || !one[0].down() {
		return err
	}
	return exitError(exitFailed)
}

// server returns a list of the one server that has the name.
func (b brought) server(name string) ([]seenServer, error) {
	var names []string
	for _, s := range b.servers() {
		if s.Name == name {
			return []seenServer{s}, nil
		}
		names = append(names, s.Name)
	}
	problems, _ := b.problems()
	for _, p := range problems {
		if strings.Contains(p.Text, fmt.Sprintf("%q", name)) {
			return nil, usagef("%s", plainLine(p.Error()))
		}
	}
	return nil, usagef("there is no MCP server %q%s; heddle mcp list --no-check lists them", name, didYouMean(name, "", names))
}

// print prints a server as a page for people.
func (s *seenServer) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, value string) {
		if value = plainLine(value); value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, value)
		}
	}
	row("name", s.Name)
	row("type", s.Type)
	row("where", s.Where)
	row("source", s.Source)
	row("file", s.Origin.String())
	for _, o := range s.Overrides {
		row("overrides", o.String())
	}
	row("state", s.word())
	row("error", s.advice())
	row("version", s.Version)
	row("instructions", s.Instructions)
	if s.Resources {
		row("resources", "yes")
	}
	for _, text := range s.Warnings {
		row("warning", text)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(s.Tools) > 0 {
		fmt.Fprintln(w, "\nTOOL\tNAME IN RULES\tREAD-ONLY\tDESCRIPTION")
	}
	for _, t := range s.Tools {
		readOnly := "-"
		if t.ReadOnly {
			readOnly = "it says so"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", plainLine(t.Name), t.FullName, readOnly, firstLine(t.Description))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if len(s.Prompts) > 0 {
		fmt.Fprintln(w, "\nPROMPT\tCOMMAND\tDESCRIPTION")
	}
	for _, p := range s.Prompts {
		fmt.Fprintf(w, "%s\t%s\t%s\n", plainLine(p.Name), p.Command, firstLine(p.Description))
	}
	return w.Flush()
}

// firstLine is the beginning of a text, fit for a table.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return brief60(plainLine(line))
}
