package tool

import (
	"crypto/sha256"
	"maps"
	"sync"
)

// Version identifies the content of a file.
type Version [sha256.Size]byte

// VersionOf returns the version of content.
func VersionOf(content []byte) Version { return sha256.Sum256(content) }

// Files remembers which version of which file an agent has seen, so that an edit
// that would overwrite a change it has not seen can be refused.
type Files struct {
	mu   sync.Mutex
	seen map[string]Version // by absolute path, symlinks resolved
}

// NewFiles returns a memory of nothing.
func NewFiles() *Files { return &Files{seen: map[string]Version{}} }

// Seen remembers that the agent knows this content of path.
func (f *Files) Seen(path string, v Version) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[path] = v
}

// Version returns the version of path that the agent knows.
func (f *Files) Version(path string) (v Version, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok = f.seen[path]
	return v, ok
}

// Clone returns a copy that goes its own way.
func (f *Files) Clone() *Files {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &Files{seen: maps.Clone(f.seen)}
}

// Paths returns how many files are known.
func (f *Files) Len() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.seen)
}
