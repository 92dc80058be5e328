package worktree

import "path/filepath"

// Guard is what keeps an agent in its tree, for who runs its tools.
type Guard struct {
	Own    string // the tree: all in it is the agent's, but for the file .git at its root
	Parent string // the tree that holds Own: nothing in it but Own is to be written
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
		Own: t.Path, Parent: t.Repo, GitDir: t.repo.common,
		Env: []string{"GIT_CEILING_DIRECTORIES=" + filepath.Dir(t.Path)},
		Unset: []string{
			"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE",
			"GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
		},
	}
}
