package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Problem is something wrong with one tree, or with the record of it.
type Problem struct {
	Path string
	Text string // what is wrong, and what to do
}

func (p Problem) String() string { return fmt.Sprintf("%q: %s", p.Path, p.Text) }

// List returns the trees that heddle made of the repository that dir is in, also those
// that a crash left half made or half removed. Others have no place in it.
func List(ctx context.Context, dir string) ([]Tree, []Problem, error) {
	r, err := find(ctx, dir, "")
	if err != nil {
		return nil, nil, fmt.Errorf("list worktrees: %w", err)
	}
	names, err := r.names()
	if err != nil {
		return nil, nil, fmt.Errorf("list worktrees: %w", err)
	}
	var trees []Tree
	var problems []Problem
	admins := r.admins()
	for _, name := range names {
		t, problem := r.load(name, admins)
		if problem != nil {
			problems = append(problems, *problem)
		}
		if t != nil {
			trees = append(trees, *t)
		}
	}
	return trees, problems, nil
}

// load returns a tree by its record. If that is broken, the tree is where it would be, so
// that it can be removed with force.
func (r *repository) load(name string, admins map[string]string) (*Tree, *Problem) {
	file := r.recordFile(name)
	if checkName(name) != nil {
		return nil, &Problem{file, "no worktree can have this name: delete the file"}
	}
	rec, err := r.read(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // it was removed just now
	}
	var problem *Problem
	if err != nil {
		problem = &Problem{file, err.Error() + ": look at the worktree and remove it with force"}
		rec = &record{Name: name, Repo: []byte(r.home()), Stage: Ready}
	}
	t := &Tree{Name: name, Path: rec.path(), Branch: name, Base: rec.Base, Repo: string(rec.Repo), Stage: rec.Stage, repo: r}
	for _, c := range rec.Copied {
		t.Copied = append(t.Copied, string(c.Path))
	}
	t.admin = admins[t.Path]
	t.InUse = r.inUse(name)
	if problem == nil {
		problem = t.problem()
	}
	return t, problem
}

func (r *repository) inUse(name string) bool {
	if _, err := os.Lstat(r.useFile(name)); err != nil {
		return false // not made by asking
	}
	f, err := tryLock(r.useFile(name))
	if err != nil {
		return errors.Is(err, errHeld)
	}
	f.Close()
	return false
}

// problem is what is wrong with a tree that nobody is making or removing.
func (t *Tree) problem() *Problem {
	_, err := os.Lstat(filepath.Join(t.Path, ".git"))
	switch {
	case t.InUse:
		return nil
	case t.Stage == Making:
		return &Problem{t.Path, "heddle ended while it made this worktree: remove it"}
	case t.Stage == Removing:
		return &Problem{t.Path, "heddle ended while it removed this worktree: remove it again"}
	case err != nil:
		return &Problem{t.Path, "the folder was deleted: remove the worktree to forget it"}
	case t.admin == "":
		return &Problem{t.Path, "git does not know this worktree any more: save what is needed and remove it with force"}
	}
	return nil
}
