package permission

import (
	"path"
	"slices"
	"strings"
)

// gitCall is a git command taken apart.
type gitCall struct {
	// dirs are where it is told to work: with -C, --git-dir or --work-tree.
	dirs []word
	// plain says that nothing else stands before the subcommand that counts.
	plain bool
	sub   string // empty: not known
	args  []word
}

// parseGit takes the arguments of git apart.
func parseGit(args []word) gitCall {
	g := gitCall{plain: true}
	at := -1 // which of dirs is from -C
	for len(args) > 0 && args[0].literal && args[0].flag() {
		name, value, joined := strings.Cut(args[0].text, "=")
		rest := args[1:]
		switch name {
		case "-C", "--git-dir", "--work-tree", "-c", "--config-env", "--exec-path", "--namespace", "--super-prefix", "--attr-source":
			if name == "-C" && joined || name == "--exec-path" && !joined {
				break
			}
			dir := word{src: value, text: value, literal: true}
			if !joined {
				if len(rest) == 0 {
					return g
				}
				dir, rest = rest[0], rest[1:]
			}
			switch {
			case name == "-C" && at >= 0: // from where the one before leads
				g.dirs[at] = under(g.dirs[at], dir)
			case name == "-C":
				at = len(g.dirs)
				g.dirs = append(g.dirs, dir)
			case name == "--git-dir" || name == "--work-tree":
				if at >= 0 {
					dir = under(g.dirs[at], dir)
				}
				g.dirs = append(g.dirs, dir)
			default:
				g.plain = false
			}
		case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs":
		default:
			g.plain = false
		}
		args = rest
	}
	if len(args) > 0 && args[0].literal {
		g.sub, g.args = args[0].text, args[1:]
	}
	return g
}

// under is what name means in dir.
func under(dir, name word) word {
	if !dir.literal || name.tilde || strings.HasPrefix(name.text, "/") {
		return name
	}
	return word{src: name.src, text: dir.text + "/" + name.text, literal: name.literal, tilde: dir.tilde}
}

// reads reports whether the command only looks, wherever it works.
func (g *gitCall) reads() bool {
	if g.sub == "config" && g.plain && !g.setting().changes {
		return true
	}
	return g.plain && g.sub != "" && gitReads(append([]word{{src: g.sub, text: g.sub, literal: true}}, g.args...))
}

// leadsGit reports whether a variable says where git works.
func leadsGit(name string) bool {
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY":
		return true
	}
	return false
}

// gitWrites are the files that a git command names to change them.
func gitWrites(args []word) writing {
	g := parseGit(args)
	var files []word
	switch g.sub {
	case "mv", "rm", "init":
		files = operands(g.args)
	case "clone":
		if list := operands(g.args); len(list) > 1 {
			files = list[len(list)-1:]
		}
	case "worktree":
		if first(g.args, "add") {
			files = operands(g.args[1:])
		}
	case "config":
		files = g.setting().written()
	default:
		files = valuesOf(g.args, "-o", "--output", "--output-directory")
	}
	for i, f := range files {
		for _, dir := range g.dirs[:min(1, len(g.dirs))] {
			files[i] = under(dir, f)
		}
	}
	return writing{files: files}
}

// gitSetting is what git config is about.
type gitSetting struct {
	name    string // as far as it is known
	file    *word  // where it stands; nil: in the repository
	own     bool   // it counts for this checkout only
	changes bool
}

