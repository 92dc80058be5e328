package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"heddle/internal/agent"
	"heddle/internal/demo"
	"heddle/internal/worktree"
)

// runDemo does a small real job where everyone can watch: the files, the edits and the
// commands are real, only the model is played from a script, unless one is named.
func runDemo(ctx context.Context, args []string, std stdio) error {
	var o options
	fs := newFlags("demo")
	keep := fs.Bool("keep", false, "leave the project where it is, to look at")
	fs.StringVar(&o.model, "model", "", "let `MODEL` do the job instead of the script; needs a key")
	if done, err := parseAll(fs, args, std, "demo [--keep] [--model M]"); done || err != nil {
		return err
	}
	if _, err := exec.LookPath("go"); err != nil {
		return usagef("the demo repairs a small Go project and needs the go command: install Go from https://go.dev/dl and try again")
	}
	root, err := os.MkdirTemp("", "heddle-demo-")
	if err != nil {
		return fmt.Errorf("make a folder for the demo: %w", err)
	}
	if root, err = filepath.EvalSymlinks(root); err != nil {
		return err
	}
	dir := filepath.Join(root, "project")
	if err := demo.Copy(dir); err != nil {
		return errors.Join(err, os.RemoveAll(root))
	}
	d := demonstration{place: place{dir: dir, home: filepath.Join(root, "state")}, options: &o, std: std}
	err = d.show(ctx)
	if *keep {
		fmt.Fprintf(std.out, "\nThe project is in %s\n", dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(root))
}

// demonstration is one run of the demo, in a project of its own.
type demonstration struct {
	place
	options *options
	std     stdio
}

// show does the jobs in one conversation, brings what an agent did apart, and lets the
// project's own tests have the last word.
func (d demonstration) show(ctx context.Context) error {
	jobs := []string{demo.Repair}
	apart := true
	if err := commitDemo(ctx, d.dir); err != nil {
		apart = false
		fmt.Fprintf(d.std.err, "heddle: the second part of the demo is left out, agents with a checkout of their own need git: %v\n", err)
	} else {
		jobs = append(jobs, demo.Extend)
	}
	fmt.Fprintf(d.std.out, "A small Go project with a failing test was copied to %s.\n", d.dir)
	if err := d.converse(ctx, jobs); err != nil {
		return err
	}
	if apart {
		if err := d.gather(ctx); err != nil {
			return err
		}
	}
	return proveDemo(ctx, d.dir, d.std.out)
}

// converse has a session do the jobs, one after the other.
func (d demonstration) converse(ctx context.Context, jobs []string) error {
	o := d.options
	o.sources, o.sourcesSet = nil, true
	o.mode = "acceptEdits"
	o.allowed = list{"Bash(go test *)"}
	if o.model == "" {
		script := filepath.Join(filepath.Dir(d.dir), "script.yaml")
		if err := os.WriteFile(script, demo.Script(), 0o600); err != nil {
			return fmt.Errorf("write the demo's script: %w", err)
		}
		o.model = "scripted/" + script
	}
	s, err := open(d.place, o, d.std)
	if err != nil {
		return err
	}
	var end agent.Ended
	for _, job := range jobs {
		fmt.Fprintf(d.std.out, "\nThe job: %q\n\n", job)
		if end, err = narrate(ctx, s, job, d.std.out); err != nil || end.Reason != agent.Completed {
			break
		}
	}
	if err := errors.Join(err, closeSession(s)); err != nil {
		return err
	}
	if end.Reason != agent.Completed {
		why := string(end.Reason)
		if end.Err != nil {
			why += ": " + end.Err.Error()
		}
		fmt.Fprintf(d.std.err, "heddle: the demo ended early: %s\n", why)
		return exitError(exitFailed)
	}
	return nil
}

// gather does what a person would do with the checkouts that agents have left.
func (d demonstration) gather(ctx context.Context) error {
	trees, _, err := worktree.List(ctx, d.dir)
	if err != nil {
		return err
	}
	if len(trees) == 0 {
		return errors.New("the demo was to leave the work of an agent in a checkout of its own, and there is none")
	}
	for i := range trees {
		t := &trees[i]
		diff, err := t.Diff(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.std.out, "$ heddle worktree diff %s\n%s\n$ heddle worktree apply %[1]s\n", t.Name, head(diff, 30))
		if err := bringHere(ctx, t, worktree.ApplyOptions{Dir: d.dir}, d.std); err != nil {
			return err
		}
		fmt.Fprintf(d.std.out, "$ heddle worktree rm --force %s\n", t.Name)
		if err := t.Remove(ctx, true); err != nil {
			return err
		}
		fmt.Fprintf(d.std.out, "Removed %s.\n\n", t.Name)
	}
	return nil
}

// commitDemo makes the project a repository with one commit.
func commitDemo(ctx context.Context, dir string) error {
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "-A"},
		{"-c", "user.name=heddle demo", "-c", "user.email=demo@heddle.invalid", "-c", "commit.gpgsign=false", "commit", "-q", "-m", "Begin"},
	} {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w %s", args[0], err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// proveDemo runs the project's tests once more, outside of heddle.
func proveDemo(ctx context.Context, dir string, w io.Writer) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./...")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	fmt.Fprintf(w, "The project's tests, run once more from outside:\n  %s\n", indent(strings.TrimSpace(string(out)), "  "))
	if err != nil {
		return fmt.Errorf("the project's tests still fail: %w", err)
	}
	return nil
}
