package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"heddle/internal/config"
	"heddle/internal/mcp"
)

// serverEntry is what is written for a server.
type serverEntry struct {
	Type    string            `json:"type,omitempty"`
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
}

// addFlags are the flags of heddle mcp add.
type addFlags struct {
	user, project, sse bool
	entry              serverEntry
}

func (a *addFlags) set() *flag.FlagSet {
	fs := newFlags("mcp add")
	fs.BoolVar(&a.user, "user", false, "write to your own settings: the server is there in all projects")
	fs.BoolVar(&a.project, "project", false, "write to .mcp.json of this project, which is the default")
	fs.StringVar(&a.entry.URL, "url", "", "the server is at `URL`, and not a command")
	fs.BoolVar(&a.sse, "sse", false, "with --url: it speaks the older SSE")
	pairs := func(name, usage, separator, example string, into *map[string]string) {
		fs.Func(name, usage, func(s string) error {
			key, value, ok := strings.Cut(s, separator)
			if key = strings.TrimSpace(key); !ok || key == "" {
				return usagef("want %s", example)
			}
			if *into == nil {
				*into = map[string]string{}
			}
			(*into)[key] = strings.TrimLeft(value, " ")
			return nil
		})
	}
	pairs("env", "set a variable of the command, `K=V`; may be repeated", "=", "NAME=VALUE", &a.entry.Env)
	pairs("header", "with --url: send `'K: V'` along; may be repeated", ":", "'NAME: VALUE'", &a.entry.Headers)
	return fs
}

const addUsage = `mcp add NAME [FLAGS] -- COMMAND [ARGS]
       heddle mcp add NAME --url URL [FLAGS]

Values may hold ${VAR} and ${VAR:-default}, which are replaced when the server starts. In a
shell, write them in single quotes.
`

// addServer writes a server to a file.
func addServer(_ context.Context, args []string, std stdio) error {
	var a addFlags
	own, command := args, []string(nil)
	if i := slices.Index(args, "--"); i >= 0 {
		own, command = args[:i], args[i+1:]
	}
	fs := a.set()
	rest, done, err := parse(fs, own, std, addUsage)
	if err != nil && len(own) == len(args) { // flags of the command were taken for flags of add
		return usagef("%v; the command of a server stands after two dashes", err)
	}
	if done || err != nil {
		return err
	}
	if len(rest) == 0 {
		return usagef("mcp add: give the server a name: heddle mcp add NAME -- COMMAND [ARGS]")
	}
	if len(rest) > 1 {
		return usagef("mcp add: the command of a server stands after two dashes: heddle mcp add %s -- %s", shellWord(rest[0]), shellWord(rest[1]))
	}
	if err := a.complete(rest[0], command); err != nil {
		return err
	}
	p, err := findPlace()
	if err != nil {
		return err
	}
	return a.write(p, rest[0], std)
}

// complete checks that the flags go together, and fills in the rest of the entry.
func (a *addFlags) complete(name string, command []string) error {
	e := &a.entry
	switch {
	case a.user && a.project:
		return usagef("mcp add: --user and --project exclude each other")
	case e.URL == "" && len(command) == 0:
		return usagef("mcp add: say what the server is: a command after two dashes, or --url URL")
	case e.URL != "" && len(command) > 0:
		return usagef("mcp add: a server is a command or a --url, not both")
	case e.URL == "" && (a.sse || len(e.Headers) > 0):
		return usagef("mcp add: --sse and --header go with --url")
	case e.URL != "" && len(e.Env) > 0:
		return usagef("mcp add: --env is for commands; what a server at a URL should know goes into --header")
	}
	if e.URL == "" {
		e.Command, e.Args = command[0], command[1:]
		return nil
	}
	e.Type = "http"
	if a.sse {
		e.Type = "sse"
	}
	return nil
}

