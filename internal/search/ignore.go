package search

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// ignores holds the rules of the .gitignore files that apply in one folder: its
// own, and those of the folders above it. The innermost file that has a rule for
// a path decides, and in it the last such rule.
type ignores struct {
	outer *ignores
	dir   string // absolute; the rules are about paths below it
	rules []rule
}

// rule is a line of a .gitignore file.
type rule struct {
	negated  bool // the path is not ignored after all
	dirOnly  bool // written with a slash at the end
	anchored bool // about the path from dir on, not about a name anywhere below

	// Most rules are plain names or suffixes, which need no regexp.
	name   string
	suffix string
	re     *regexp.Regexp
}

// enter returns the rules that apply in dir, given those of the folder around it.
func (g *ignores) enter(dir string) *ignores {
	data, err := os.ReadFile(filepath.Join(dir, ".gitignore"))
	if err != nil {
		return g
	}
	rules := parseRules(string(data))
	if len(rules) == 0 {
		return g
	}
	return &ignores{outer: g, dir: dir, rules: rules}
}

// ignored reports whether path, which lies below every dir of g, is ignored by a
// rule about itself. A path in an ignored folder is ignored too, whatever the
// rules say about it; the walk never gets there.
func (g *ignores) ignored(path string, isDir bool) bool {
	for ; g != nil; g = g.outer {
		rel := path[len(strings.TrimSuffix(g.dir, "/"))+1:]
		for i := len(g.rules) - 1; i >= 0; i-- {
			if r := &g.rules[i]; r.matches(rel, isDir) {
				return !r.negated
			}
		}
	}
	return false
}

func (r *rule) matches(path string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if !r.anchored {
		path = path[strings.LastIndexByte(path, '/')+1:]
	}
	switch {
	case r.name != "":
		return path == r.name
	case r.suffix != "":
		return strings.HasSuffix(path, r.suffix)
	}
	return r.re.MatchString(path)
}

// parseRules reads the text of a .gitignore file. A pattern that git cannot
// match anything with is left out.
func parseRules(text string) []rule {
	var rules []rule
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\uFEFF"), "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

func parseRule(line string) (r rule, ok bool) {
	if strings.HasPrefix(line, "#") {
		return r, false
	}
	line = trimSpaces(line)
	if rest, ok := strings.CutPrefix(line, "!"); ok {
		r.negated, line = true, rest
	}
	if rest, ok := strings.CutSuffix(line, "/"); ok {
		r.dirOnly, line = true, rest
	}
	if line == "" {
		return r, false
	}
	r.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if !strings.ContainsAny(line, `*?[\`) {
		r.name = line
		return r, line != ""
	}
	if rest := line[1:]; !r.anchored && line[0] == '*' && rest != "" && !strings.ContainsAny(rest, `*?[\`) {
		r.suffix = rest
		return r, true
	}
	r.re = compileGlob(line)
	return r, r.re != nil
}

// trimSpaces removes the spaces at the end that no backslash protects.
func trimSpaces(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if line[i] == ' ' {
			continue
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// compileGlob turns a pattern of git into a regexp, which takes linear time on
// any path. It returns nil for a pattern that matches nothing.
func compileGlob(p string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '*':
			n := len(p[i:]) - len(strings.TrimLeft(p[i:], "*"))
			i += stars(&b, p, i, n) - 1
		case '?':
			b.WriteString(`[^/]`)
		case '[':
			class, n := bracket(p[i:])
			if n == 0 {
				return nil
			}
			b.WriteString(class)
			i += n - 1
		case '\\':
			if i++; i == len(p) {
				return nil
			}
			b.WriteString(quoteByte(p[i]))
		default:
			b.WriteString(quoteByte(c))
		}
	}
	b.WriteString(`\z`)
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil
	}
	return re
}

// stars translates the n stars at p[i:] and returns how many bytes it used. Two
// stars that fill a whole path component stand for any number of folders.
func stars(b *strings.Builder, p string, i, n int) int {
	startsComponent := i == 0 || p[i-1] == '/'
	after := p[i+n:]
	switch {
	case n < 2 || !startsComponent:
		b.WriteString(`[^/]*`)
	case after == "":
		b.WriteString(`.*`)
	case after[0] == '/':
		b.WriteString(`(?:.*/)?`)
		return n + 1
	default:
		b.WriteString(`[^/]*`)
	}
	return n
}

// quoteByte writes a byte of a pattern so that it means itself.
func quoteByte(c byte) string {
	if c >= 0x80 {
		return string([]byte{c}) // part of a longer character
	}
	return regexp.QuoteMeta(string(rune(c)))
}

// bracket translates a set such as [a-z] or [!0-9] at the start of p. n is its
// length, or 0 if it has no end.
func bracket(p string) (class string, n int) {
	i := 1
	var b strings.Builder
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	for first := true; ; first = false {
		if i >= len(p) {
			return "", 0
		}
		if p[i] == ']' && !first {
			break
		}
		if name, size := posixClass(p[i:]); size > 0 {
			b.WriteString(name)
			i += size
			continue
		}
		lo, size := member(p[i:])
		if size == 0 {
			return "", 0
		}
		i += size
		hi := lo
		if i+1 < len(p) && p[i] == '-' && p[i+1] != ']' {
			if hi, size = member(p[i+1:]); size == 0 {
				return "", 0
			}
			i += 1 + size
		}
		writeRange(&b, lo, hi)
	}
	if negated {
		return `[^/` + b.String() + `]`, i + 1
	}
	if b.Len() == 0 {
		return `[^\x00-\x{10FFFF}]`, i + 1 // only ranges without members
	}
	return `[` + b.String() + `]`, i + 1
}
