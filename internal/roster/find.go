package roster

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/config"
	"heddle/internal/spelling"
)

// Roster is the agents that can be called. It does not change: another [Find] sees new
// files.
type Roster struct {
	byName   map[string]*Agent
	sorted   []*Agent
	shadowed []Shadow
	problems []*config.Problem
	warnings []*config.Problem
}

// candidate is a definition that may become part of the roster.
type candidate struct {
	agent  *Agent
	real   string // the file without links; "" if it is not one of its own
	source int
	place  int // in the source
}

// Find reads all definitions. One that is wrong costs only itself, see [Roster.Problems].
//
// Where several have one name, a later source beats an earlier one, and then a later
// place of the source an earlier one. In one folder the order of the walk decides.
func Find(sources ...Source) *Roster {
	r := &Roster{byName: map[string]*Agent{}}
	var all []candidate
	for i, s := range sources {
		all = append(all, r.read(i, s)...)
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.source, a.source), cmp.Compare(b.place, a.place))
	})
	byFile := map[string]*Agent{}
	for _, one := range all {
		r.add(one, byFile)
	}
	slices.SortFunc(r.sorted, func(a, b *Agent) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortStableFunc(r.shadowed, func(a, b Shadow) int { return cmp.Compare(a.Name, b.Name) })
	return r
}

// add adds a candidate, unless its name or file is taken. A file that is there twice
// under one name, by a link from one folder to another, is nothing to tell of.
func (r *Roster) add(one candidate, byFile map[string]*Agent) {
	a := one.agent
	by, taken := r.byName[a.Name]
	same, again := byFile[one.real]
	switch {
	case again && same.Name == a.Name:
	case taken:
		r.shadowed = append(r.shadowed, Shadow{Name: a.Name, Path: a.Path, By: by.Path})
	case again:
		r.shadowed = append(r.shadowed, Shadow{Name: a.Name, Path: a.Path, By: same.Path})
	default:
		r.byName[a.Name] = a
		r.sorted = append(r.sorted, a)
		if one.real != "" {
			byFile[one.real] = a
		}
	}
}

// read reads one source.
func (r *Roster) read(number int, s Source) []candidate {
	var out []candidate
	keep := func(place int, real string, a *Agent) {
		if a != nil {
			out = append(out, candidate{agent: a, real: real, source: number, place: place})
		}
	}
	w := &walker{files: files{s.FS}, layer: s.Layer, builtin: s.builtin, seen: map[string]bool{}}
	real := func(path string) string {
		if s.FS != nil {
			return s.Name + "\x00" + path
		}
		return w.files.real(path)
	}
	place := 0
	for _, dir := range s.Folders {
		for _, f := range w.walk(filepath.Clean(dir)) {
			keep(place, real(f.path), r.file(s, f))
		}
		place++
	}
	for _, path := range s.Files {
		keep(place, real(path), r.file(s, found{path: path, kind: KindClaude}))
		place++
	}
	r.tell(w.problems, w.warnings)
	for _, a := range r.object(s) {
		keep(place, "", a)
	}
	return out
}

// file reads one file. It returns nil if that defines no agent.
func (r *Roster) file(s Source, f found) *Agent {
	a, warnings, err := load(s, f)
	if err != nil {
		r.tell([]*config.Problem{asProblem(err, config.Origin{Layer: s.Layer, File: f.path})}, nil)
		return nil
	}
	r.tell(nil, warnings)
	return a
}

// asProblem gives an error a place, if it has none.
func asProblem(err error, at config.Origin) *config.Problem {
	if p, ok := errors.AsType[*config.Problem](err); ok {
		return p
	}
	return &config.Problem{Origin: at, Text: err.Error()}
}

// tell keeps what there is to say, as one line each.
func (r *Roster) tell(problems, warnings []*config.Problem) {
	for _, p := range problems {
		r.problems = append(r.problems, &config.Problem{Origin: p.Origin, Text: printable(p.Text)})
	}
	for _, p := range warnings {
		r.warnings = append(r.warnings, &config.Problem{Origin: p.Origin, Text: printable(p.Text)})
	}
}

// Get returns what is called by a name.
func (r *Roster) Get(name string) (*Agent, bool) {
	a, ok := r.byName[name]
	return a, ok
}

// List returns all, sorted by name, also those that are hidden.
func (r *Roster) List() []*Agent { return slices.Clone(r.sorted) }

// Shadowed returns the definitions that cannot be called, sorted by name.
func (r *Roster) Shadowed() []Shadow { return slices.Clone(r.shadowed) }

// Problems say what was left out, and why.
func (r *Roster) Problems() []*config.Problem { return slices.Clone(r.problems) }

// Warnings say what is wrong with definitions that can be called all the same, and which
// files were taken for documentation though they may be none.
func (r *Roster) Warnings() []*config.Problem { return slices.Clone(r.warnings) }

// Suggest returns the name that was probably meant by one that is unknown, or "". It
// suggests none that is hidden.
func (r *Roster) Suggest(name string) string {
	if len(name) > maxName {
		return ""
	}
	best, distance := "", max(len(name)/3, 1)+1
	for _, a := range r.sorted {
		if a.Hidden {
			continue
		}
		if _, own, ok := strings.Cut(a.Name, ":"); ok && strings.EqualFold(own, name) {
			return a.Name
		}
		if d := spelling.Distance(strings.ToLower(name), strings.ToLower(a.Name)); d < distance {
			best, distance = a.Name, d
		}
	}
	return best
}
