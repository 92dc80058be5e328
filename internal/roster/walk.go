package roster

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"heddle/internal/config"
)

// What a walk looks at. A folder by mistake may be a whole disk.
const (
	maxDepth = 8    // of folders in a folder
	maxFiles = 2000 // of one source
)

// found is a file that may define an agent.
type found struct {
	path   string
	groups []string // the folders between it and the folder that was walked
	kind   Kind
	// root is the folder that the files it names must lie in; "" is none.
	root string
}

// base is the name of the file without its extension.
func (f found) base() string {
	name := filepath.Base(f.path)
	return strings.TrimSuffix(name, filepath.Ext(name))
}

// walker walks the folders of one source.
type walker struct {
	files    files
	layer    config.Layer
	builtin  bool
	count    int             // of files and folders
	seen     map[string]bool // folders, by their real paths
	problems []*config.Problem
	warnings []*config.Problem
}

// walk lists the Markdown files in a folder and in the folders in it.
func (w *walker) walk(folder string) []found {
	like := found{kind: KindClaude}
	switch parent := filepath.Dir(folder); {
	case w.builtin:
		like.kind = KindBuiltin
	case filepath.Base(parent) == ".opencode" || filepath.Base(parent) == "opencode":
		like.kind, like.root = KindOpenCode, parent
	}
	return w.in(folder, like)
}

// in lists what is in one folder; like says what all files there have in common.
func (w *walker) in(dir string, like found) []found {
	var out []found
	for _, e := range w.enter(dir, len(like.groups)) {
		one := like
		one.path = filepath.Join(dir, e.Name())
		switch {
		case w.isFolder(e, one.path):
			if real := w.files.real(one.path); w.seen[real] {
				w.warnings = append(w.warnings, at(w.layer, one.path, "the link leads to "+real+", which was read already, and was left out"))
				continue
			}
			one.groups = append(append([]string(nil), like.groups...), e.Name())
			out = append(out, w.in(one.path, one)...)
		case !e.IsDir() && markdown(e.Name()):
			out = append(out, one)
		}
	}
	return out
}

// enter lists a folder, links last: where a link leads to a neighbour, the neighbour's
// own name counts. It lists nothing a second time, nor beyond the limits.
func (w *walker) enter(dir string, depth int) []fs.DirEntry {
	real := w.files.real(dir)
	if w.seen[real] {
		return nil
	}
	w.seen[real] = true
	if depth > maxDepth {
		w.problem(dir, fmt.Sprintf("the folder is more than %d folders deep and was left out: move it up", maxDepth))
		return nil
	}
	all, err := w.files.readDir(dir)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.problem(dir, "cannot read the folder: "+reason(err))
		}
		return nil
	}
	if left := max(maxFiles-w.count, 0); len(all) > left {
		w.problem(dir, fmt.Sprintf("there are more than %d files; some of this folder were left out: move what is no agent elsewhere", maxFiles))
		all = all[:left]
	}
	w.count += len(all)
	var entries, links []fs.DirEntry
	for _, e := range all {
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.Type()&fs.ModeSymlink == 0:
			entries = append(entries, e)
		case w.leads(filepath.Join(dir, e.Name())):
			links = append(links, e)
		}
	}
	return append(entries, links...)
}

// leads reports whether a link leads anywhere.
func (w *walker) leads(path string) bool {
	_, err := w.files.stat(path)
	if err != nil {
		w.problem(path, "cannot follow the link: "+reason(err))
	}
	return err == nil
}

func (w *walker) isFolder(e fs.DirEntry, path string) bool {
	if e.Type()&fs.ModeSymlink == 0 {
		return e.IsDir()
	}
	info, err := w.files.stat(path)
	return err == nil && info.IsDir()
}

func (w *walker) problem(path, text string) {
	w.problems = append(w.problems, at(w.layer, path, text))
}
