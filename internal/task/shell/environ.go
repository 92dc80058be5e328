package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// quiet is what keeps programs from asking, paging and colouring: nobody sits in
// front of a command. Programs find no terminal either, since a command has a
// session of its own.
var quiet = []string{
	"TERM=dumb",
	"PAGER=cat",
	"MANPAGER=cat",
	"GIT_PAGER=cat",
	"GIT_EDITOR=true",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_ASKPASS=", // set and empty: nobody is asked, whatever core.askPass says
	"GCM_INTERACTIVE=never",
	"SSH_ASKPASS=",
	"SSH_ASKPASS_REQUIRE=never",
}

// Environment returns the environment of a command: base without the variables that
// are hidden, such as keys of providers, then what keeps programs quiet, then
// more. A later setting of a variable replaces an earlier one.
func Environment(base, hidden, more []string) []string {
	env := slices.Concat(base, quiet, noHiddenRepositories(base), more)
	last := make(map[string]int, len(env))
	for i, kv := range env {
		last[name(kv)] = i
	}
	for _, h := range hidden {
		delete(last, h)
	}
	out := make([]string, 0, len(last))
	for i, kv := range env {
		if at, ok := last[name(kv)]; ok && at == i {
			out = append(out, kv)
		}
	}
	return out
}

// noHiddenRepositories keeps git from taking an ordinary folder of a project for a
// bare repository: its configuration could name programs to run. The setting comes
// after those that base gives git in the same way.
func noHiddenRepositories(base []string) []string {
	n, err := strconv.Atoi(value(base, "GIT_CONFIG_COUNT"))
	if err != nil || n < 0 {
		n = 0
	}
	return []string{
		fmt.Sprintf("GIT_CONFIG_COUNT=%d", n+1),
		fmt.Sprintf("GIT_CONFIG_KEY_%d=safe.bareRepository", n),
		fmt.Sprintf("GIT_CONFIG_VALUE_%d=explicit", n),
	}
}

func name(kv string) string {
	n, _, _ := strings.Cut(kv, "=")
	return n
}

// value returns the value of a variable in env: the last, if there are several.
func value(env []string, variable string) string {
	for _, kv := range slices.Backward(env) {
		if n, v, _ := strings.Cut(kv, "="); n == variable {
			return v
		}
	}
	return ""
}
