package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"text/tabwriter"

	"heddle/internal/transcript"
)

// newFlags returns the flag set of a command.
func newFlags(name string) *flag.FlagSet { return flag.NewFlagSet(name, flag.ContinueOnError) }

// parseAll parses flags of a command that takes no other arguments.
func parseAll(fs *flag.FlagSet, args []string, std stdio, usage string) (done bool, err error) {
	rest, done, err := parse(fs, args, std, usage)
	if err == nil && len(rest) > 0 {
		err = usagef("heddle %s takes no argument %q", fs.Name(), rest[0])
	}
	return done, err
}

// runSessions lists sessions, the newest first.
func runSessions(ctx context.Context, args []string, std stdio) error {
	fs := newFlags("sessions")
	asJSON := fs.Bool("json", false, "print JSON")
	all := fs.Bool("all", false, "list the sessions of all directories")
	if done, err := parseAll(fs, args, std, "sessions [--json] [--all]"); done || err != nil {
		return err
	}
	p, err := findPlace()
	if err != nil {
		return err
	}
	dirs := []string{p.projectDir()}
	if *all {
		if dirs, err = filepath.Glob(filepath.Join(p.home, "projects", "*")); err != nil {
			return err
		}
	}
	found := []transcript.Summary{}
	for _, d := range dirs {
		list, err := transcript.List(d)
		if err != nil {
			return err
		}
		found = append(found, list...)
	}
	if *asJSON {
		enc := json.NewEncoder(std.out)
		enc.SetIndent("", "  ")
		return enc.Encode(found)
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(std.out, "There are no sessions in this directory yet.")
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	where := ""
	if *all {
		where = "\tDIRECTORY"
	}
	fmt.Fprintln(w, "ID\tCHANGED\tTURNS\tCOST\tSTATE"+where+"\tTITLE")
	for _, s := range found {
		title := s.Title
		if s.Name != "" {
			title = s.Name + ": " + title
		}
		if *all {
			where = "\t" + s.Dir
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t$%.4f\t%s%s\t%s\n", s.ID, s.LastChange.Format("2006-01-02 15:04"), s.Turns, s.Cost, s.State, where, brief60(title))
	}
	return w.Flush()
}

// brief60 shortens a title to what fits a line.
func brief60(s string) string {
	r := []rune(s)
	if len(r) <= 60 {
		return s
	}
	return string(r[:59]) + "…"
}
