package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// errMoved is that a file was changed after the merge was made.
var errMoved = errors.New("a file was changed meanwhile")

// writer writes files of a tree of git into a working tree. It stays within it, whatever
// links there are.
type writer struct {
	root  *os.Root
	top   string
	now   *snapshot // of the working tree
	git   git
	stage string // a folder for new files, in the same file system
}

func (a *application) writer(now *snapshot) (*writer, error) {
	if err := plainFolders(a.to.top); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(a.to.top)
	if err != nil {
		return nil, err
	}
	// No tree of an agent has a name with a dot at its start.
	return &writer{root: root, top: a.to.top, now: now, git: a.git(), stage: stateFolder + "/worktrees/.apply-" + a.from.Name}, nil
}

func (w *writer) close() { w.root.Close() }

// possible leaves out the changes that must not be written, and says why.
func (w *writer) possible(changes []change) ([]change, []Conflict) {
	gone := map[string]bool{}
	for _, c := range changes {
		if c.removed() && !c.isRepository() {
			gone[c.path] = true
		}
	}
	var rest []change
	var obstacles []Conflict
	for _, c := range changes {
		why := ""
		switch {
		case c.isRepository():
			why = "it is a repository of its own: what is in it is not brought over"
		case !c.removed():
			why = w.obstacle(c, gone)
		}
		if why != "" {
			obstacles = append(obstacles, Conflict{c.path, why})
			continue
		}
		rest = append(rest, c)
	}
	return rest, obstacles
}

// obstacle is what is in the way of a file that git does not know of: only ignored files
// can be, all others are part of the merge.
func (w *writer) obstacle(c change, gone map[string]bool) string {
	for dir := path.Dir(c.path); dir != "."; dir = path.Dir(dir) {
		info, err := w.root.Lstat(dir)
		if err == nil && !info.IsDir() && !gone[dir] {
			return fmt.Sprintf("%q, which git ignores, is in the way", dir)
		}
	}
	info, err := w.root.Lstat(c.path)
	switch {
	case err != nil || c.oldMode != noFile && !info.IsDir():
		return ""
	case !info.IsDir():
		return "a file that git ignores is in the way"
	case w.staysFull(c.path, gone):
		return "a folder with files that git ignores is in the way"
	}
	return ""
}

// staysFull reports whether a folder holds anything but folders and files that go.
func (w *writer) staysFull(dir string, gone map[string]bool) bool {
	err := fs.WalkDir(w.root.FS(), dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() && !gone[p] {
			return errMoved
		}
		return nil
	})
	return err != nil
}

// write writes changes, each file at once. The files that it returns are written also if
// there is an error.
func (w *writer) write(ctx context.Context, tree string, changes []change) (files []string, err error) {
	if len(changes) == 0 {
		return nil, nil
	}
	before := make(map[string]os.FileInfo, len(changes))
	for _, c := range changes {
		before[c.path], _ = w.root.Lstat(c.path) // nil: there is none
	}
	if err := w.unmoved(ctx, changes); err != nil {
		return nil, err
	}
	defer w.clearStage()
	if err := w.prepare(ctx, tree, changes); err != nil {
		return nil, err
	}
	// What goes may be in the way of what comes.
	slices.SortStableFunc(changes, func(a, b change) int {
		switch {
		case a.removed() == b.removed():
			return strings.Compare(a.path, b.path)
		case a.removed():
			return -1
		}
		return 1
	})
	for _, c := range changes {
		if ctx.Err() != nil {
			return files, context.Cause(ctx)
		}
		if now, _ := w.root.Lstat(c.path); !same(before[c.path], now) {
			return files, fmt.Errorf("%q: %w", c.path, errMoved)
		}
		if err := w.put(c, before[c.path]); err != nil {
			return files, fmt.Errorf("write %q: %w", c.path, err)
		}
		files = append(files, c.path)
	}
	return files, nil
}

// unmoved checks that the files are as the snapshot has them.
func (w *writer) unmoved(ctx context.Context, changes []change) error {
	out, err := w.git.with("GIT_INDEX_FILE="+w.now.index).run(ctx, "", "diff-files", "-z", "--name-only", "--ignore-submodules=all")
	if err != nil {
		return err
	}
	moved := map[string]bool{}
	for _, name := range fields(out) {
		moved[name] = true
	}
	for _, c := range changes {
		if moved[c.path] {
			return fmt.Errorf("%q: %w", c.path, errMoved)
		}
	}
	return nil
}

// same reports whether a file is still the one that it was. Folders only have to be there:
// what is in them may go before them.
func same(a, b os.FileInfo) bool {
	if a == nil || b == nil {
		return a == nil && b == nil || b == nil && a.IsDir()
	}
	if a.IsDir() && b.IsDir() {
		return true
	}
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// prepare has git write the new files into the stage, as it would write them into the
// tree: with links, line ends and filters.
func (w *writer) prepare(ctx context.Context, tree string, changes []change) error {
	if err := w.root.RemoveAll(w.stage); err != nil {
		return err
	}
	if err := w.root.MkdirAll(w.stage, 0o755); err != nil {
		return err
	}
	var names strings.Builder
	for _, c := range changes {
		if !c.removed() {
			names.WriteString(c.path + "\x00")
		}
	}
	if names.Len() == 0 {
		return nil
	}
	g := w.git.with("GIT_INDEX_FILE=" + w.now.index + ".merged")
	if _, err := g.run(ctx, "", "read-tree", tree); err != nil {
		return err
	}
	_, err := g.run(ctx, names.String(), "checkout-index", "-z", "--stdin", "--quiet", "--prefix="+w.stage+"/")
	return err
}

// put brings one file into its place, or takes it away with the folders that it leaves
// empty.
func (w *writer) put(c change, before os.FileInfo) error {
	if c.removed() {
		if err := w.root.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for dir := path.Dir(c.path); dir != "."; dir = path.Dir(dir) {
			if w.root.Remove(dir) != nil { // it is not empty
				break
			}
		}
		return nil
	}
	staged := w.stage + "/" + c.path
	if before != nil && before.Mode().IsRegular() && c.oldMode == c.newMode {
		if err := w.root.Chmod(staged, before.Mode().Perm()); err != nil {
			return err
		}
	}
	if err := w.root.MkdirAll(path.Dir(c.path), 0o755); err != nil {
		return err
	}
	if before != nil && before.IsDir() {
		if err := w.dropEmpty(c.path); err != nil {
			return err
		}
	}
	return w.root.Rename(staged, c.path)
}

// dropEmpty removes a folder that holds nothing but folders.
func (w *writer) dropEmpty(dir string) error {
	var dirs []string
	err := fs.WalkDir(w.root.FS(), dir, func(p string, _ fs.DirEntry, err error) error {
		dirs = append(dirs, p)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, d := range slices.Backward(dirs) {
		if err := w.root.Remove(d); err != nil {
			return err
		}
	}
	return err
}

// clearStage leaves no folder behind that was not there before.
func (w *writer) clearStage() {
	_ = w.root.RemoveAll(w.stage) // the next one begins with it
	for dir := path.Dir(w.stage); dir != "."; dir = path.Dir(dir) {
		if w.root.Remove(dir) != nil {
			return
		}
	}
}
