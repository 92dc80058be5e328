package permission

import (
	"path/filepath"
	"slices"
	"strings"
)

// isProtectedDir reports whether what is inside directories of that name decides
// how tools behave.
func isProtectedDir(name string) bool {
	switch name {
	case ".git", ".vscode", ".idea", ".husky", ".cargo", ".devcontainer", ".yarn", ".mvn", ".claude", ".heddle":
		return true
	}
	return false
}

// isProtectedFile reports whether files of that name run commands or change what
// commands do.
func isProtectedFile(name string) bool {
	switch name {
	case ".gitconfig", ".gitmodules",
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".inputrc",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".login",
		".envrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmrc", ".pnpmfile.cjs", "bunfig.toml",
		".bazelrc", ".pre-commit-config.yaml", ".pre-commit-config.yml",
		"lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json",
		".lefthook.yml", ".lefthook.yaml", ".lefthook.toml", ".lefthook.json",
		"lefthook-local.yml", "lefthook-local.yaml",
		"gradle-wrapper.properties", "maven-wrapper.properties",
		".ripgreprc", "pyrightconfig.json", ".mcp.json", ".claude.json", ".heddle.json":
		return true
	}
	return false
}

// protectedPath names what is protected about path, if anything is. Case does
// not count: some file systems take .GIT for .git.
func protectedPath(path string) string {
	names := strings.Split(strings.ToLower(path), "/")
	for i, name := range names {
		next := ""
		if i+1 < len(names) {
			next = names[i+1]
		}
		switch {
		case (name == ".claude" || name == ".heddle") && next == "worktrees":
		case isProtectedDir(name):
			return name
		case name == ".config" && (next == "git" || next == "fish"):
			return name + "/" + next
		}
	}
	if last := names[len(names)-1]; isProtectedFile(last) {
		return last
	}
	return ""
}

// protected names the part of the path that only a person may let change, if
// there is one: what decides how tools run is not a file like others.
func (j *judge) protected(l location) string {
	for _, path := range []string{l.named, l.real} {
		if why := protectedPath(j.ownPart(path)); why != "" {
			return why
		}
	}
	return ""
}

// ownPart is the path below the working directory it lies in: a project that
// itself lies in a protected directory can be worked on.
func (j *judge) ownPart(path string) string {
	best := path
	for _, d := range append(slices.Clone(j.others()), j.root) {
		if rest, ok := below(filepath.Clean(d), path); ok && len(rest) < len(best) {
			best = rest
		}
	}
	return best
}

// protect is the finding for a change of a file that is protected: a person must be asked,
// unless a rule names exactly the file, or allowed exactly the command.
func (j *judge) protect(l location, allowed *Rule) (finding, bool) {
	why := j.protected(l)
	if why == "" || allowed != nil && allowed.kind == commandRule || slices.ContainsFunc(j.allow, func(r *compiled) bool { return r.tool == "Edit" && r.exactly(l) }) {
		return finding{}, false
	}
	return finding{behavior: Ask, firm: true, path: l.named, reason: "it changes " + l.named + ", and " + why + " is protected"}, true
}

// exactly reports whether the rule names this file and no other, and the file is no link.
func (c *compiled) exactly(l location) bool {
	if c.kind != pathRule || l.named != l.real || slices.ContainsFunc(c.glob.segments, func(s string) bool { return strings.ContainsAny(s, `*?[\`) }) {
		return false
	}
	name := filepath.Join(c.glob.segments...)
	return slices.ContainsFunc(c.dirs, func(dir string) bool { return filepath.Join(dir, name) == l.named })
}

// protectWritten asks about a command that is seen to change a protected file, although a
// rule or an advice lets such commands run.
func (r *run) protectWritten(p *part, views []forms) {
	if r.namedExactly(p, views) {
		return
	}
	for _, view := range append(slices.Clone(p.chain.hidden), p.chain.core()) {
		r.protectAll(r.writtenBy(writes(view)))
	}
}

func (r *run) protectAll(names []string) {
	if r.mode == Bypass || r.mode == Plan {
		return // what these say stands already
	}
	for _, name := range names {
		for _, l := range r.locations(name) {
			if f, ok := r.protect(l, r.whole); ok {
				r.add(f)
				return
			}
		}
	}
}

// namedExactly reports whether a rule without a star allows the command, or all of the text.
func (r *run) namedExactly(p *part, views []forms) bool {
	if r.whole != nil {
		return true
	}
	own := views[:len(p.chain.views)]
	if p.chain.exec {
		own = own[:1]
	}
	return unsafeAssign(p) == "" && !p.chain.extra && slices.ContainsFunc(own, func(f forms) bool { return r.exactRule(f) != nil })
}
