package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"heddle/internal/tool"
	"heddle/internal/worktree"
)

// treeCommands lists what there is after heddle worktree.
func treeCommands() []command {
	return []command{
		{"list", "[--json]", "List the checkouts that agents have left", listTrees},
		{"diff", "NAME", "Show what was done in one", diffTree},
		{"apply", "NAME [--force]", "Bring that into the files here; with --force also what conflicts, marked", applyTree},
		{"rm", "NAME [--force]", "Remove one; with --force also what would be lost with it", removeTree},
	}
}

// runWorktree looks at the checkouts of agents, and brings their work here.
func runWorktree(ctx context.Context, args []string, std stdio) error {
	if len(args) == 0 {
		args = []string{"list"}
	}
	var names []string
	for _, c := range treeCommands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], std)
		}
		names = append(names, c.name)
	}
	if args[0] != "-h" && args[0] != "--help" && args[0] != "help" {
		return usagef("worktree: there is no %q%s; there are %s", args[0], didYouMean(args[0], "", names), strings.Join(names, ", "))
	}
	for _, c := range treeCommands() {
		if _, err := fmt.Fprintf(std.out, "  heddle worktree %s %s\n      %s\n", c.name, c.args, c.summary); err != nil {
			return err
		}
	}
	return nil
}

// seenTree is a checkout as commands print it. The JSON is what programs read.
type seenTree struct {
	Name   string   `json:"name"`
	Path   string   `json:"path"`
	Branch string   `json:"branch"`
	Base   string   `json:"base"`
	InUse  bool     `json:"inUse"`
	Losses []string `json:"wouldBeLost"`
}

func listTrees(ctx context.Context, args []string, std stdio) error {
	fs := newFlags("worktree list")
	asJSON := fs.Bool("json", false, "print JSON")
	if done, err := parseAll(fs, args, std, "worktree list [--json]"); done || err != nil {
		return err
	}
	p, err := findPlace()
	if err != nil {
		return err
	}
	trees, problems, err := worktree.List(ctx, p.dir)
	if err != nil {
		return err
	}
	all := []seenTree{}
	for _, t := range trees {
		s := seenTree{Name: t.Name, Path: t.Path, Branch: t.Branch, Base: t.Base, InUse: t.InUse, Losses: []string{}}
		if state, err := t.State(ctx); err == nil {
			s.Losses = append(s.Losses, state.Losses()...)
		} else {
			s.Losses = append(s.Losses, err.Error())
		}
		all = append(all, s)
	}
	for _, w := range problems {
		fmt.Fprintf(std.err, "heddle: %s: %s\n", w.Path, plainLine(w.Text))
	}
	if *asJSON {
		return printJSON(std.out, all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(std.out, "There are no checkouts of agents in this repository.")
		return err
	}
	w := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tSTATE\tWOULD BE LOST\tPATH")
	for _, t := range all {
		state := "left"
		if t.InUse {
			state = "in use"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.Name, state, plainLine(strings.Join(t.Losses, "; ")), t.Path)
	}
	return w.Flush()
}

// theTree parses the flags of a command about one checkout and finds that.
func theTree(ctx context.Context, verb string, args []string, std stdio, withForce bool) (t *worktree.Tree, p place, force, done bool, err error) {
	fs := newFlags("worktree " + verb)
	usage := "worktree " + verb + " NAME"
	if withForce {
		fs.BoolVar(&force, "force", false, "do it in spite of what would be refused")
		usage += " [--force]"
	}
	rest, done, err := parse(fs, args, std, usage)
	switch {
	case err != nil || done:
		return nil, p, force, done, err
	case len(rest) != 1:
		return nil, p, force, false, usagef("worktree %s: name one checkout; heddle worktree list shows them", verb)
	}
	if p, err = findPlace(); err != nil {
		return nil, p, force, false, err
	}
	trees, _, err := worktree.List(ctx, p.dir)
	if err != nil {
		return nil, p, force, false, err
	}
	var names []string
	for i := range trees {
		if trees[i].Name == rest[0] {
			return &trees[i], p, force, false, nil
		}
		names = append(names, trees[i].Name)
	}
	return nil, p, force, false, usagef("worktree %s: there is no checkout %q%s; heddle worktree list shows them", verb, rest[0], didYouMean(rest[0], "", names))
}

func diffTree(ctx context.Context, args []string, std stdio) error {
	t, _, _, done, err := theTree(ctx, "diff", args, std, false)
	if err != nil || done {
		return err
	}
	text, err := t.Diff(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(std.out, text)
	return err
}

func applyTree(ctx context.Context, args []string, std stdio) error {
	t, p, force, done, err := theTree(ctx, "apply", args, std, true)
	if err != nil || done {
		return err
	}
	return bringHere(ctx, t, worktree.ApplyOptions{Dir: p.dir, Force: force}, std)
}

// bringHere applies the work of a checkout, and prints the files that it changed.
func bringHere(ctx context.Context, t *worktree.Tree, o worktree.ApplyOptions, std stdio) error {
	got, err := t.Apply(ctx, o)
	for _, c := range got.Conflicts {
		fmt.Fprintf(std.err, "heddle: conflict: %s: %s\n", tool.Plain([]byte(c.Path)), plainLine(c.Why))
	}
	switch {
	case errors.Is(err, worktree.ErrConflict):
		return fmt.Errorf("nothing was changed: the work of %s and the files here do not go together; --force writes both with marks", t.Name)
	case err != nil:
		return err
	case len(got.Files) == 0:
		_, err = fmt.Fprintf(std.out, "There is nothing new in %s.\n", t.Name)
		return err
	}
	for _, f := range got.Files {
		fmt.Fprintln(std.out, tool.Plain([]byte(f)))
	}
	if len(got.Conflicts) > 0 {
		return exitError(exitFailed)
	}
	return nil
}

func removeTree(ctx context.Context, args []string, std stdio) error {
	t, _, force, done, err := theTree(ctx, "rm", args, std, true)
	if err != nil || done {
		return err
	}
	if err := t.Remove(ctx, force); err != nil {
		if _, ok := errors.AsType[*worktree.LossError](err); ok {
			return fmt.Errorf("%w; heddle worktree apply %s brings the work here, --force gives it up", err, t.Name)
		}
		return err
	}
	_, err = fmt.Fprintf(std.out, "Removed %s.\n", t.Name)
	return err
}
