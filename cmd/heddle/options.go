package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// options are the flags of a conversation. Names, and what they mean, are those
// that agent SDKs pass.
type options struct {
	print        bool
	outputFormat string
	inputFormat  string

	resume                                     string
	last                                       bool
	fork                                       bool
	sessionID                                  string
	name                                       string
	noPersist                                  bool
	model                                      string
	effort                                     string
	maxTurns                                   int
	maxBudget                                  float64
	backgroundWait, shellGrace, blockingBudget time.Duration

	settings   string
	sources    list
	sourcesSet bool
	addDirs    list

	serverConfigs []string
	strictServers bool
	pluginDirs    []string
	agents        string

	allowed, disallowed, tools list
	toolsSet                   bool
	mode                       string
	skipPermissions            bool
	allowSkip                  bool
	promptTool                 string

	system, systemFile   string
	append, appendFile   string
	systemSet, appendSet bool

	partial bool
	replay  bool
	bare    bool
	verbose bool
	debug   string
}

// list is a flag whose values are separated by commas, and which may be repeated.
// A comma inside parentheses does not separate, so that rules stay whole.
type list []string

func (l *list) String() string { return strings.Join(*l, ",") }

func (l *list) Set(s string) error {
	depth, start := 0, 0
	add := func(part string) {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, part)
		}
	}
	for i, c := range s {
		switch {
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case c == ',' && depth == 0:
			add(s[start:i])
			start = i + 1
		}
	}
	add(s[start:])
	return nil
}

