package permission

import "strings"

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
