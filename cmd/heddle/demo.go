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
	"time"

	"heddle/internal/agent"
	"heddle/internal/demo"
	"heddle/internal/message"
	"heddle/internal/session"
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
	err = showDemo(ctx, place{dir: dir, home: filepath.Join(root, "state")}, &o, std)
	if *keep {
		fmt.Fprintf(std.out, "\nThe project is in %s\n", dir)
		return err
	}
	return errors.Join(err, os.RemoveAll(root))
}

// showDemo runs the job in p and prints what happens.
func showDemo(ctx context.Context, p place, o *options, std stdio) error {
	fmt.Fprintf(std.out, "A small Go project with a failing test was copied to %s.\nThe job: %q\n\n", p.dir, demo.Prompt)
	o.sources, o.sourcesSet = nil, true
	o.mode = "acceptEdits"
	o.allowed = list{"Bash(go test *)"}
	if o.model == "" {
		script := filepath.Join(filepath.Dir(p.dir), "script.yaml")
		if err := os.WriteFile(script, demo.Script(), 0o600); err != nil {
			return fmt.Errorf("write the demo's script: %w", err)
		}
		o.model = "scripted/" + script
	}
	s, err := open(p, o, std)
	if err != nil {
		return err
	}
	end, err := narrate(ctx, s, std.out)
	err = errors.Join(err, closeSession(s))
	if err != nil {
		return err
	}
	if end.Reason != agent.Completed {
		why := string(end.Reason)
		if end.Err != nil {
			why += ": " + end.Err.Error()
		}
		fmt.Fprintf(std.err, "heddle: the demo ended early: %s\n", why)
		return exitError(exitFailed)
	}
	return proveDemo(ctx, p.dir, std.out)
}

// narrate runs the demo's prompt, and what background work tells afterwards, and prints
// each step as a line or a few.
func narrate(ctx context.Context, s *session.Session, w io.Writer) (end agent.Ended, err error) {
	input := []agent.Input{{Content: []message.Block{message.Text{Text: demo.Prompt}}, Origin: agent.Human}}
	for input != nil {
		for ev, err := range s.Turn(ctx, input...) {
			if err != nil {
				return end, err
			}
			if e, ok := ev.(agent.Ended); ok {
				end = e
			}
			narrateEvent(w, ev)
		}
		if end.Reason != agent.Completed {
			return end, nil
		}
		// The tests may have to be compiled first, by a Go that has never done so here.
		input, _ = s.Await(ctx, session.Patience{Shells: 10 * time.Minute})
	}
	return end, nil
}

func narrateEvent(w io.Writer, ev agent.Event) {
	switch ev := ev.(type) {
	case agent.Added:
		switch t := ev.Message.Text(); {
		case ev.Origin == agent.FromModel && t != "":
			fmt.Fprintf(w, "heddle  %s\n\n", indent(t, "        "))
		case ev.Origin == agent.Notification:
			fmt.Fprintf(w, "  ! woken by a notification:\n    %s\n\n", indent(t, "    "))
		}
	case agent.ToolBegan:
		fmt.Fprintf(w, "  > %s %s\n", ev.Use.Name, oneLine(string(ev.Use.Input), 100))
	case agent.ToolEnded:
		text := head(message.Message{Content: ev.Result.Content}.Text(), 8)
		fmt.Fprintf(w, "    %s, %v:\n    %s\n\n", ev.Use.Name, ev.Duration.Round(time.Millisecond), indent(text, "    "))
	case agent.Notice:
		fmt.Fprintf(w, "  ! %s\n", ev.Text)
	}
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

func indent(s, by string) string {
	return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by)
}

func oneLine(s string, most int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}

// head returns the first lines of s, and how many more there are.
func head(s string, most int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) <= most {
		return s
	}
	return strings.Join(lines[:most], "\n") + fmt.Sprintf("\n… %d more lines", len(lines)-most)
}
