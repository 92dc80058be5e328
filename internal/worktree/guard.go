package worktree

import "path/filepath"

// Guard is what keeps an agent in its tree, for who runs its tools.
type Guard struct {
	Own    string // the tree: all in it is the agent's, but for the file .git at its root
	Parent string // the tree that holds Own: nothing in it but Own is to be written
	From   string // the tree that Own was made from: Parent, or another one of the repository
	// GitDir is shared by both: git writes there, and nobody else.
	GitDir string
	// Env are variables for the commands of the agent: git finds no repository above Own,
	// also when the file .git is deleted.
	Env []string
	// Unset are variables that would lead git out of Own.
	Unset []string
}

// Guard returns the facts about t.
func (t *Tree) Guard() Guard {
	return Guard{
		Own: t.Path, Parent: t.Repo, From: t.repo.top, GitDir: t.repo.common,
		Env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(t.Path)},
		Unset: []string{
			"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
			"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		},
	}
}

// OffLimits are the folders in which the agent is to change nothing, but for what lies in
// Own, and the file .git in it, which would lead git elsewhere.
func (g Guard) OffLimits() []string {
	return []string{g.Parent, g.From, g.GitDir, filepath.Join(g.Own, ".git")}
}
