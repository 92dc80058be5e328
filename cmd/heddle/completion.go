package main

import (
	"context"
	"flag"
	"fmt"
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
		fmt.Fprintf(std.out, bashCompletion, words)
	case "zsh":
		fmt.Fprintf(std.out, zshCompletion, words)
	case "fish":
		for _, n := range names {
			fmt.Fprintf(std.out, "complete -c heddle -n __fish_use_subcommand -f -a %s\n", n)
		}
		for _, f := range flags {
			fmt.Fprintf(std.out, "complete -c heddle -l %s\n", strings.TrimPrefix(f, "--"))
		}
	default:
		return usagef("completion: there is no script for %q; there are bash, zsh and fish", rest[0])
	}
	return nil
}

const bashCompletion = `# heddle completion for bash: put this in ~/.bashrc
#   source <(heddle completion bash)
_heddle() {
	local word=${COMP_WORDS[COMP_CWORD]}
	if [[ $COMP_CWORD -eq 1 || $word == -* ]]; then
		COMPREPLY=($(compgen -W %q -- "$word"))
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
