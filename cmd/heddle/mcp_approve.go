package main

import (
	"context"
	"fmt"
	"slices"

	"heddle/internal/mcp"
)

// approveServers lets servers of the project's .mcp.json start.
func approveServers(_ context.Context, args []string, std stdio) error {
	fs := newFlags("mcp approve")
	all := fs.Bool("all", false, "all that wait for it")
	names, done, err := parse(fs, args, std, "mcp approve NAME ... | --all")
	switch {
	case done || err != nil:
		return err
	case *all && len(names) > 0:
		return usagef("mcp approve: --all and names exclude each other")
	case !*all && len(names) == 0:
		return usagef("mcp approve: name a server, or pass --all; heddle mcp list --no-check lists them")
	}
	b, err := lookAtBrought(std.err)
	if err != nil {
		return err
	}
	waiting := b.found.Unapproved
	if *all && len(waiting) == 0 {
		_, err := fmt.Fprintln(std.out, "No server waits for an approval.")
		return err
	}
	if *all {
		for _, c := range waiting {
			names = append(names, c.Name)
		}
	}
	for _, name := range names {
		i := slices.IndexFunc(waiting, func(c mcp.Config) bool { return c.Name == name })
		if i < 0 {
			err = b.notWaiting(name, std)
		} else {
			err = b.approveAloud(waiting[i], std)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// approveAloud shows what is going to run, and approves it. What stands in the file is
// what counts, so that is shown too: it names variables that the command will have.
func (b brought) approveAloud(c mcp.Config, std stdio) error {
	fmt.Fprintf(std.out, "%s: %s\n  as it stands in %v: %s\n", plainLine(c.Name), plainLine(c.Where()), c.Origin, plainLine(string(c.Raw)))
	if err := b.approve(c.Origin.File, c.Name, c.Raw); err != nil {
		return err
	}
	_, err := fmt.Fprintln(std.out, "  approved; when the entry changes, it has to be approved again")
	return err
}

// notWaiting says why there is nothing to approve.
func (b brought) notWaiting(name string, std stdio) error {
	one, err := b.server(name)
	if err != nil {
		return err
	}
	why := "is approved already"
	switch {
	case one[0].State == mcp.Disabled:
		why = "is disabled; it does not start"
	case one[0].Source != projectServers:
		why = "comes from " + one[0].Source + " and needs no approval"
	case b.trusted:
		why = "needs no approval: you trust this project"
	}
	_, err = fmt.Fprintf(std.out, "The MCP server %q %s.\n", name, why)
	return err
}
