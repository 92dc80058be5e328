package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
)

// serverCommands lists what there is after heddle mcp.
func serverCommands() []command {
	return []command{
		{"list", "[--no-check] [--json]", "List the servers, and whether they can be reached", listServers},
		{"get", "NAME [--no-check] [--json]", "Show one server, with its tools", getServer},
		{"add", "NAME [FLAGS] -- COMMAND [ARGS] | NAME --url URL [FLAGS]", "Add a server to .mcp.json here, or with --user to your settings", addServer},
		{"remove", "NAME [--user|--project]", "Take a server out of the file that has it", removeServer},
		{"approve", "NAME ... | --all", "Let servers of this project's .mcp.json start, as they stand", approveServers},
	}
}

// runMCP looks at MCP servers, and changes which there are.
func runMCP(ctx context.Context, args []string, std stdio) error {
	if len(args) == 0 || args[0] == "--help" || args[0] == "-h" || args[0] == "help" {
		return helpMCP(std.out)
	}
	var names []string
	for _, c := range serverCommands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], std)
		}
		names = append(names, c.name)
	}
	words := strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	if strings.HasPrefix(args[0], "-") {
		return usagef("mcp: before %s, say what to do; there are %s", args[0], words)
	}
	return usagef("mcp: there is no %q%s; there are %s", args[0], didYouMean(args[0], "", names), words)
}

func helpMCP(w io.Writer) error {
	var text strings.Builder
	text.WriteString("Usage:\n")
	for _, c := range serverCommands() {
		fmt.Fprintf(&text, "  heddle mcp %s %s\n      %s\n", c.name, c.args, c.summary)
	}
	text.WriteString(`
list and get start the servers that may start and end them again; with --no-check they
start none. Their exit code is 1 if a server that may start does not come up.
"heddle mcp NAME --help" lists the flags of one of these.
`)
	_, err := io.WriteString(w, text.String())
	return err
}

// parseServer parses the flags of heddle mcp VERB, and takes one name besides them.
func parseServer(fs *flag.FlagSet, args []string, std stdio, usage string) (name string, done bool, err error) {
	rest, done, err := parse(fs, args, std, usage)
	switch {
	case err != nil || done:
		return "", done, err
	case len(rest) == 0:
		return "", false, usagef("heddle %s: name a server; heddle mcp list --no-check lists them", fs.Name())
	case len(rest) > 1:
		return "", false, usagef("heddle %s takes one name, not %q too", fs.Name(), rest[1])
	}
	return rest[0], false, nil
}
