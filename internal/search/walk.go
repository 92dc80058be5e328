// Package search finds files by name and by content, the way git sees a tree:
// what a .gitignore file excludes and what git keeps for itself is left out.
package search

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// walk calls visit for every file and symlink below root that is not ignored,
// folder by folder in the order of names. Symlinks are not followed. A folder
// that cannot be read is left out. The paths are relative to root.
//
// Only .gitignore files count: those below root, and if root lies in a git
// checkout, those above it up to the top of the checkout. root itself is never
// ignored: whoever names a folder wants to see it.
func walk(ctx context.Context, root string, visit func(rel string, d fs.DirEntry) error) error {
	w := walker{root: root, visit: visit}
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	return w.dir(ctx, "", entries, above(root))
}

type walker struct {
	root  string
	visit func(rel string, d fs.DirEntry) error
}

func (w *walker) dir(ctx context.Context, rel string, entries []fs.DirEntry, outer *ignores) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	dir := filepath.Join(w.root, rel)
	rules := outer
	if has(entries, ".git") { // another checkout: the rules around it end here
		rules = nil
	}
	if has(entries, ".gitignore") {
		rules = rules.enter(dir)
	}
	for _, e := range entries {
		name := e.Name()
		path := filepath.Join(dir, name)
		if name == ".git" || rules.ignored(path, e.IsDir()) {
			continue
		}
		below := filepath.Join(rel, name)
		if !e.IsDir() {
			if err := w.visit(below, e); err != nil {
				return err
			}
			continue
		}
		children, err := os.ReadDir(path)
		if err != nil {
			continue
		}
		if err := w.dir(ctx, below, children, rules); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a name is among entries, which are sorted by name.
func has(entries []fs.DirEntry, name string) bool {
	_, ok := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int {
		return strings.Compare(e.Name(), name)
	})
	return ok
}

// above returns the rules that the folders above root have for it, outermost
// first. Without a checkout around root there are none.
func above(root string) *ignores {
	top, ok := checkout(root)
	if !ok || top == root {
		return nil
	}
	var dirs []string
	for dir := filepath.Dir(root); ; dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
		if dir == top {
			break
		}
	}
	var rules *ignores
	for i := len(dirs) - 1; i >= 0; i-- {
		rules = rules.enter(dirs[i])
	}
	return rules
}

// checkout returns the top of the git checkout that dir lies in.
func checkout(dir string) (top string, ok bool) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}
