package skill

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"heddle/internal/config"
	"heddle/internal/spelling"
)

// Catalog is what can be called. It does not change: another [Find] sees new files.
type Catalog struct {
	byName   map[string]*Skill
	sorted   []*Skill
	shadowed []Shadow
	problems []*config.Problem
	warnings []*config.Problem
}

// candidate is a file that may become part of the catalog.
type candidate struct {
	skill  *Skill
	real   string // the file without links
	source int
	folder int
}

// Find reads the front matter of all skills and commands. Texts are read when they are
// used. A file that is wrong costs only itself, see [Catalog.Problems].
//
// Where several have one name, a skill beats a command, then a later source an earlier
// one, and then a later folder of the source an earlier one. What is not on disk comes
// with the program, and is beaten by all that people wrote.
func Find(sources ...Source) *Catalog {
	c := &Catalog{byName: map[string]*Skill{}}
	var all []candidate
	for i, s := range sources {
		s.Vars = maps.Clone(s.Vars)
		all = append(all, c.read(i, s)...)
	}
	slices.SortStableFunc(all, precedence)
	byFile := map[string]*Skill{}
	for _, one := range all {
		c.add(one, byFile)
	}
	slices.SortFunc(c.sorted, func(a, b *Skill) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(c.shadowed, func(a, b Shadow) int { return cmp.Compare(a.Name, b.Name) })
	return c
}

// precedence orders what beats before what is beaten.
func precedence(a, b candidate) int {
	return cmp.Or(
		falseFirst(a.skill.files.fs != nil, b.skill.files.fs != nil),
		falseFirst(a.skill.Command, b.skill.Command),
		cmp.Compare(b.source, a.source),
		cmp.Compare(b.folder, a.folder),
	)
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// add adds a candidate, unless its name or file is taken. A file that is there twice
// under one name, by a link from one folder to another, is nothing to tell of.
func (c *Catalog) add(one candidate, byFile map[string]*Skill) {
	s := one.skill
	by, taken := c.byName[s.Name]
	same, again := byFile[one.real]
	switch {
	case again && same.Name == s.Name:
	case taken:
		c.shadowed = append(c.shadowed, Shadow{Name: s.Name, Path: s.Path, By: by.Path})
	case again:
		c.shadowed = append(c.shadowed, Shadow{Name: s.Name, Path: s.Path, By: same.Path})
	default:
		c.byName[s.Name], byFile[one.real] = s, s
		c.sorted = append(c.sorted, s)
	}
}

// read reads one source.
func (c *Catalog) read(number int, s Source) []candidate {
	var out []candidate
	w := &walker{files: files{fs: s.FS}, layer: s.Layer}
	read := func(folder int, all []found, command bool) {
		for _, f := range all {
			one, warnings, err := load(s, f, command)
			if err != nil {
				c.problems = append(c.problems, problem(s.Layer, f.path, err))
				continue
			}
			c.warnings = append(c.warnings, warnings...)
			out = append(out, candidate{skill: one, real: realName(s, f.path), source: number, folder: folder})
		}
	}
	w.seen = map[string]bool{}
	for i, dir := range s.Skills {
		read(i, w.skills(dir, 0), false)
	}
	w.seen, w.count = map[string]bool{}, 0
	for i, dir := range s.Commands {
		read(i, w.commands(dir, "", 0), true)
	}
	c.problems = append(c.problems, w.problems...)
	c.warnings = append(c.warnings, w.warnings...)
	return out
}

// realName is the same for all paths to one file.
func realName(s Source, path string) string {
	if s.FS != nil {
		return s.Name + "\x00" + path
	}
	return files{}.real(path)
}

func problem(layer config.Layer, path string, err error) *config.Problem {
	if p, ok := errors.AsType[*config.Problem](err); ok {
		return p
	}
	return at(layer, path, err.Error())
}

// Get returns what is called by a name.
func (c *Catalog) Get(name string) (*Skill, bool) {
	s, ok := c.byName[name]
	return s, ok
}

// List returns all, sorted by name.
func (c *Catalog) List() []*Skill { return slices.Clone(c.sorted) }

// Shadowed returns the files that cannot be called, sorted by name.
func (c *Catalog) Shadowed() []Shadow { return slices.Clone(c.shadowed) }

// Problems say what was left out, and why.
func (c *Catalog) Problems() []*config.Problem { return slices.Clone(c.problems) }

// Warnings say what is wrong with files that can be called all the same.
func (c *Catalog) Warnings() []*config.Problem { return slices.Clone(c.warnings) }

// Suggest returns the name that was probably meant by one that is unknown, or "".
func (c *Catalog) Suggest(name string) string {
	best, distance := "", max(len(name)/3, 1)+1
	for _, s := range c.sorted {
		if _, own, ok := strings.Cut(s.Name, ":"); ok && own == name {
			return s.Name
		}
		if d := spelling.Distance(name, s.Name); d < distance {
			best, distance = s.Name, d
		}
	}
	return best
}
