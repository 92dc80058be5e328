package builtin

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"heddle/internal/spelling"
	"heddle/internal/tool"
)

// errNotDir is the error of a path that goes through a file.
const errNotDir = syscall.ENOTDIR

// suggest says what a path that does not exist may have meant: a similar name
// beside it, or the same path from the project's root.
func suggest(s *tool.Scope, path string) string {
	if p := belowRoot(s.Root, path); p != "" {
		return " Did you mean " + show(p) + "?"
	}
	dir := filepath.Dir(path)
	entries, err := os.ReadDir(dir)
	if err != nil {
		for dir != filepath.Dir(dir) && !isDir(dir) {
			dir = filepath.Dir(dir)
		}
		return " The nearest folder that exists is " + show(dir) + "."
	}
	names := near(filepath.Base(path), entries)
	if len(names) == 0 {
		return " Use Glob to find it."
	}
	for i, n := range names {
		names[i] = show(filepath.Join(dir, n))
	}
	return " Did you mean " + strings.Join(names, " or ") + "?"
}

// belowRoot finds path below root with some of its first folders left out: a
// model easily forgets or invents one.
func belowRoot(root, path string) string {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i := 1; i < len(parts)-1; i++ {
		p := filepath.Join(append([]string{root}, parts[i:]...)...)
		if _, err := os.Stat(p); err == nil && p != path {
			return p
		}
	}
	return ""
}

// near returns at most three names that resemble name, the nearest first.
func near(name string, entries []os.DirEntry) []string {
	type candidate struct {
		name     string
		distance int
	}
	var found []candidate
	want := fold(name)
	for _, e := range entries {
		have := fold(e.Name())
		most := max(1, min(len(want), len(have))/4)
		var d int
		switch {
		case stem(want) == stem(have) || swapped(want, have):
			d = 1
		case max(len(want), len(have))-min(len(want), len(have)) > most:
			continue
		default:
			d = spelling.Distance(want, have)
		}
		if d <= most {
			found = append(found, candidate{e.Name(), d})
		}
	}
	slices.SortFunc(found, func(a, b candidate) int {
		return cmp.Or(a.distance-b.distance, strings.Compare(a.name, b.name))
	})
	var names []string
	for _, c := range found[:min(3, len(found))] {
		names = append(names, c.name)
	}
	return names
}

// fold removes what is easily mistaken: case, and which space or dash it is.
func fold(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || r == '_' || unicode.Is(unicode.Pd, r):
			return '-'
		default:
			return unicode.ToLower(r)
		}
	}, name)
}

func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }

// swapped reports whether a and b are the same letters in another order.
func swapped(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
