package briefing

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	maxFile    = 4 << 20  // bytes; larger files are skipped
	maxTotal   = 16 << 20 // bytes of all memory files; more fits into no model
	maxImports = 4        // hops from a memory file
	maxLookups = 2000     // imports and rules that are looked up; a text may hold very many @
)

// memory reads memory files.
type memory struct {
	Options
	root    string          // the project: absolute, symlinks resolved
	seen    map[string]bool // by real path and by text: each stands in the briefing once
	total   int
	lookups int
	files   []File
	notes   []string
}

// readMemory reads all memory files, the most general first. root is the folder of the
// repository, or "".
func readMemory(o Options, root string) ([]File, []string) {
	if root == "" {
		root = o.Dir
	}
	m := &memory{Options: o, root: root, seen: map[string]bool{}}
	for _, dir := range o.Managed {
		m.firstOf(Managed, filepath.Join(dir, "AGENTS.md"), filepath.Join(dir, "CLAUDE.md"))
	}
	if o.Home != "" {
		m.firstOf(User, filepath.Join(o.Home, "AGENTS.md"), filepath.Join(o.Home, "CLAUDE.md"))
	}
	if o.UserHome != "" {
		m.firstOf(User, filepath.Join(o.UserHome, ".claude", "CLAUDE.md"))
		m.rules(User, o.UserHome)
	}
	for _, dir := range foldersTo(o.Dir) {
		m.firstOf(Project, filepath.Join(dir, "AGENTS.md"))
		// What stands only there would be lost if AGENTS.md were taken instead of it. Where
		// it imports AGENTS.md, links to it or repeats it, nothing stands twice.
		m.firstOf(Project, filepath.Join(dir, "CLAUDE.md"), filepath.Join(dir, ".claude", "CLAUDE.md"))
		m.rules(Project, dir)
		m.firstOf(Local, filepath.Join(dir, "AGENTS.local.md"))
		m.firstOf(Local, filepath.Join(dir, "CLAUDE.local.md"))
	}
	return m.files, m.notes
}

// foldersTo returns the folders from the root of the file system down to dir.
func foldersTo(dir string) []string {
	var out []string
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		out = append(out, dir)
	}
	out = append(out, dir)
	slices.Reverse(out)
	return out
}

func (m *memory) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// firstOf reads the first of paths that is there, and what it imports.
func (m *memory) firstOf(scope Scope, paths ...string) {
	for _, path := range paths {
		if _, err := os.Lstat(path); err != nil {
			continue // also where the folder around it may not be searched
		}
		base := "/"
		if scope == Project || scope == Local {
			base = m.root
			if !within(base, path) {
				base = filepath.Dir(path)
			}
		}
		m.add(File{Path: path, Scope: scope}, base, 0)
		return
	}
}

// rules reads the rules in dir, of which there may be a whole tree. Links to folders are
// not followed.
func (m *memory) rules(scope Scope, dir string) {
	_ = filepath.WalkDir(filepath.Join(dir, ".claude", "rules"), func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // it is not there, or not for us to read
		case !m.lookUp():
			return filepath.SkipAll
		case !d.IsDir() && strings.HasSuffix(path, ".md"):
			m.firstOf(scope, path)
		}
		return nil
	})
}

// lookUp counts what is looked up. It reports whether there may be more of it.
func (m *memory) lookUp() bool {
	m.lookups++
	if m.lookups == maxLookups+1 {
		m.note("the memory files and rules name more than %d files; the others were not read", maxLookups)
	}
	return m.lookups <= maxLookups
}

// add reads f, unless it was read before, and then what it imports. Files outside of
// base need to be allowed.
func (m *memory) add(f File, base string, depth int) {
	real, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		m.note("%s was not read: %v", f.Path, err)
		return
	}
	if m.seen[real] {
		return
	}
	m.seen[real] = true
	if why := m.refuse(f.Scope, base, real); why != "" {
		m.note("%s was not read: %s", f.Path, why)
		return
	}
	raw, err := readRegular(real, maxFile)
	if err == nil && m.total+len(raw) > maxTotal {
		err = errors.New("the memory files before it fill 16 MiB")
	}
	if err == nil {
		f.Text, err = decode(raw)
	}
	if err != nil {
		m.note("%s was not read: %v", f.Path, err)
		return
	}
	m.total += len(raw)
	f.Text = stripComments(f.Text)
	same := "text " + strings.TrimSpace(f.Text)
	if m.seen[same] || strings.TrimSpace(f.Text) == "" || hasPaths(f.Text) {
		return
	}
	m.seen[same] = true
	m.files = append(m.files, f)
	for _, imp := range findImports(f.Text) {
		m.follow(imp, f, base, real, depth+1)
	}
}

// follow reads the file that from imports. Most words that begin with @ are no
// imports: only one that looks like the name of a text is missed when it is not there.
func (m *memory) follow(imp string, from File, base, real string, depth int) {
	if !m.lookUp() {
		return
	}
	path := imp
	switch {
	case strings.HasPrefix(imp, "~/"):
		path = filepath.Join(m.UserHome, imp[2:])
	case !filepath.IsAbs(imp):
		path = filepath.Join(filepath.Dir(real), imp)
	}
	info, err := os.Stat(path)
	looks := strings.HasSuffix(imp, ".md")
	switch {
	case err != nil && looks:
		m.note("%s imports @%s, which cannot be read: %v", from.Path, imp, cause(err))
	case err != nil:
	case !info.Mode().IsRegular() && looks:
		m.note("%s imports @%s, which is not a regular file", from.Path, imp)
	case !info.Mode().IsRegular():
	case depth > maxImports:
		m.note("%s imports @%s, which was not read: more than %d imports in a row", from.Path, imp, maxImports)
	default:
		m.add(File{Path: path, Scope: from.Scope, From: from.Path}, base, depth)
	}
}

// refuse says why a file must not be read, if so. A project is not trusted to name
// files outside of itself, by imports or by links: they could be anybody's secrets. Above
// the project stand folders that others may write to, as in /tmp.
func (m *memory) refuse(scope Scope, base, real string) string {
	if !within(base, real) && (m.AllowImport == nil || !m.AllowImport(real)) {
		return fmt.Sprintf("it is outside of %s, and importing it was not allowed", base)
	}
	shared := (scope == Project || scope == Local) && !within(m.root, real)
	if info, err := os.Stat(real); shared && err == nil && !ofUser(info) {
		return "it stands above the project and belongs to someone else"
	}
	return ""
}

// ofUser reports whether a file belongs to the user or to the system.
func ofUser(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && (s.Uid == 0 || int(s.Uid) == os.Getuid())
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// cause is an error without the path, which stands beside it already.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
