package permission

import (
	"errors"
	"path"
	"strings"
)

// glob is a path in the grammar of gitignore, below some anchor.
type glob struct {
	segments []string // "**" is any number of them
	// single reports a pattern such as src/**: a directory named in one segment.
	single bool
}

// parseGlob reads a pattern. One that begins with a slash holds at the anchor
// itself; so does one with a slash inside; a bare name holds at any depth.
func parseGlob(text string) (glob, error) {
	var g glob
	text, fixed := strings.CutPrefix(text, "/")
	inner := strings.TrimSuffix(text, "/")
	if !fixed && !strings.Contains(inner, "/") {
		g.segments = append(g.segments, "**")
	}
	for s := range strings.SplitSeq(inner, "/") {
		switch s {
		case "", ".":
			continue
		case "..":
			return g, errors.New("a path in a rule cannot go up with ..; begin it with // and write it out")
		}
		if _, err := path.Match(s, ""); err != nil {
			return g, errors.New("a bracket in the path is not closed")
		}
		if s == "**" && len(g.segments) > 0 && g.segments[len(g.segments)-1] == "**" {
			continue
		}
		g.segments = append(g.segments, s)
	}
	g.single = !fixed && len(g.segments) == 2 && g.segments[1] == "**" && g.segments[0] != "**"
	return g, nil
}

// deep is the pattern at any depth.
func (g glob) deep() glob {
	return glob{segments: append([]string{"**"}, g.segments...)}
}

// match reports whether file, or a directory above it, fits below dir. Both are
// absolute and clean.
func (g glob) match(dir, file string) bool {
	rest, ok := below(dir, file)
	if !ok {
		return false
	}
	var names []string
	if rest != "" {
		names = strings.Split(rest, "/")
	}
	if len(g.segments) == 0 { // the anchor itself, and so all of it
		return true
	}
	return matchSegments(g.segments, names)
}

// below returns what follows dir in file, if file is dir or lies below it.
func below(dir, file string) (string, bool) {
	if dir == "" {
		return "", false
	}
	if file == dir {
		return "", true
	}
	if dir != "/" {
		dir += "/"
	}
	return strings.CutPrefix(file, dir)
}

// matchSegments matches pattern against names, or against the first few of them.
// It keeps one place to go back to, which is enough, since whatever a later **
// can do an earlier one need not.
func matchSegments(pattern, names []string) bool {
	p, n := 0, 0
	back, from := -1, 0
	for {
		switch {
		case p == len(pattern):
			return true // the rest lies below what fits
		case pattern[p] == "**":
			back, from = p+1, n
			p++
			continue
		case n < len(names) && segment(pattern[p], names[n]):
			p++
			n++
			continue
		}
		if back < 0 || from >= len(names) {
			return false
		}
		from++
		p, n = back, from
	}
}

func segment(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// quoteGlob writes a path so that it stands for itself.
func quoteGlob(path string) string {
	if !strings.ContainsAny(path, `\*?[`) {
		return path
	}
	var b strings.Builder
	for i := range len(path) {
		if strings.IndexByte(`\*?[`, path[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(path[i])
	}
	return b.String()
}
