// Package worktree gives agents checkouts of their own, and brings what they did there
// into the tree of who sent them.
//
//	Create ──▶ Tree: the agent works ──▶ Diff, Apply: what it did
//	             └── State: what could be lost ──▶ Remove
//
// What there is of trees is noted in the git folder, so that a crash at any moment leaves
// nothing that [List] does not show and [Tree.Remove] does not end.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Base is what a tree begins with.
type Base int

// The bases.
const (
	Head    Base = iota // the commit that is checked out
	Working             // the files as they are, with changes and new files that git does not ignore
)

// Options say which tree to make.
type Options struct {
	Dir     string // a folder of the tree that it is made from
	Name    string // of the tree and of its branch: agent-<id>
	Base    Base
	Include bool              // copy the ignored files that .worktreeinclude lists
	Log     func(text string) // is told of what takes long; nil: nobody
}

// Tree is a checkout for an agent.
type Tree struct {
	Name   string
	Path   string
	Branch string
	Base   string // the commit that it began with
	Repo   string // the tree of the repository that holds it
	Stage  Stage
	InUse  bool     // of those from List: a heddle that runs has it
	Notes  []string // of a new one: what is to be known of it, such as submodules that are empty
	Copied []string // the ignored files that it got, relative to Path

	repo  *repository
	admin string   // its own git folder; empty if there is none
	use   *os.File // locked as long as this heddle has the tree
}

// ErrTaken is that a tree or a branch with that name exists.
var ErrTaken = errors.New("there is one with this name")

// Create makes a checkout of the repository that o.Dir is in, in
// .heddle/worktrees/<name> of its main tree, on a new branch of that name. Hooks of git do
// not run. If it fails, nothing of the tree is left. The tree is in use until Remove,
// Release or the end of this program.
func Create(ctx context.Context, o Options) (*Tree, error) {
	t, err := create(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("make worktree %s: %w", o.Name, err)
	}
	return t, nil
}

func create(ctx context.Context, o Options) (*Tree, error) {
	if err := checkName(o.Name); err != nil {
		return nil, err
	}
	r, err := find(ctx, o.Dir, o.Name)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	t, err := r.register(ctx, o)
	if err != nil {
		return nil, err
	}
	var left string
	var looking sync.WaitGroup
	if o.Base == Head {
		looking.Go(func() { left = r.leftOut(ctx) })
	}
	err = t.populate(ctx, o)
	looking.Wait()
	if err != nil {
		return nil, errors.Join(err, t.undo(ctx))
	}
	if left != "" {
		t.Notes = append(t.Notes, left)
	}
	return t, nil
}

// leftOut is a note on what a tree that begins with the commit does not have.
func (r *repository) leftOut(ctx context.Context) string {
	out, err := at(r.gitDir, r.top).with("GIT_OPTIONAL_LOCKS=0").run(ctx, "", "status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")
	if err != nil {
		return "" // what is wrong there is no matter of the new tree
	}
	switch n := len(fields(out)); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("1 uncommitted change in %q is not in this worktree.", r.top)
	default:
		return fmt.Sprintf("%d uncommitted changes in %q are not in this worktree.", n, r.top)
	}
}

// register makes the record of a tree, its branch and the folder that git has for it.
// Only this needs the lock of the repository: files are checked out side by side.
func (r *repository) register(ctx context.Context, o Options) (*Tree, error) {
	base, err := r.base(ctx, o)
	if err != nil {
		return nil, err
	}
	locked, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer locked.Close()
	home := r.home()
	t := &Tree{Name: o.Name, Path: filepath.Join(treesOf(home), o.Name), Branch: o.Name, Base: base, Repo: home, Stage: Making, repo: r}
	if err := r.free(t); err != nil {
		return nil, err
	}
	if t.use, err = tryLock(r.useFile(t.Name)); err != nil {
		return nil, err
	}
	if err := t.add(ctx, locked); err != nil {
		return nil, errors.Join(err, t.discard(context.WithoutCancel(ctx)))
	}
	return t, nil
}

// base is the commit that a tree begins with.
func (r *repository) base(ctx context.Context, o Options) (string, error) {
	if err := r.exclude(ctx); err != nil {
		return "", err
	}
	if o.Base == Head {
		return r.head, nil
	}
	o.Log("Recording the uncommitted state of " + r.top)
	s, err := take(ctx, r.gitDir, r.top)
	if err != nil {
		return "", err
	}
	defer s.close()
	if s.tree == r.tree {
		return r.head, nil
	}
	return commit(ctx, at(r.gitDir, r.top), s.tree, r.head, "State of the working tree")
}

// free reports what is in the way of a new tree.
func (r *repository) free(t *Tree) error {
	if err := plainFolders(t.Repo); err != nil {
		return err
	}
	if _, err := os.Lstat(r.recordFile(t.Name)); err == nil {
		return fmt.Errorf("%w: use another, or remove that worktree", ErrTaken)
	}
	if _, err := os.Lstat(t.Path); err == nil {
		return fmt.Errorf("%w: %q, which is not a worktree of heddle: move it away", ErrTaken, t.Path)
	}
	if r.taken {
		return fmt.Errorf("%w: the branch %s; use another, or delete it (git branch -D %s)", ErrTaken, t.Branch, t.Branch)
	}
	return nil
}

// add has git make the tree, still without files. Git keeps the lock of the repository
// while it runs, also when heddle is killed.
func (t *Tree) add(ctx context.Context, locked *os.File) error {
	if err := t.repo.write(t.record()); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.Path), 0o755); err != nil {
		return err
	}
	g := at(t.repo.gitDir, t.repo.top)
	g.held = locked
	_, err := g.run(ctx, "", "worktree", "add", "--quiet", "--no-checkout", "--no-track", "--lock", "--reason", "an agent of heddle works here",
		"-b", t.Branch, "--", t.Path, t.Base)
	if err != nil {
		return err
	}
	if t.admin = t.repo.admins()[t.Path]; t.admin == "" {
		return fmt.Errorf("git made no folder for %q", t.Path)
	}
	return nil
}

func (t *Tree) record(files ...copied) *record {
	return &record{Name: t.Name, Stage: t.Stage, Base: t.Base, Repo: []byte(t.Repo), Copied: files}
}

// populate writes the files of a new tree.
func (t *Tree) populate(ctx context.Context, o Options) error {
	o.Log("Checking out " + t.Name)
	g := t.git()
	g.held = t.use
	if _, err := g.run(ctx, "", "reset", "--hard", "--no-recurse-submodules", "--quiet"); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(t.Path, ".gitmodules")); err == nil {
		t.Notes = append(t.Notes, "Submodules are empty folders here: fill those that are needed with git submodule update --init.")
	}
	var files []copied
	if o.Include {
		var err error
		if files, err = t.include(ctx); err != nil {
			return err
		}
	}
	t.Stage = Ready
	return t.repo.write(t.record(files...))
}

// git runs in the tree, whatever was written into it.
func (t *Tree) git() git { return at(t.admin, t.Path) }

// undoTime is for taking away what there is of a tree that could not be made, also when
// the time for making it is over.
const undoTime = 30 * time.Second

func (t *Tree) undo(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTime)
	defer cancel()
	locked, err := t.repo.lock(ctx)
	if err != nil {
		return err
	}
	defer locked.Close()
	return t.discard(ctx)
}

// Release gives the tree out of use: another heddle may take or remove it.
func (t *Tree) Release() {
	if t.use != nil {
		t.use.Close()
		t.use, t.InUse = nil, false
	}
}