// flags returns the flag set that fills o. Other spellings have no usage text,
// so that help shows each flag once.
func (o *options) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("heddle", flag.ContinueOnError)
	both := func(define func(name, usage string), usage string, names ...string) {
		for i, n := range names {
			if i > 0 {
				usage = ""
			}
			define(n, usage)
		}
	}
	boolean := func(p *bool, usage string, names ...string) {
		both(func(n, u string) { fs.BoolVar(p, n, *p, u) }, usage, names...)
	}
	text := func(p *string, usage string, names ...string) {
		both(func(n, u string) { fs.StringVar(p, n, *p, u) }, usage, names...)
	}
	values := func(p *list, set *bool, usage string, names ...string) {
		both(func(n, u string) {
			fs.Func(n, u, func(s string) error {
				if set != nil {
					*set = true
				}
				return p.Set(s)
			})
		}, usage, names...)
	}
	noted := func(p *string, set *bool, usage, name string) {
		fs.Func(name, usage, func(s string) error { *p, *set = s, true; return nil })
	}

	boolean(&o.print, "do a job and print the answer; the prompt is an argument, standard input, or both", "print", "p")
	text(&o.outputFormat, "print `FORMAT`: text (default), json or stream-json", "output-format")
	text(&o.inputFormat, "read `FORMAT`: text (default) or stream-json", "input-format")
	boolean(&o.last, "go on with the newest session of this directory", "continue", "c")
	both(func(n, u string) {
		fs.Func(n, u, func(s string) error {
			if o.resume = strings.TrimSpace(s); o.resume == "" {
				return usageError{"it names no session"}
			}
			return nil
		})
	}, "go on with session `ID`, the beginning of an id, or a name", "resume", "r")
	boolean(&o.fork, "with --resume or --continue: leave that session as it is and go on in a copy", "fork-session")
	text(&o.sessionID, "use this `UUID` for a new session", "session-id")
	both(func(n, u string) {
		fs.Func(n, u, func(s string) error {
			if o.name = strings.TrimSpace(s); o.name == "" || strings.ContainsFunc(o.name, unicode.IsControl) {
				return usageError{"a name is one line of text"}
			}
			return nil
		})
	}, "call the session `NAME`", "name", "n")
	boolean(&o.noPersist, "keep no transcript", "no-session-persistence")
	text(&o.model, "use `MODEL`: provider/name, a name, an alias such as small or large, or scripted/FILE", "model")
	text(&o.effort, "think `LEVEL`: low, medium, high, xhigh or max", "effort")
	fs.Func("max-turns", "stop after `N` answers of the model", func(s string) error { return positiveInt(&o.maxTurns, s) })
	fs.Func("max-budget-usd", "stop when the session has cost `X` dollars", func(s string) error { return positive(&o.maxBudget, s) })
	duration := func(p *time.Duration, usage, name string) {
		fs.Func(name, usage, func(s string) error { return notNegative(p, s) })
	}
	o.backgroundWait, o.shellGrace = defaultBackgroundWait, defaultShellGrace
	duration(&o.backgroundWait, "when the last answer is given, wait up to `D` for agents and monitors in the background; 10m if not given, 0 for ever", "background-wait")
	duration(&o.shellGrace, "and up to `D` for commands in the background; 5s if not given", "shell-grace")
	duration(&o.blockingBudget, "let no call wait longer than `D` for a command: it goes on in the background", "blocking-budget")
	values(&o.allowed, nil, "allow calls by `RULES`, such as \"Bash(go test *),Edit\"", "allowedTools", "allowed-tools")
	values(&o.disallowed, nil, "refuse calls by `RULES`", "disallowedTools", "disallowed-tools")
	values(&o.tools, &o.toolsSet, "offer only these built-in `TOOLS`; \"\" for none, default for all", "tools")
	text(&o.mode, "start in permission `MODE`: default, acceptEdits, plan, dontAsk or bypassPermissions", "permission-mode")
	boolean(&o.skipPermissions, "allow everything but deny rules (bypassPermissions)", "dangerously-skip-permissions")
	boolean(&o.allowSkip, "let bypassPermissions be switched on later", "allow-dangerously-skip-permissions")
	text(&o.promptTool, "ask for permission through `WAY`: stdio, the control protocol", "permission-prompt-tool")
	noted(&o.system, &o.systemSet, "replace the system prompt by `TEXT`", "system-prompt")
	text(&o.systemFile, "replace the system prompt by the content of `FILE`", "system-prompt-file")
	noted(&o.append, &o.appendSet, "add `TEXT` to the system prompt", "append-system-prompt")
	text(&o.appendFile, "add the content of `FILE` to the system prompt", "append-system-prompt-file")
	values(&o.addDirs, nil, "let tools work in `DIRS` too", "add-dir")
	text(&o.settings, "take settings from `FILE`, or from JSON given here", "settings")
	values(&o.sources, &o.sourcesSet, "read only these settings `FILES`: user, project, local", "setting-sources")
	repeated := func(p *[]string, usage, name string) {
		fs.Func(name, usage, func(s string) error {
			if strings.TrimSpace(s) == "" {
				return usageError{"it is empty"}
			}
			*p = append(*p, s)
			return nil
		})
	}
	repeated(&o.serverConfigs, "start the MCP servers of `FILE`, or of JSON given here; may be repeated", "mcp-config")
	boolean(&o.strictServers, "start no MCP servers but those of --mcp-config", "strict-mcp-config")
	repeated(&o.pluginDirs, "load the plugin in `DIR`, or all in it, for this session; may be repeated", "plugin-dir")
	text(&o.agents, "add agents: `JSON` with definitions by name", "agents")
	boolean(&o.partial, "with stream-json: pass on the answer while it is written", "include-partial-messages")
	boolean(&o.replay, "with stream-json: repeat user messages on standard output", "replay-user-messages")
	boolean(&o.bare, "read no memory files, settings, skills, hooks, plugins and MCP servers that no flag names; only the tools Bash, Read and Edit", "bare")
	boolean(&o.verbose, "accepted for compatibility; stream-json always tells everything", "verbose")
	text(&o.debug, "write a log to `FILE`", "debug-file")
	return fs
}

func positiveInt(p *int, s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		return errNotPositive
	}
	*p = n
	return nil
}

// How long a run waits for background work after its last answer.
const (
	defaultBackgroundWait = 10 * time.Minute
	defaultShellGrace     = 5 * time.Second
)

func notNegative(p *time.Duration, s string) error {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return usageError{"want a time such as 90s or 10m"}
	}
	*p = d
	return nil
}

func positive(p *float64, s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x > 0) || math.IsInf(x, 0) {
		return errNotPositive
	}
	*p = x
	return nil
}

var errNotPositive = usageError{"want a number above zero"}

