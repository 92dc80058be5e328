package search

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// filter decides which names are searched.
type filter struct {
	kinds    []string // patterns of the type, for the last part of a name
	include  []string
	exclude  []string
	anywhere bool // no pattern has a slash
}

// BadType is a type of files that is not in [Types].
type BadType string

func (t BadType) Error() string {
	return fmt.Sprintf("there is no file type %q; known are %s. Use a glob instead", string(t), strings.Join(Types(), ", "))
}

func newFilter(globs []string, kind string) (*filter, error) {
	f := &filter{anywhere: true}
	if kind != "" {
		kinds, ok := types[kind]
		if !ok {
			return nil, BadType(kind)
		}
		f.kinds = strings.Fields(kinds)
	}
	for _, g := range globs {
		g, negated := strings.CutPrefix(g, "!")
		g = strings.TrimPrefix(g, "./")
		if !doublestar.ValidatePattern(g) {
			return nil, BadGlob(g)
		}
		f.anywhere = f.anywhere && !strings.Contains(g, "/")
		g = strings.TrimPrefix(g, "/")
		if negated {
			f.exclude = append(f.exclude, g)
		} else {
			f.include = append(f.include, g)
		}
	}
	return f, nil
}

// takes reports whether a file is searched. rel is its path from the root.
func (f *filter) takes(rel string) bool {
	matches := func(g string) bool { return matchName(g, rel) }
	return (f.kinds == nil || slices.ContainsFunc(f.kinds, matches)) &&
		(f.include == nil || slices.ContainsFunc(f.include, matches)) &&
		!slices.ContainsFunc(f.exclude, matches)
}

func matchName(glob, rel string) bool {
	if !strings.Contains(glob, "/") {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(glob, rel)
}

// simple returns patterns for the last part of names which let through all that
// the filter takes, and perhaps more; none means everything. It is not ok if a
// pattern is about whole paths.
func (f *filter) simple() (globs []string, ok bool) {
	if f.kinds != nil {
		return f.kinds, true
	}
	return f.include, f.anywhere
}
