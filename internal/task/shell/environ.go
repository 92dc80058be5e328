package shell

import (
	"slices"
	"strings"
)

// quiet is what keeps programs from asking, paging and colouring: nobody sits in
// front of a command.
var quiet = []string{
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ASKPASS=",
	"SSH_ASKPASS=",
	"GIT_EDITOR=true",
	"PAGER=cat",
	"GIT_PAGER=cat",
	"MANPAGER=cat",
	"TERM=dumb",
}

// Environment returns the environment of a command: base without the variables that
// are hidden, such as keys of providers, then what keeps programs quiet, then
// more. A later setting of a variable replaces an earlier one.
func Environment(base, hidden, more []string) []string {
	env := slices.Concat(base, quiet, more)
	if !slices.ContainsFunc(base, func(kv string) bool { return strings.HasPrefix(kv, "GIT_SSH_COMMAND=") }) {
		env = append(env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	}
	last := map[string]int{}
	for i, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		last[name] = i
	}
	var out []string
	for i, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if last[name] == i && !slices.Contains(hidden, name) {
			out = append(out, kv)
		}
	}
	return out
}
