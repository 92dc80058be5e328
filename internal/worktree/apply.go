package worktree

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// ApplyOptions say where to bring what an agent did.
type ApplyOptions struct {
	Dir string // a folder of the tree
	// Force writes also what has conflicts, with marks in the files. Without it, one
	// conflict keeps all of it from being written.
	Force bool
}

// Applied is what became of it.
type Applied struct {
	Files     []string // that were written or deleted, relative to the root of the tree
	Conflicts []Conflict
}

var (
	// ErrConflict is that nothing was written as there are conflicts.
	ErrConflict = errors.New("there are conflicts, nothing was changed")
	// ErrBusy is that files went on changing while they were to be written.
	ErrBusy = errors.New("files change all the time: try again when nothing else writes to them")
)

// Apply brings all that was done in t, committed or not, into the working tree that o.Dir
// is in. Changes that were made there meanwhile stay, and so does the index. What an
// earlier Apply brought is not brought again. If an Apply was killed, the next one
// finishes it.
func (t *Tree) Apply(ctx context.Context, o ApplyOptions) (Applied, error) {
	done, err := t.apply(ctx, o)
	if err != nil {
		return done, fmt.Errorf("apply worktree %s: %w", t.Name, err)
	}
	return done, nil
}

// attempts is how often a merge is begun anew as files have changed meanwhile.
const attempts = 3

func (t *Tree) apply(ctx context.Context, o ApplyOptions) (Applied, error) {
	a, err := t.application(ctx, o)
	if err != nil {
		return Applied{}, err
	}
	locked, err := lock(ctx, t.repo.private("apply"))
	if err != nil {
		return Applied{}, err
	}
	defer locked.Close()
	var done Applied
	for range attempts {
		var err error
		if err = a.resume(ctx, &done); err == nil {
			err = a.merge(ctx, &done)
		}
		slices.Sort(done.Files)
		done.Files = slices.Compact(done.Files)
		if !errors.Is(err, errMoved) {
			return done, err
		}
	}
	return done, ErrBusy
}

// application brings one tree into another.
type application struct {
	from  *Tree
	to    *repository
	force bool
	key   string // tells the trees apart that from is brought into
}

func (t *Tree) application(ctx context.Context, o ApplyOptions) (*application, error) {
	if t.admin == "" {
		return nil, fmt.Errorf("git does not know %q any more", t.Path)
	}
	to, err := find(ctx, o.Dir, "")
	if err != nil {
		return nil, err
	}
	switch {
	case to.common != t.repo.common:
		return nil, fmt.Errorf("%q is in another repository", o.Dir)
	case to.top == t.Path:
		return nil, fmt.Errorf("%q is in this worktree itself", o.Dir)
	}
	sum := sha256.Sum256([]byte(to.top))
	return &application{from: t, to: to, force: o.Force, key: hex.EncodeToString(sum[:6])}, nil
}

// merge brings over what is new since the last time.
func (a *application) merge(ctx context.Context, done *Applied) error {
	ours, err := take(ctx, a.to.gitDir, a.to.top)
	if err != nil {
		return err
	}
	defer ours.close()
	j, m, err := a.plan(ctx, ours)
	if err != nil {
		return err
	}
	changes, err := compare(ctx, a.git(), j.Ours, j.Merged)
	if err != nil {
		return err
	}
	w, err := a.writer(ours)
	if err != nil {
		return err
	}
	defer w.close()
	changes, obstacles := w.possible(changes)
	done.Conflicts = slices.Concat(m.conflicts, obstacles)
	if len(done.Conflicts) > 0 && !a.force {
		return ErrConflict
	}
	if err := writeJSON(a.journalFile(), j); err != nil {
		return err
	}
	return a.finish(ctx, w, j, changes, done)
}

