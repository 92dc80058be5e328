package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// snapshot is the state of the files of a tree at one moment, as git would store it if
// all of them, but for ignored ones, were committed now.
type snapshot struct {
	tree  string
	index string // an index file of that state
	dir   string
}

// take makes a snapshot of the tree at top, without a change to it or to its index.
func take(ctx context.Context, gitDir, top string) (*snapshot, error) {
	dir, err := os.MkdirTemp("", "heddle-worktree-")
	if err != nil {
		return nil, fmt.Errorf("record the state of %q: %w", top, err)
	}
	s := &snapshot{dir: dir, index: filepath.Join(dir, "index")}
	if err := s.fill(ctx, gitDir, top); err != nil {
		s.close()
		return nil, fmt.Errorf("record the state of %q: %w", top, err)
	}
	return s, nil
}

func (s *snapshot) fill(ctx context.Context, gitDir, top string) error {
	// What git knows of the files already spares it to read them again.
	if err := copyIndex(filepath.Join(gitDir, "index"), s.index); err != nil {
		return err
	}
	g := at(gitDir, top).with("GIT_INDEX_FILE=" + s.index)
	if _, err := g.run(ctx, "", "add", "--all", "--", "."); err != nil {
		return err
	}
	var err error
	s.tree, err = g.line(ctx, "write-tree")
	return err
}

func (s *snapshot) close() { os.RemoveAll(s.dir) } // what stays is the system's to clean

// copyIndex keeps the time of the file: git compares it with those of the files to see
// which might have changed within one tick of the clock.
func copyIndex(from, to string) error {
	text, err := os.ReadFile(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, text, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// commit stores a tree as a commit that no branch has.
func commit(ctx context.Context, g git, tree, parent, why string) (string, error) {
	g = g.with("GIT_AUTHOR_NAME=heddle", "GIT_AUTHOR_EMAIL=heddle@localhost", "GIT_COMMITTER_NAME=heddle", "GIT_COMMITTER_EMAIL=heddle@localhost")
	return g.line(ctx, "commit-tree", tree, "-p", parent, "-m", why)
}
