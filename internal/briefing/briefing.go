// Package briefing gathers what an agent is told before its first turn: where it
// works, what day it is, the state of the repository, and the memory files of
// the user and the project. All of it goes into the first message, so that system
// prompts stay the same for every project and day.
package briefing

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// Options say what to gather, and where.
type Options struct {
	Dir      string // the working directory: absolute, symlinks resolved
	Home     string // the state directory of heddle
	UserHome string // the home directory of the user; empty: as the system says
	Now      time.Time
	Version  string // of heddle
	NoMemory bool   // read no memory files
	// AllowImport reports whether a memory file of the project may import a file from
	// outside of it. Nil allows none.
	AllowImport func(path string) bool
}

// Briefing is what was gathered.
type Briefing struct {
	Dir, Platform, Shell, Version string
	Date                          string
	Git                           *Git // nil outside of a repository
	Memory                        []File
	Notes                         []string // what could not be read, and why
}

// File is a memory file with its imports in place.
type File struct {
	Path  string
	Scope string // managed, user, project or local
	Text  string
}

// Read gathers a briefing. What cannot be read is noted and left out. An error
// means that the directory itself cannot be read.
func Read(ctx context.Context, o Options) (Briefing, error) {
	if _, err := os.Stat(o.Dir); err != nil {
		return Briefing{}, fmt.Errorf("read the working directory: %w", err)
	}
	if o.UserHome == "" {
		o.UserHome, _ = os.UserHomeDir() // without a home there are no memory files there
	}
	b := Briefing{
		Dir: o.Dir, Platform: runtime.GOOS + "/" + runtime.GOARCH, Version: o.Version,
		Shell: filepath.Base(os.Getenv("SHELL")), Date: o.Now.Format("Monday, 2 January 2006"),
	}
	root := repositoryRoot(o.Dir)
	var wg sync.WaitGroup
	if root != "" {
		wg.Go(func() { b.Git = readGit(ctx, o.Dir) })
	}
	if !o.NoMemory {
		m := memory{Options: o, root: root, seen: map[string]bool{}}
		m.read()
		b.Memory, b.Notes = m.files, m.notes
	}
	wg.Wait()
	return b, nil
}

// repositoryRoot returns the folder that holds .git, or "".
func repositoryRoot(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// String is the briefing as a model reads it. Everything that comes from outside
// is escaped, so that no file can close the element it stands in.
func (b Briefing) String() string {
	var w strings.Builder
	w.WriteString("<environment>\n")
	line := func(name, value string) {
		if value != "" && value != "." {
			fmt.Fprintf(&w, "%s: %s\n", name, escape(value))
		}
	}
	line("Working directory", b.Dir)
	line("Platform", b.Platform)
	line("Shell", b.Shell)
	line("Date", b.Date)
	line("heddle", b.Version)
	if b.Git == nil {
		line("Git", "not a repository")
	}
	w.WriteString("</environment>\n")
	if b.Git != nil {
		b.Git.render(&w)
	}
	for _, f := range b.Memory {
		fmt.Fprintf(&w, "<memory path=%q scope=%q>\n%s\n</memory>\n", escape(f.Path), f.Scope, escape(strings.TrimSpace(f.Text)))
	}
	if len(b.Memory) > 0 {
		w.WriteString("The memory files above are instructions of the user and the project. Follow them where they apply; what the user says now comes first.\n")
	}
	return w.String()
}

// escape makes text safe inside an element, and leaves it readable: only what
// could begin or end a tag changes.
func escape(s string) string {
	if !strings.ContainsAny(s, "<&\"") {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", `"`, "&#34;").Replace(strings.ToValidUTF8(s, "\uFFFD"))
}