// check rejects values and combinations that mean nothing.
func (o *options) check() error {
	oneOf := func(flag, value string, allowed ...string) error {
		if value == "" {
			return nil
		}
		for _, a := range allowed {
			if value == a {
				return nil
			}
		}
		return usagef("%s %q: want %s", flag, value, strings.Join(allowed, ", "))
	}
	for _, err := range []error{
		oneOf("--output-format", o.outputFormat, "text", "json", "stream-json"),
		oneOf("--input-format", o.inputFormat, "text", "stream-json"),
		oneOf("--effort", o.effort, "low", "medium", "high", "xhigh", "max"),
		oneOf("--permission-prompt-tool", o.promptTool, "stdio"),
	} {
		if err != nil {
			return err
		}
	}
	for _, s := range o.sources {
		if err := oneOf("--setting-sources", s, "user", "project", "local"); err != nil {
			return err
		}
	}
	switch {
	case o.resume != "" && o.last:
		return usagef("--resume and --continue exclude each other")
	case o.fork && o.resume == "" && !o.last:
		return usagef("--fork-session needs --resume or --continue")
	case o.sessionID != "" && (o.resume != "" || o.last) && !o.fork:
		return usagef("--session-id is for a new session; with --resume or --continue it needs --fork-session")
	case o.noPersist && (o.resume != "" || o.last) && !o.fork:
		return usagef("--no-session-persistence cannot go on with a session; add --fork-session")
	case o.systemSet && o.systemFile != "":
		return usagef("--system-prompt and --system-prompt-file exclude each other")
	case o.appendSet && o.appendFile != "":
		return usagef("--append-system-prompt and --append-system-prompt-file exclude each other")
	case o.inputFormat == "stream-json" && o.outputFormat != "stream-json":
		return usagef("--input-format stream-json needs --output-format stream-json")
	case o.promptTool != "" && o.inputFormat != "stream-json":
		return usagef("--permission-prompt-tool stdio needs --input-format stream-json")
	}
	return nil
}

// systemPrompt returns the system prompt that the flags ask for, given the usual one.
func (o *options) systemPrompt(usual string) (string, error) {
	read := func(flag, path string) (string, error) {
		text, err := readText(path)
		if err != nil {
			return "", usagef("%s: %v", flag, err)
		}
		return text, nil
	}
	prompt := usual
	var err error
	switch {
	case o.systemFile != "":
		if prompt, err = read("--system-prompt-file", o.systemFile); err != nil {
			return "", err
		}
	case o.systemSet:
		prompt = o.system
	}
	more := o.append
	if o.appendFile != "" {
		if more, err = read("--append-system-prompt-file", o.appendFile); err != nil {
			return "", err
		}
	}
	if more != "" {
		prompt = strings.TrimRight(prompt, "\n") + "\n\n" + more
	}
	return prompt, nil
}

// maxText is how long a text may be that a flag names a file for.
const maxText = 1 << 20

// readText reads a regular file. Others may never end, or not even open.
func readText(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(b) > maxText {
		err = fmt.Errorf("%s is larger than 1 MiB", path)
	}
	return string(b), err
}

// logger returns the log that the flags ask for, nil for none.
func (o *options) logger() (*slog.Logger, func(context.Context) error, error) {
	if o.debug == "" {
		return nil, func(context.Context) error { return nil }, nil
	}
	f, err := os.OpenFile(o.debug, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, usagef("--debug-file: %v", err)
	}
	return slog.New(slog.NewTextHandler(f, nil)), func(context.Context) error { return f.Close() }, nil
}

// limitInput is how much a prompt on standard input may be.
const limitInput = 10 << 20

// readPrompt joins the prompt given as arguments and the one on standard input. A
// terminal, or a pipe beside an argument, is not waited for without need.
func readPrompt(args []string, in *os.File, stderr io.Writer) (string, error) {
	prompt := strings.Join(args, " ")
	if !readsStdin(in, prompt != "", stderr) {
		return prompt, nil
	}
	b, err := io.ReadAll(io.LimitReader(in, limitInput+1))
	if err != nil {
		return "", usagef("read the prompt from standard input: %v", err)
	}
	if len(b) > limitInput {
		return "", usagef("the prompt on standard input is longer than 10 MB; put it in a file and name the file in the prompt")
	}
	piped := strings.TrimRight(string(b), "\n")
	switch {
	case strings.TrimSpace(prompt) == "":
		return piped, nil
	case piped == "":
		return prompt, nil
	}
	return prompt + "\n\n" + piped, nil
}
