package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"heddle/internal/spelling"
)

// command is one word after heddle.
type command struct {
	name    string
	args    string // of the usage line
	summary string
	run     func(ctx context.Context, args []string, std stdio) error
}

// commands lists what there is besides the conversation itself.
func commands() []command {
	return []command{
		{"demo", "[--keep] [--model M]", "Watch a small real job being done; needs no key", runDemo},
		{"sessions", "[--json] [--all]", "List the sessions of this directory", runSessions},
		{"tasks", "[list|show|logs|wait|stop]", "Look at what sessions run, wait for it, end it", runTasks},
		{"config", "[--json]", "Show every setting and where it comes from", runConfig},
		{"mcp", "[list|get|add|remove|approve]", "Look at MCP servers, add, remove and approve them", runMCP},
		{"agents", "[list|show|validate]", "Look at the agents that the conversation may call", runAgents},
		{"worktree", "[list|diff|apply|rm]", "Look at the checkouts of agents, and bring their work here", runWorktree},
		{"doctor", "[--check] [--json]", "Show what was found where, and what is broken", runDoctor},
		{"models", "[--json]", "List the models that are known, with prices", runModels},
		{"fakeapi", "--script F [--addr A]", "Serve a scripted model over the real wire protocols", runFakeAPI},
		{"completion", "bash|zsh|fish", "Print a completion script for a shell", runCompletion},
		{"help", "[COMMAND]", "Show this, or the help of a command", runHelp},
	}
}

func dispatch(ctx context.Context, args []string, std stdio) error {
	if len(args) > 0 {
		switch args[0] {
		case "--version", "-v", "version":
			_, err := fmt.Fprintf(std.out, "heddle %s\n", version())
			return err
		case "--help", "-h":
			return runHelp(ctx, nil, std)
		}
		for _, c := range commands() {
			if c.name == args[0] {
				return c.run(ctx, args[1:], std)
			}
		}
	}
	return runConversation(ctx, args, std)
}

// release is the version of this source.
const release = "0.1.0"

// version is the release and, in a build from a checkout, its commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return release
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return release + "+" + s.Value[:12]
		}
	}
	return release
}

func runHelp(ctx context.Context, args []string, std stdio) error {
	if len(args) > 0 && args[0] != "help" {
		for _, c := range commands() {
			if c.name == args[0] && c.name != "help" {
				return c.run(ctx, []string{"--help"}, std)
			}
		}
		return usagef("there is no command %q; heddle --help lists them", args[0])
	}
	fmt.Fprint(std.out, `heddle is a coding agent for the terminal.

Usage:
  heddle -p "PROMPT" [FLAGS]       do a job and print the answer
  heddle COMMAND [ARGUMENTS]

Commands:
`)
	for _, c := range commands() {
		fmt.Fprintf(std.out, "  %-12s %s\n", c.name, c.summary)
	}
	fmt.Fprint(std.out, "\nFlags of a conversation:\n")
	var o options
	printFlags(std.out, o.flags())
	fmt.Fprint(std.out, `
Keys come from the environment: ANTHROPIC_API_KEY or OPENAI_API_KEY; a local server
is named by ANTHROPIC_BASE_URL or OPENAI_BASE_URL. State is kept in ~/.heddle, or in
HEDDLE_HOME. Without a key, "heddle demo" shows what heddle does.

Exit codes: 0 done, 1 the run ended with an error, 2 wrong usage or settings,
3 done, but background work was ended before it was,
130 interrupted, 143 terminated.
`)
	return nil
}

// printFlags lists the flags that have a usage text; the others are other
// spellings.
func printFlags(w io.Writer, fs *flag.FlagSet) {
	fs.VisitAll(func(f *flag.Flag) {
		if f.Usage == "" {
			return
		}
		value, usage := flag.UnquoteUsage(f)
		name := "--" + f.Name
		if len(f.Name) == 1 {
			name = "-" + f.Name
		}
		if value != "" {
			name += " " + value
		}
		fmt.Fprintf(w, "  %-32s %s\n", name, usage)
	})
}

// parse reads flags that may stand anywhere among the arguments, and returns
// the other arguments. Help was asked for and printed when done is true.
func parse(fs *flag.FlagSet, args []string, std stdio, usage string) (rest []string, done bool, err error) {
	fs.SetOutput(io.Discard)
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			if err == flag.ErrHelp {
				fmt.Fprintf(std.out, "Usage: heddle %s\n", usage)
				printFlags(std.out, fs)
				return nil, true, nil
			}
			return nil, false, usagef("%s; see heddle --help", cleanFlagError(err, fs))
		}
		left := fs.Args()
		if len(left) == 0 {
			break
		}
		if dash := len(args) - len(left); dash > 0 && args[dash-1] == "--" {
			return append(rest, left...), false, nil
		}
		rest, args = append(rest, left[0]), left[1:]
	}
	return rest, false, nil
}

// cleanFlagError words a flag error as users write flags: with two dashes.
func cleanFlagError(err error, fs *flag.FlagSet) string {
	msg := err.Error()
	if name, ok := strings.CutPrefix(msg, "flag provided but not defined: -"); ok {
		dashes := "--"
		if len(name) == 1 {
			dashes = "-"
		}
		var known []string
		fs.VisitAll(func(f *flag.Flag) { known = append(known, f.Name) })
		return "unknown flag " + dashes + name + didYouMean(name, "--", known)
	}
	msg = strings.Replace(msg, "flag needs an argument: -", "flag needs an argument: --", 1)
	return strings.Replace(msg, " for flag -", " for flag --", 1)
}

// didYouMean names what is nearly the word, if anything is.
func didYouMean(word, prefix string, known []string) string {
	best, distance := "", 1+len(word)/4
	for _, k := range known {
		if d := spelling.Distance(word, k); len(k) > 1 && d <= distance {
			best, distance = k, d-1
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s%s?)", prefix, best)
}
