package attach

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"heddle/internal/mcp"
	"heddle/internal/message"
	"heddle/internal/session"
)

// hint shows what arguments a prompt takes.
func hint(p mcp.Prompt) string {
	var words []string
	for _, a := range p.Arguments {
		if a.Required {
			words = append(words, a.Name)
		} else {
			words = append(words, "["+a.Name+"]")
		}
	}
	return strings.Join(words, " ")
}

// prompt returns what a prompt of a server says.
func (c *Commands) prompt(ctx context.Context, name, typed string) (x session.Expansion, err error) {
	all := c.o.Servers.o.Set.Prompts()
	named := func(p mcp.Prompt) bool { return p.Full == name }
	if !slices.ContainsFunc(all, named) { // its server may still be starting
		c.o.Servers.Coming(ctx)
		all = c.o.Servers.o.Set.Prompts()
	}
	i := slices.IndexFunc(all, named)
	if i < 0 {
		return x, fmt.Errorf("there is no prompt /%s; %s", name, offering(all))
	}
	p := all[i]
	args, err := arguments(p, typed)
	if err != nil {
		return x, err
	}
	add, err := c.expansion(ctx, name, map[string]any{
		"expansion_type": "mcp_prompt", "command_name": name, "command_args": typed, "command_source": p.Server,
		"prompt": strings.TrimSpace("/" + name + " " + typed),
	})
	if err != nil {
		return x, err
	}
	content, err := c.o.Servers.o.Set.Prompt(ctx, p, args)
	switch {
	case err != nil:
		return x, err
	case len(content) == 0:
		return x, fmt.Errorf("the prompt /%s of the MCP server %q is empty", name, p.Server)
	}
	if add != "" {
		content = append(content, message.Text{Text: add})
	}
	x.Content = content
	return x, nil
}

// offering says what prompts there are, to somebody who asked for another.
func offering(all []mcp.Prompt) string {
	const most = 10
	const servers = "/mcp shows which servers are there"
	if len(all) == 0 {
		return servers
	}
	var names []string
	for _, p := range all[:min(len(all), most)] {
		names = append(names, "/"+p.Full)
	}
	if len(all) > most {
		names = append(names, "…")
	}
	return "there are " + strings.Join(names, ", ") + "; " + servers
}

// arguments assigns words to the arguments of a prompt, in their order; the last gets all
// that is left.
func arguments(p mcp.Prompt, typed string) (map[string]string, error) {
	args := map[string]string{}
	rest := strings.TrimSpace(typed)
	for i, a := range p.Arguments {
		word := rest
		if i < len(p.Arguments)-1 {
			word, rest = firstWord(rest)
		} else {
			rest = ""
			word = unquote(word)
		}
		switch {
		case word != "":
			args[a.Name] = word
		case a.Required:
			return nil, fmt.Errorf("%s is missing: write /%s %s", a.Name, p.Full, hint(p))
		}
	}
	if rest != "" {
		return nil, fmt.Errorf("/%s takes no argument %q", p.Full, rest)
	}
	return args, nil
}

// firstWord splits off a word, or what stands in quotes.
func firstWord(s string) (word, rest string) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return s[1 : 1+end], strings.TrimSpace(s[2+end:])
		}
	}
	if end := strings.IndexFunc(s, unicode.IsSpace); end >= 0 {
		return s[:end], strings.TrimSpace(s[end:])
	}
	return s, ""
}

func unquote(s string) string {
	if word, rest := firstWord(s); rest == "" {
		return word
	}
	return s
}

// command answers /mcp.
func (s *Servers) command(args string) (string, error) {
	switch words := strings.Fields(args); {
	case len(words) == 0:
		return s.table(), nil
	case words[0] == "reconnect" && len(words) > 1:
		name := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(args), "reconnect"))
		if err := s.o.Set.Reconnect(name); err != nil {
			return "", err
		}
		return fmt.Sprintf("The MCP server %s is being connected anew; /mcp shows how that went.", name), nil
	}
	return "", fmt.Errorf("/mcp %s: write /mcp, or /mcp reconnect NAME", args)
}

// table shows the servers to a person.
func (s *Servers) table() string {
	list := s.o.Set.Status()
	if len(list) == 0 {
		return "There are no MCP servers. Set one up with: heddle mcp add"
	}
	var w strings.Builder
	t := tabwriter.NewWriter(&w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SERVER\tSTATE\tTOOLS\tFROM")
	for _, st := range list {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\n", st.Name, st.State, st.Tools, st.Source)
	}
	_ = t.Flush() // into memory
	for _, st := range list {
		if st.Error != "" {
			fmt.Fprintf(&w, "%s: %s\n", st.Name, oneLine(st.Error))
		}
		for _, warning := range st.Warnings {
			fmt.Fprintf(&w, "%s: %s\n", st.Name, oneLine(warning))
		}
	}
	return strings.TrimRight(w.String(), "\n")
}
