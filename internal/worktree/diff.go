package worktree

import (
	"context"
	"fmt"
)

// Diff returns all that was done in the tree since its base as a patch, committed or not,
// with new files that git does not ignore, and with content that is not text.
func (t *Tree) Diff(ctx context.Context) (string, error) {
	patch, err := t.diff(ctx)
	if err != nil {
		return "", fmt.Errorf("compare worktree %s with its base: %w", t.Name, err)
	}
	return patch, nil
}

func (t *Tree) diff(ctx context.Context) (string, error) {
	if t.admin == "" {
		return "", fmt.Errorf("git does not know %q any more", t.Path)
	}
	s, err := take(ctx, t.admin, t.Path)
	if err != nil {
		return "", err
	}
	defer s.close()
	return t.git().run(ctx, "", "diff-tree", "-r", "-p", "--binary", "--full-index", "--find-renames", "--no-ext-diff", "--no-textconv", t.Base, s.tree)
}
