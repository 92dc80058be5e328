package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"heddle/internal/config"
)

// removeServer takes a server out of the file that has it.
func removeServer(_ context.Context, args []string, std stdio) error {
	fs := newFlags("mcp remove")
	user := fs.Bool("user", false, "only from your own settings")
	project := fs.Bool("project", false, "only from files of this project")
	name, done, err := parseServer(fs, args, std, "mcp remove NAME [--user|--project]")
	if done || err != nil {
		return err
	}
	if *user && *project {
		return usagef("mcp remove: --user and --project exclude each other")
	}
	p, err := findPlace()
	if err != nil {
		return err
	}
	var from *serverFile
	var known []string
	for _, c := range p.serverFiles() {
		if *user && c.layer != config.User || *project && c.layer == config.User {
			continue
		}
		f, err := openServers(c.layer, c.path)
		if err != nil {
			return err
		}
		known = append(known, f.all().Keys()...)
		if f.get(name) == nil {
			continue
		}
		if from != nil {
			defer fmt.Fprintf(std.out, "The server %q of %v counts now.\n", name, f.get(name).Here())
			break
		}
		from = f
	}
	if from == nil {
		return elsewhere(p, name, known)
	}
	changed, err := from.without(name)
	if err != nil {
		return fmt.Errorf("remove the server from %s: %w", from.path, err)
	}
	if err := changed.write(); err != nil {
		return err
	}
	if filepath.Base(from.path) == projectServers {
		if err := p.withdraw(from.path, name); err != nil {
			return fmt.Errorf("the server was removed, but its approval was not: %w", err)
		}
	}
	_, err = fmt.Fprintf(std.out, "Removed the MCP server %q from %s.\n", name, from.path)
	return err
}

// elsewhere says why a server that is in none of the files cannot be removed.
func elsewhere(p place, name string, known []string) error {
	b, err := lookAtBrought(io.Discard)
	if err != nil {
		return err
	}
	for _, s := range b.servers() {
		if s.Name != name {
			known = append(known, s.Name)
			continue
		}
		if plugin, ok := strings.CutPrefix(s.Source, "plugin "); ok {
			return usagef("the MCP server %q comes from the plugin %s (%v) and goes with it: set %q to false under enabledPlugins in your settings, or remove the plugin", name, plugin, s.Origin, plugin)
		}
		return usagef("the MCP server %q comes from %s (%v): take it out there", name, s.Source, s.Origin)
	}
	return usagef("there is no MCP server %q here to remove%s; heddle mcp list --no-check lists them", name, didYouMean(name, "", known))
}
