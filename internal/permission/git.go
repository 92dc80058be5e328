package permission

import (
	"slices"
	"strings"
)

// gitReads reports whether a git command only looks. Options before the
// subcommand can name a program or another repository, so few are let through. Those
// after it are held against the limits wherever they stand: behind an option that
// takes a value, -- is that value and ends nothing.
func gitReads(args []word) bool {
	for len(args) > 0 && args[0].literal && slices.Contains([]string{"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"}, args[0].text) {
		args = args[1:]
	}
	if len(args) == 0 || !args[0].literal {
		return false
	}
	sub, args := args[0].text, args[1:]
	if sub == "--version" || sub == "version" {
		return len(args) == 0
	}
	if !gitLimits(sub).allow(args, false) {
		return false
	}
	switch sub {
	case "status", "log", "diff", "show", "shortlog", "rev-parse", "ls-files", "ls-tree", "blame", "annotate", "describe", "rev-list",
		"merge-base", "name-rev", "for-each-ref", "show-ref", "grep", "count-objects", "cherry", "whatchanged", "range-diff",
		"diff-tree", "diff-index", "diff-files", "check-ignore", "check-attr", "cat-file", "show-branch", "verify-commit", "var":
		return true
	case "branch":
		return gitLists(args, gitBranchFlags, gitBranchFilters)
	case "tag":
		return gitLists(args, gitTagFlags, gitTagFilters)
	case "remote":
		return only(args, "-v", "--verbose") || first(args, "get-url") && len(args) == 2 && !args[1].flag()
	case "stash":
		return first(args, "list") || first(args, "show")
	case "worktree":
		return first(args, "list")
	case "reflog":
		return len(args) == 0 || first(args, "show") || args[0].literal && args[0].flag() || first(args, "HEAD")
	case "config":
		return gitConfigReads(args)
	}
	return false
}

// gitLimits are the options of a subcommand that run or write something.
func gitLimits(sub string) limits {
	l := limits{long: []string{"output", "ext-diff", "open-files-in-pager", "exec", "exec-path", "upload-pack", "textconv", "filters", "paginate"}}
	if sub == "grep" {
		l.short = "O"
	}
	return l
}

const (
	gitBranchFlags   = " -a --all -r --remotes -v -vv --verbose --show-current --column --no-column --color --no-color -i --ignore-case --no-abbrev --omit-empty "
	gitBranchFilters = " -l --list --contains --no-contains --merged --no-merged --points-at "
	gitTagFlags      = " --column --no-column --color --no-color -i --ignore-case --omit-empty "
	gitTagFilters    = " -l --list -n --contains --no-contains --merged --no-merged --points-at "
)

// gitLists reports whether git branch or git tag only lists: every option is
// known, and a name is a filter, not a branch to be made.
func gitLists(args []word, flags, filters string) bool {
	filtered, named := false, false
	for _, a := range args {
		if !a.literal {
			return false
		}
		if !a.flag() {
			named = true
			continue
		}
		name, _, joined := strings.Cut(a.text, "=")
		switch {
		case strings.Contains(filters, " "+name+" "):
			filtered = true
		case joined && (name == "--sort" || name == "--format" || name == "--abbrev" || name == "--color" || name == "--column"):
		case strings.Contains(flags, " "+a.text+" "):
		default:
			return false
		}
	}
	return filtered || !named
}

func first(args []word, text string) bool {
	return len(args) > 0 && args[0].literal && args[0].text == text
}

// only reports whether the arguments are all among texts.
func only(args []word, texts ...string) bool {
	for _, a := range args {
		if !a.literal || !slices.Contains(texts, a.text) {
			return false
		}
	}
	return true
}

// gitConfigReads reports whether git config only shows.
func gitConfigReads(args []word) bool {
	shows := false
	for i, a := range args {
		if !a.literal {
			return false
		}
		switch a.text {
		case "--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch":
			shows = true
		case "get", "list":
			shows = shows || i == 0
		case "--global", "--local", "--system", "--worktree", "--show-origin", "--show-scope", "--name-only", "--null", "-z", "--all", "--includes":
		default:
			if a.flag() {
				return false
			}
		}
	}
	return shows
}
