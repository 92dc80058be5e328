package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
)

// runCompletion prints a script by which a shell completes commands and flags.
func runCompletion(ctx context.Context, args []string, std stdio) error {
	rest, done, err := parse(newFlags("completion"), args, std, "completion bash|zsh|fish")
	if err != nil || done {
		return err
	}
	if len(rest) != 1 {
		return usagef("completion: name one shell: bash, zsh or fish")
	}
	var names, flags []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	var o options
	o.flags().VisitAll(func(f *flag.Flag) {
		if f.Usage != "" && len(f.Name) > 1 {
			flags = append(flags, "--"+f.Name)
		}
	})
	words := strings.Join(append(names, flags...), " ")
	switch rest[0] {
	case "bash":
		var cases strings.Builder
		for _, c := range withVerbs() {
			fmt.Fprintf(&cases, "\t%s) [[ $COMP_CWORD -eq 2 ]] && words=%q ;;\n", c.name, strings.Join(c.verbs, " "))
		}
		fmt.Fprintf(std.out, bashCompletion, words, cases.String())
	case "zsh":
		fmt.Fprintf(std.out, zshCompletion, words)
	case "fish":
		for _, n := range names {
			fmt.Fprintf(std.out, "complete -c heddle -n __fish_use_subcommand -f -a %s\n", n)
		}
		for _, c := range withVerbs() {
			fmt.Fprintf(std.out, "complete -c heddle -n '__fish_seen_subcommand_from %s' -f -a %q\n", c.name, strings.Join(c.verbs, " "))
		}
		for _, f := range flags {
			fmt.Fprintf(std.out, "complete -c heddle -l %s\n", strings.TrimPrefix(f, "--"))
		}
	default:
		return usagef("completion: there is no script for %q; there are bash, zsh and fish", rest[0])
	}
	return nil
}

// verbs are what may follow a command.
type verbs struct {
	name  string
	verbs []string
}

// withVerbs lists the commands that are followed by another word of ours.
func withVerbs() []verbs {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	list := []verbs{{"help", names}, {"completion", []string{"bash", "zsh", "fish"}}, {"tasks", []string{"list", "show", "logs", "wait", "stop"}}}
	for name, all := range map[string][]command{"agents": agentCommands(), "mcp": serverCommands(), "worktree": treeCommands()} {
		v := verbs{name: name}
		for _, c := range all {
			v.verbs = append(v.verbs, c.name)
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b verbs) int { return strings.Compare(a.name, b.name) })
	return list
}

const bashCompletion = `# heddle completion for bash: put this in ~/.bashrc
#   source <(heddle completion bash)
_heddle() {
	local word=${COMP_WORDS[COMP_CWORD]} words=""
	if [[ $COMP_CWORD -eq 1 || $word == -* ]]; then
		words=%q
	fi
	case ${COMP_WORDS[1]} in
%s	esac
	if [[ -n $words ]]; then
		COMPREPLY=($(compgen -W "$words" -- "$word"))
	fi
}
complete -o default -F _heddle heddle
`

const zshCompletion = `#compdef heddle
# heddle completion for zsh: put this in ~/.zshrc
#   source <(heddle completion zsh)
_heddle() {
	local -a words_=(${(s: :)%q})
	if (( CURRENT == 2 )) || [[ $PREFIX == -* ]]; then
		compadd -- $words_
	else
		_files
	fi
}
compdef _heddle heddle
`