// plan merges in memory. Nothing but objects of git that nobody names come from it.
func (a *application) plan(ctx context.Context, ours *snapshot) (journal, merged, error) {
	theirs, err := take(ctx, a.from.admin, a.from.Path)
	if err != nil {
		return journal{}, merged{}, err
	}
	defer theirs.close()
	g := a.git()
	base, err := a.from.git().line(ctx, "rev-parse", "--verify", "--quiet", a.ref()+"^{commit}")
	if err != nil {
		base = a.from.Base // nothing was applied yet
	}
	left, err := commit(ctx, g, ours.tree, base, "State of the working tree")
	if err != nil {
		return journal{}, merged{}, err
	}
	right, err := commit(ctx, g, theirs.tree, base, "State of "+a.from.Name)
	if err != nil {
		return journal{}, merged{}, err
	}
	m, err := merge(ctx, g, left, right)
	return journal{Ours: ours.tree, Merged: m.tree, Theirs: right}, m, err
}

func (a *application) git() git { return at(a.to.gitDir, a.to.top) }

// ref names the state that was applied last. It belongs to the tree, and goes with it.
func (a *application) ref() string { return "refs/worktree/heddle-applied-" + a.key }

// journal is a merge that is being written: what was there, what is to be there, and
// whose state it brings.
type journal struct {
	Ours   string `json:"ours"`
	Merged string `json:"merged"`
	Theirs string `json:"theirs"`
}

func (a *application) journalFile() string {
	return filepath.Join(a.from.admin, "heddle-apply-"+a.key+recordEnding)
}

// finish writes changes and notes that they were.
func (a *application) finish(ctx context.Context, w *writer, j journal, changes []change, done *Applied) error {
	files, err := w.write(ctx, j.Merged, changes)
	done.Files = append(done.Files, files...)
	if err != nil {
		return err
	}
	if _, err := a.from.git().run(ctx, "", "update-ref", a.ref(), j.Theirs); err != nil {
		return err
	}
	return os.Remove(a.journalFile())
}

// resume finishes what an Apply that was killed had begun. If files have changed since in
// another way it gives that up, and what was written counts as theirs who wrote it.
func (a *application) resume(ctx context.Context, done *Applied) error {
	text, err := os.ReadFile(a.journalFile())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var j journal
	if json.Unmarshal(text, &j) != nil || !isObject(j.Ours) || !isObject(j.Merged) || !isObject(j.Theirs) {
		return os.Remove(a.journalFile())
	}
	now, err := take(ctx, a.to.gitDir, a.to.top)
	if err != nil {
		return err
	}
	defer now.close()
	w, err := a.writer(now)
	if err != nil {
		return err
	}
	defer w.close()
	left, written, ok, err := a.leftOver(ctx, j, now.tree)
	if err != nil {
		return err
	}
	left, obstacles := w.possible(left)
	if !ok || len(obstacles) > 0 {
		return os.Remove(a.journalFile())
	}
	done.Files = append(done.Files, written...)
	return a.finish(ctx, w, j, left, done)
}

// leftOver divides the changes of a journal into those that were not yet written and
// those that were. It is not ok if a file is neither as before nor as after.
func (a *application) leftOver(ctx context.Context, j journal, now string) (left []change, written []string, ok bool, err error) {
	all, err := compare(ctx, a.git(), j.Ours, j.Merged)
	if exitCode(err) > 0 {
		return nil, nil, false, nil // git has forgotten these states
	}
	if err != nil {
		return nil, nil, false, err
	}
	open, err := compare(ctx, a.git(), now, j.Merged)
	if err != nil {
		return nil, nil, false, err
	}
	missing := map[string]change{}
	for _, c := range open {
		missing[c.path] = c
	}
	for _, c := range all {
		switch m, isOpen := missing[c.path]; {
		case c.isRepository():
		case !isOpen:
			written = append(written, c.path)
		case m == c:
			left = append(left, c)
		default:
			return nil, nil, false, nil
		}
	}
	return left, written, true, nil
}