// setting takes git config apart.
func (g *gitCall) setting() gitSetting {
	var s gitSetting
	var names []word
	for i := 0; i < len(g.args); i++ {
		a := g.args[i]
		name, value, joined := strings.Cut(a.text, "=")
		switch {
		case !a.literal:
			names = append(names, a)
		case name == "-f" || name == "--file" || name == "--type" || name == "--default" || name == "--comment":
			at := word{src: value, text: value, literal: true}
			if !joined && i+1 < len(g.args) {
				i++
				at = g.args[i]
			}
			if name == "-f" || name == "--file" {
				s.file = &at
			}
		case name == "--global":
			s.file = &word{src: "~/.gitconfig", text: "~/.gitconfig", literal: true, tilde: true}
		case name == "--system":
			s.file = &word{src: "/etc/gitconfig", text: "/etc/gitconfig", literal: true}
		case name == "--worktree":
			s.own = true
		case len(names) == 0 && slices.Contains([]string{"get", "list"}, name), strings.HasPrefix(name, "--get"), name == "--list", name == "-l":
			return gitSetting{}
		case len(names) == 0 && slices.Contains([]string{"set", "unset", "edit", "rename-section", "remove-section"}, name),
			slices.Contains([]string{"--add", "--replace-all", "--unset", "--unset-all", "--edit", "-e", "--rename-section", "--remove-section"}, name):
			s.changes = true
		case !a.flag():
			names = append(names, a)
		}
	}
	s.changes = s.changes || len(names) > 1
	if len(names) > 0 && names[0].literal {
		s.name = names[0].text
	}
	return s
}

// written is the file that a setting changes which may name a program.
func (s gitSetting) written() []word {
	switch {
	case !s.changes || runsNothing(s.name):
		return nil
	case s.file != nil:
		return []word{*s.file}
	}
	return []word{{src: ".git/config", text: ".git/config", literal: true}}
}

// runsNothing reports whether a setting of git cannot make it run a program.
func runsNothing(setting string) bool {
	section, _, _ := strings.Cut(strings.ToLower(setting), ".")
	return slices.Contains([]string{"user", "advice", "color", "init", "pull", "push"}, section) && !strings.EqualFold(setting, "init.templateDir")
}

// changesShared says what of that which all checkouts of a repository share a command
// would change, of the clear cases; empty: nothing. Branches of agents are theirs to change.
func (g *gitCall) changesShared() string {
	flagged := func(short string, long ...string) bool {
		return slices.ContainsFunc(g.args, func(a word) bool {
			name, _, _ := strings.Cut(a.text, "=")
			return shortFlag(a, short) || a.literal && slices.Contains(long, name)
		})
	}
	subcommand := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return first(g.args, n) })
	}
	foreign := func(args []word) bool {
		return slices.ContainsFunc(args, func(w word) bool { return !strings.HasPrefix(w.text, "agent-") })
	}
	names := operands(g.args)
	switch g.sub {
	case "worktree":
		if subcommand("remove", "move", "prune", "lock", "unlock", "repair") {
			return "the checkouts of others"
		}
	case "update-ref", "filter-branch", "fast-import":
		return "branches of others"
	case "symbolic-ref":
		if len(names) > 1 || flagged("d", "--delete") {
			return "branches of others"
		}
	case "branch":
		if !flagged("dDmMC", "--delete", "--move") { // -f BRANCH START
			names = names[:min(1, len(names))]
		}
		if flagged("fdDmMC", "--force", "--delete", "--move") && foreign(names) {
			return "branches of others"
		}
	case "checkout", "switch":
		reset := append(valuesOf(g.args, "--force-create"), valuesOf(g.args, map[string]string{"checkout": "-B", "switch": "-C"}[g.sub])...)
		if foreign(reset) || flagged("", "--ignore-other-worktrees") {
			return "branches of others"
		}
	case "tag":
		if flagged("fd", "--force", "--delete") {
			return "tags"
		}
	case "stash":
		if subcommand("drop", "clear") {
			return "what others have stashed"
		}
	case "reflog":
		if subcommand("expire", "delete") {
			return "the reflog"
		}
	case "config":
		if set := g.setting(); set.changes && set.file == nil && !set.own {
			return "the settings of the repository (git -c NAME=VALUE sets one for a command)"
		}
	case "remote":
		if subcommand("add", "remove", "rm", "rename", "set-url", "set-head", "set-branches") {
			return "the settings of the repository"
		}
	case "push":
		if len(names) > 0 && path.Clean(names[0].text) == "." {
			return "branches of others"
		}
	}
	return ""
}
