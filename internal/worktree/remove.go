package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrInUse is that a heddle that runs, this one or another, has the tree.
var ErrInUse = errors.New("it is in use")

// LossError is why a tree is not removed: work is in it that is nowhere else.
type LossError struct {
	State State
	Path  string
}

func (e *LossError) Error() string {
	return fmt.Sprintf("%q has work that would be lost: %s", e.Path, strings.Join(e.State.Losses(), ", "))
}

// Remove takes the tree away, and its branch unless commits are on it that no other
// branch has, also with force. If work would be lost it does nothing and returns a [*LossError], unless it
// is forced. A tree that a crash left half made or half removed is taken away. One that
// is gone is no error.
func (t *Tree) Remove(ctx context.Context, force bool) error {
	if err := t.remove(ctx, force); err != nil {
		return fmt.Errorf("remove worktree %s: %w", t.Name, err)
	}
	return nil
}

func (t *Tree) remove(ctx context.Context, force bool) (err error) {
	if t.use == nil {
		defer func() {
			if err != nil {
				t.Release() // it was not in use here before
			}
		}()
	}
	if err := t.Claim(ctx); err != nil {
		return err
	}
	rec, err := t.repo.read(t.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return t.forget() // another heddle removed it
	case err != nil && !force:
		return fmt.Errorf("%w; what is in it cannot be told: remove it with force", err)
	case err == nil:
		t.Stage, t.Base = rec.Stage, rec.Base
	}
	if t.Stage == Ready && !force {
		if err := t.lossless(ctx); err != nil {
			return err
		}
	}
	locked, err := t.repo.lock(ctx)
	if err != nil {
		return err
	}
	defer locked.Close()
	if rec != nil { // what follows need not be asked again after a crash
		t.Stage, rec.Stage = Removing, Removing
		if err := t.repo.write(rec); err != nil {
			return err
		}
	}
	return t.discard(ctx)
}

// lossless returns a [*LossError] if work would be lost with the tree.
func (t *Tree) lossless(ctx context.Context) error {
	state, err := t.State(ctx)
	if err != nil {
		return err
	}
	if len(state.Losses()) > 0 {
		return &LossError{state, t.Path}
	}
	return nil
}

// claimTime is for others that only look whether a tree is in use.
const claimTime = 100 * time.Millisecond

// Claim takes a tree into use, as after a restart. The error is [ErrInUse] if another
// heddle has it.
func (t *Tree) Claim(ctx context.Context) error {
	if t.use != nil {
		return nil
	}
	short, cancel := context.WithTimeoutCause(ctx, claimTime, ErrInUse)
	defer cancel()
	var err error
	if t.use, err = lock(short, t.repo.useFile(t.Name)); err != nil {
		return err
	}
	t.InUse = true
	return nil
}

// discard takes away all that there is of a tree, its record last. Whoever calls has the
// lock of the repository and the tree.
func (t *Tree) discard(ctx context.Context) error {
	if err := t.safe(); err != nil {
		return err
	}
	if err := removeAll(t.Path); err != nil {
		return err
	}
	if t.admin == "" {
		t.admin = t.repo.admins()[t.Path]
	}
	if t.admin != "" {
		if err := removeAll(t.admin); err != nil {
			return err
		}
	}
	if err := t.dropBranch(ctx); err != nil {
		return err
	}
	return t.forget()
}

// safe checks that what a record names is a tree that heddle made, before it is deleted.
func (t *Tree) safe() error {
	if err := plainFolders(t.Repo); err != nil {
		return err
	}
	ours := t.Repo == t.repo.home() || t.repo.admins()[t.Path] != ""
	if !ours || t.Path != filepath.Join(treesOf(t.Repo), t.Name) || within(t.repo.common, t.Path) || within(t.Path, t.repo.common) {
		return fmt.Errorf("%q is not a worktree of heddle: remove it by hand", t.Path)
	}
	return nil
}

// within reports whether a path is a folder or in it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+string(filepath.Separator))
}

// removeAll is [os.RemoveAll] that also enters folders that may not be written, as the
// caches of some tools have them.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if err == nil || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && err == nil {
			_ = os.Chmod(p, 0o700) // the walk reads it after this
		}
		return nil
	})
	return os.RemoveAll(path)
}

// dropBranch deletes the branch if what is on it is the base or on other branches too.
func (t *Tree) dropBranch(ctx context.Context) error {
	if !isObject(t.Base) {
		return nil // what is on it cannot be told
	}
	g := git{dir: t.repo.common, env: []string{"GIT_DIR=" + t.repo.common}}
	ref := "refs/heads/" + t.Branch
	out, err := g.line(ctx, "for-each-ref", "--format=%(objectname) %(worktreepath)", ref)
	if err != nil {
		return err
	}
	tip, elsewhere, _ := strings.Cut(out, " ")
	if tip == "" || elsewhere != "" {
		return nil
	}
	if tip != t.Base {
		own, err := ownCommits(ctx, g, t, tip)
		if err != nil || own > 0 {
			return err
		}
	}
	_, err = g.run(ctx, "", "update-ref", "-d", ref, tip) // the tip: not what was committed meanwhile
	return err
}

// forget deletes the record, and the lock of the tree.
func (t *Tree) forget() error {
	err := os.Remove(t.repo.recordFile(t.Name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = os.Remove(t.repo.useFile(t.Name))
	t.Release()
	t.InUse = false
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