// write puts the server into its file.
func (a *addFlags) write(p place, name string, std stdio) error {
	layer, path, err := a.file(p)
	if err != nil {
		return err
	}
	if err := a.check(name, layer, std.err); err != nil {
		return err
	}
	file, err := openServers(layer, path)
	if err != nil {
		return err
	}
	if old := file.get(name); old != nil {
		return usagef("%v: there is an MCP server %q already; to put this one in its place, first: heddle mcp remove %s", old.Here(), name, shellWord(name))
	}
	changed, err := file.with(name, a.entry)
	if err != nil {
		return fmt.Errorf("add the server to %s: %w", path, err)
	}
	if err := changed.write(); err != nil {
		return err
	}
	if layer == config.Project { // who writes it wants it to start
		if err := p.approve(path, name, changed.get(name).JSON()); err != nil {
			return fmt.Errorf("the server was added, but it is not approved: %w", err)
		}
	}
	fmt.Fprintf(std.out, "Added the MCP server %q to %s. heddle mcp get %s shows whether it can be reached.\n", name, path, shellWord(name))
	a.tellOthers(p, name, path, std.err)
	return nil
}

// file says where the server goes.
func (a *addFlags) file(p place) (config.Layer, string, error) {
	if a.user {
		return config.User, filepath.Join(p.home, "settings.json"), nil
	}
	project := p.project()
	if user, err := os.UserHomeDir(); err == nil && sameFile(user, project) {
		return "", "", usagef("mcp add: this is your home directory and no project; --user adds the server to your own settings")
	}
	return config.Project, filepath.Join(project, projectServers), nil
}

// check refuses what could not be started, and warns of what is better written otherwise.
func (a *addFlags) check(name string, layer config.Layer, stderr io.Writer) error {
	text, err := encode(map[string]any{name: a.entry}, "", "")
	if err != nil {
		return err
	}
	l, err := config.Text(layer, "mcp add", []byte(text))
	if err != nil {
		return usageError{joined(err)}
	}
	_, problems, warnings := mcp.Parse(l, "", os.LookupEnv)
	for _, p := range problems {
		return usagef("mcp add: %s", p.Text)
	}
	for _, p := range warnings {
		fmt.Fprintf(stderr, "heddle: %s\n", p.Text)
	}
	if layer != config.Project {
		return nil
	}
	for _, values := range []map[string]string{a.entry.Env, a.entry.Headers} {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if looksSecret(key, values[key]) {
				fmt.Fprintf(stderr, "heddle: the value of %s looks like a secret, and %s is for all who have the project: write ${VAR} there, and keep the value in the environment\n", key, projectServers)
			}
		}
	}
	return nil
}

// looksSecret guesses whether a value is one that should not stand in a shared file.
func looksSecret(key, value string) bool {
	for _, scheme := range []string{"Bearer ", "Basic ", "token "} {
		value = strings.TrimPrefix(value, scheme)
	}
	if strings.Contains(value, "${") || strings.ContainsAny(value, " /") || len(value) < 8 {
		return false
	}
	for _, word := range []string{"token", "secret", "password", "key", "auth"} {
		if strings.Contains(strings.ToLower(key), word) {
			return true
		}
	}
	return len(value) >= 20 && strings.ContainsFunc(value, unicode.IsDigit) && strings.ContainsFunc(value, unicode.IsLetter)
}

// tellOthers tells of servers with the same name in other files.
func (a *addFlags) tellOthers(p place, name, path string, stderr io.Writer) {
	counts := true
	for _, c := range p.serverFiles() {
		if c.path == path {
			counts = false
			continue
		}
		f, err := openServers(c.layer, c.path)
		if err != nil || f.get(name) == nil {
			continue
		}
		if counts {
			fmt.Fprintf(stderr, "heddle: here, the server %q of %v counts and not this one\n", name, f.get(name).Here())
			return
		}
		fmt.Fprintf(stderr, "heddle: here, it counts in the place of that of %v\n", f.get(name).Here())
		return
	}
}
