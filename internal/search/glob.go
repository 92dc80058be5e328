package search

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// Match is a file that a pattern matches.
type Match struct {
	Path     string // absolute
	Modified time.Time
}

// Glob returns the files below dir whose path from there matches pattern,
// newest first; of equal age, by path.
func Glob(ctx context.Context, dir, pattern string) ([]Match, error) {
	pattern = path.Clean(pattern)
	if !doublestar.ValidatePattern(pattern) {
		return nil, BadGlob(pattern)
	}
	var found []Match
	err := walk(ctx, dir, func(rel string, d fs.DirEntry) error {
		if !doublestar.MatchUnvalidated(pattern, filepath.ToSlash(rel)) {
			return nil
		}
		info, err := d.Info()
		if err != nil || isFolder(filepath.Join(dir, rel), info) {
			return nil // gone by now, or a symlink to a folder
		}
		found = append(found, Match{filepath.Join(dir, rel), info.ModTime()})
		return nil
	})
	slices.SortFunc(found, func(a, b Match) int {
		if c := b.Modified.Compare(a.Modified); c != 0 {
			return c
		}
		return strings.Compare(a.Path, b.Path)
	})
	return found, err
}

// BadGlob is a pattern for names that cannot be understood.
type BadGlob string

func (p BadGlob) Error() string {
	return fmt.Sprintf("the pattern %q is not valid: check that every [ and { has its end", string(p))
}

func isFolder(path string, info fs.FileInfo) bool {
	if info.Mode()&fs.ModeSymlink == 0 {
		return info.IsDir()
	}
	target, err := os.Stat(path)
	return err == nil && target.IsDir()
}
