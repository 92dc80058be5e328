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
	"sync"
	"time"
)

// Options say what to gather, and where.
type Options struct {
	Dir      string // the working directory: absolute, symlinks resolved
	Home     string // the state directory of heddle; empty: none
	UserHome string // the home directory of the user; empty: as the system says
	// Managed are the folders with the memory files of whoever runs the machine; nil: as
	// usual on this system.
	Managed []string
	Now     time.Time
	Version string // of heddle

	NoMemory bool // read no memory files
	NoGit    bool // do not start git
	// Patience is how long git may take; 0 is 2 s. What it did not tell by then is left out.
	Patience time.Duration
	// AllowImport reports whether a memory file of the project may bring in the file at
	// path, which lies outside of the project. Nil allows none.
	AllowImport func(path string) bool
}

// Briefing is what was gathered.
type Briefing struct {
	Dir      string
	Platform string // such as linux/amd64
	System   string // the operating system and its version
	Shell    string // of the user
	Date     string
	Version  string
	Git      *Git     // nil outside of a repository, and where git was not to be asked
	Memory   []File   // the most general first: what comes later is nearer to the work
	Notes    []string // what was left out that one might miss, and why
}

// File is a memory file.
type File struct {
	Path  string
	Scope Scope
	Text  string
	// From is the memory file that imports this one, or empty.
	From string
}

// Scope says whose a memory file is.
type Scope string

const (
	Managed Scope = "managed" // of whoever runs the machine
	User    Scope = "user"    // of the user, for all projects
	Project Scope = "project" // shared by all who work on the project
	Local   Scope = "local"   // of the user, for this project
)

// Read gathers a briefing. What cannot be read is noted and left out. An error
// means that the directory itself cannot be read.
func Read(ctx context.Context, o Options) (Briefing, error) {
	info, err := os.Stat(o.Dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", o.Dir)
	}
	if err != nil {
		return Briefing{}, fmt.Errorf("read the working directory: %w", err)
	}
	if o.UserHome == "" {
		o.UserHome, _ = os.UserHomeDir() // without a home there are no memory files there
	}
	if o.Managed == nil {
		o.Managed = managedFolders()
	}
	if o.Patience == 0 {
		o.Patience = 2 * time.Second
	}
	b := Briefing{Dir: o.Dir, Date: o.Now.Format("Monday, 2 January 2006"), Version: o.Version}
	root := repositoryRoot(o.Dir)
	var wg sync.WaitGroup
	if root != "" && !o.NoGit {
		wg.Go(func() { b.Git = readGit(ctx, root, o) })
	}
	b.Platform, b.System, b.Shell = platform()
	if !o.NoMemory {
		b.Memory, b.Notes = readMemory(o, root)
	}
	wg.Wait()
	return b, nil
}

// repositoryRoot returns the folder of the repository that dir is in, or "".
func repositoryRoot(dir string) string {
	for {
		mark := filepath.Join(dir, ".git")
		if info, err := os.Lstat(mark); err == nil {
			// A worktree and a submodule have a file there, which names the real folder.
			if _, err := os.Stat(filepath.Join(mark, "HEAD")); err == nil || info.Mode().IsRegular() {
				return dir
			}
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}
