package briefing

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	maxFile    = 4 << 20 // larger files are skipped
	maxImports = 4       // hops from a memory file
)

// memory reads memory files.
type memory struct {
	Options
	root  string          // of the repository, or ""
	seen  map[string]bool // by real path: each file stands in the briefing once
	files []File
	notes []string
}

func (m *memory) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// read reads all memory files, the most general first: what stands nearer to
// the work comes later and weighs more.
func (m *memory) read() {
	m.firstOf("managed", "/etc/heddle/AGENTS.md")
	if m.Home != "" {
		m.firstOf("user", filepath.Join(m.Home, "AGENTS.md"), filepath.Join(m.Home, "CLAUDE.md"))
	}
	if m.UserHome != "" {
		m.firstOf("user", filepath.Join(m.UserHome, ".claude", "CLAUDE.md"))
	}
	for _, dir := range m.folders() {
		m.firstOf("project", filepath.Join(dir, "AGENTS.md"))
		m.firstOf("project", filepath.Join(dir, "CLAUDE.md"), filepath.Join(dir, ".claude", "CLAUDE.md"))
		m.firstOf("local", filepath.Join(dir, "AGENTS.local.md"))
		m.firstOf("local", filepath.Join(dir, "CLAUDE.local.md"))
	}
}

// folders returns the folders from the root of the file system down to the working
// directory.
func (m *memory) folders() []string {
	var out []string
	for dir := m.Dir; ; dir = filepath.Dir(dir) {
		out = append(out, dir)
		if dir == filepath.Dir(dir) {
			break
		}
	}
	slices.Reverse(out)
	return out
}

// firstOf reads the first of paths that is there.
func (m *memory) firstOf(scope string, paths ...string) {
	for _, path := range paths {
		text, ok := m.load(path)
		if !ok {
			continue
		}
		if strings.TrimSpace(text) != "" {
			m.files = append(m.files, File{Path: path, Scope: scope, Text: m.expand(text, path, scope, 0)})
		}
		return
	}
}

// load returns the text of a file that was not read before. A file that is not
// there is not worth a note.
func (m *memory) load(path string) (text string, ok bool) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", false
	case !info.Mode().IsRegular():
		m.note("%s is not a regular file and was not read", path)
		return "", false
	case info.Size() > maxFile:
		m.note("%s is larger than 4 MiB and was not read", path)
		return "", false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || m.seen[real] {
		return "", err == nil
	}
	m.seen[real] = true
	f, err := os.Open(real)
	if err != nil {
		m.note("%v", err)
		return "", false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		m.note("%v", err)
		return "", false
	}
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n"))
	return stripComments(string(bytes.ToValidUTF8(b, []byte("\uFFFD")))), true
}

// expand puts the files that text imports in the place of the imports.
func (m *memory) expand(text, from, scope string, depth int) string {
	var out strings.Builder
	last := 0
	for _, imp := range findImports(text) {
		path := m.resolve(imp.path, from)
		content, ok := m.imported(path, scope, depth)
		if !ok {
			continue
		}
		out.WriteString(text[last:imp.start])
		fmt.Fprintf(&out, "[%s]\n%s\n", path, strings.TrimSpace(m.expand(content, path, scope, depth+1)))
		last = imp.end
	}
	out.WriteString(text[last:])
	return out.String()
}

func (m *memory) resolve(path, from string) string {
	switch {
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(m.UserHome, path[2:])
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(filepath.Dir(from), path)
}

// imported returns the text of an imported file. What a project's file imports from
// outside of the project, through a link too, needs to be allowed.
func (m *memory) imported(path, scope string, depth int) (string, bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "", false // an @ in the text that names no file
	}
	if depth >= maxImports {
		m.note("%s was not imported: more than %d imports deep", path, maxImports)
		return "", false
	}
	if scope != "user" && scope != "managed" && !m.within(path) && (m.AllowImport == nil || !m.AllowImport(path)) {
		m.note("%s was not imported: it is outside of the project", path)
		return "", false
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || m.seen[real] {
		return "", false
	}
	return m.load(path)
}

// within reports whether a file is in the project, by its real path.
func (m *memory) within(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	base := m.root
	if base == "" {
		base = m.Dir
	}
	rel, err := filepath.Rel(base, real)
	return err == nil && filepath.IsLocal(rel)
}
