package skill

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

// found is a file that a walk came by.
type found struct {
	name string // without the plugin's
	path string
	// root is set for a skill that is the folder itself. Its name may be a version.
	root bool
}

// walker walks the folders of one source.
type walker struct {
	files    files
	layer    config.Layer
	count    int // of files and folders
	seen     map[string]bool
	problems []*config.Problem
	warnings []*config.Problem
}

// skills lists the skills in a folder: it is one itself, or folders in it are, or
// folders in those. What is inside of a skill belongs to it.
func (w *walker) skills(dir string, depth int) []found {
	entries := w.enter(dir, depth)
	for _, e := range entries {
		if strings.EqualFold(e.Name(), "SKILL.md") {
			return []found{{name: filepath.Base(w.absolute(dir)), path: filepath.Join(dir, e.Name()), root: depth == 0}}
		}
	}
	var out []found
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); w.goesInto(e, path) {
			out = append(out, w.skills(path, depth+1)...)
		}
	}
	return out
}

// absolute gives "." a name.
func (w *walker) absolute(dir string) string {
	if w.files.fs == nil {
		if abs, err := filepath.Abs(dir); err == nil {
			return abs
		}
	}
	return dir
}

// commands lists the Markdown files in a folder and the folders in it, whose names come
// before theirs.
func (w *walker) commands(dir, prefix string, depth int) []found {
	var out []found
	if folder, err := w.files.isDir(dir); depth == 0 && err == nil && !folder && markdown(dir) { // a plugin may name one file
		return []found{{name: strings.TrimSuffix(filepath.Base(dir), filepath.Ext(dir)), path: dir}}
	}
	for _, e := range w.enter(dir, depth) {
		path := filepath.Join(dir, e.Name())
		switch {
		case w.goesInto(e, path):
			if problem := badName(e.Name()); problem != "" {
				w.problems = append(w.problems, at(w.layer, path, problem))
				continue
			}
			out = append(out, w.commands(path, prefix+e.Name()+":", depth+1)...)
		case !e.IsDir() && markdown(e.Name()):
			name := strings.TrimSuffix(e.Name(), filepath.Ext(e.Name()))
			if problem := badName(name); problem != "" {
				w.problems = append(w.problems, at(w.layer, path, problem))
				continue
			}
			out = append(out, found{name: prefix + name, path: path})
		}
	}
	return out
}

// enter lists a folder, links last: where a link leads to a neighbour, the neighbour's
// own name counts. It lists nothing a second time, nor beyond the limits.
func (w *walker) enter(dir string, depth int) []fs.DirEntry {
	all, err := w.files.readDir(dir)
	if errors.Is(err, fs.ErrNotExist) { // like most of them: nothing else is worth a look
		return nil
	}
	real := w.files.real(dir)
	if w.seen[real] {
		return nil
	}
	w.seen[real] = true
	if depth > maxDepth {
		w.problems = append(w.problems, at(w.layer, dir, fmt.Sprintf("the folder is more than %d folders deep and was left out", maxDepth)))
		return nil
	}
	if err != nil {
		w.problems = append(w.problems, at(w.layer, dir, "cannot read the folder: "+reason(err)))
		return nil
	}
	if left := max(maxFiles-w.count, 0); len(all) > left {
		w.problems = append(w.problems, at(w.layer, dir, fmt.Sprintf("there are more than %d files; some of this folder were left out", maxFiles)))
		all = all[:left]
	}
	w.count += len(all)
	return w.linksLast(dir, all)
}

// linksLast leaves out what is hidden, and links that lead nowhere.
func (w *walker) linksLast(dir string, all []fs.DirEntry) []fs.DirEntry {
	var entries, links []fs.DirEntry
	for _, e := range all {
		if hidden(e) {
			continue
		}
		if !link(e) {
			entries = append(entries, e)
			continue
		}
		path := filepath.Join(dir, e.Name())
		if _, err := w.files.isDir(path); err != nil {
			w.problems = append(w.problems, at(w.layer, path, "cannot follow the link: "+reason(err)))
			continue
		}
		links = append(links, e)
	}
	return append(entries, links...)
}

// goesInto reports whether an entry is a folder to walk.
func (w *walker) goesInto(e fs.DirEntry, path string) bool {
	if !link(e) {
		return e.IsDir()
	}
	isDir, err := w.files.isDir(path)
	if err != nil || !isDir {
		return false
	}
	if real := w.files.real(path); w.seen[real] {
		w.warnings = append(w.warnings, at(w.layer, path, "the link leads to "+real+", which was read already, and was left out"))
		return false
	}
	return true
}

func link(e fs.DirEntry) bool { return e.Type()&fs.ModeSymlink != 0 }

func hidden(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") }
