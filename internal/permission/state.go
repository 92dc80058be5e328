package permission

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// state is what the gate goes by at a moment. It does not change: an update
// makes another one.
type state struct {
	mode             Mode
	allow, ask, deny []*compiled
	given            []string // further working directories, as they were given
	dirs             []string // and with symlinks resolved
	home             []string // the home directory, and its target
	guarded          bool     // there are ask or deny rules for commands
	readGuard        bool     // there are ask or deny rules for reading files
	writeGuard       bool     // or for changing them

	special map[string]*state // of agents for which it is different
}

// of is the state as it is for an agent.
func (s *state) of(agent string) *state {
	if own := s.special[agent]; own != nil {
		return own
	}
	return s
}

// compiled is a rule that knows the directories its path starts from.
type compiled struct {
	*Rule
	dirs []string // absolute; empty for what starts at the working directory
	glob glob
	fold bool // compare without regard to case
}

// foldCase reports whether the file system usually takes .ENV for .env.
const foldCase = runtime.GOOS == "darwin"

func (g *Gate) compile(allow, ask, deny []Rule, mode Mode, dirs []string) *state {
	s := g.compileFor(allow, ask, deny, mode, dirs)
	for agent, m := range g.members {
		own, more := g.effective(agent, mode)
		if own == mode && len(m.allow)+len(more) == 0 {
			continue
		}
		if s.special == nil {
			s.special = map[string]*state{}
		}
		s.special[agent] = g.compileFor(slices.Concat(allow, m.allow), ask, slices.Concat(deny, more), own, dirs)
	}
	return s
}

func (g *Gate) compileFor(allow, ask, deny []Rule, mode Mode, dirs []string) *state {
	s := &state{mode: mode, given: dirs, home: both(g.home)}
	for _, d := range dirs {
		s.dirs = append(s.dirs, resolve("", d))
	}
	s.allow = s.compileList(Allow, allow)
	s.ask = s.compileList(Ask, ask)
	s.deny = s.compileList(Deny, deny)
	for _, c := range slices.Concat(s.ask, s.deny) {
		s.guarded = s.guarded || c.kind == commandRule
		s.readGuard = s.readGuard || c.kind == pathRule && c.tool == "Read"
		s.writeGuard = s.writeGuard || c.kind == pathRule
	}
	return s
}

// compileList leaves out the rules that have no effect.
func (s *state) compileList(b Behavior, rules []Rule) []*compiled {
	list := make([]*compiled, 0, len(rules))
	for i := range rules {
		r := &rules[i]
		if r.warning(b) != "" {
			continue
		}
		c := &compiled{Rule: r, glob: r.path, fold: foldCase && b != Allow}
		if r.kind == pathRule {
			switch r.anchor {
			case atRoot:
				c.dirs = []string{"/"}
			case atHome:
				c.dirs = s.home
			case atSource:
				c.dirs = both(r.Source.Anchor)
			}
			if b != Allow && c.glob.single {
				c.glob = c.glob.deep()
			}
			if c.fold {
				c.glob = c.glob.lower()
			}
		}
		list = append(list, c)
	}
	return list
}

// both is a directory and what it is when symlinks are resolved.
func both(dir string) []string {
	if dir == "" {
		return nil
	}
	l := locate("", "/", dir)
	if l.real == l.named {
		return []string{l.named}
	}
	return []string{l.named, l.real}
}

// matches reports whether a path rule is about the file: an allow rule only if
// both its name and what it links to fit, others if either does.
func (c *compiled) matches(b Behavior, f location, current []string) bool {
	dirs := c.dirs
	if c.anchor == atCurrent || c.anchor == atSource && len(dirs) == 0 {
		dirs = current // what comes from no file starts where the project is
	}
	named := c.fits(dirs, f.named)
	if f.real == f.named {
		return named
	}
	if b == Allow {
		return named && c.fits(dirs, f.real)
	}
	return named || c.fits(dirs, f.real)
}

func (c *compiled) fits(dirs []string, file string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		if c.fold {
			return c.glob.match(strings.ToLower(dir), strings.ToLower(file))
		}
		return c.glob.match(dir, file)
	})
}

func (g glob) lower() glob {
	segments := make([]string, len(g.segments))
	for i, s := range g.segments {
		segments[i] = strings.ToLower(s)
	}
	return glob{segments: segments}
}

// without returns dirs less those in gone.
func without(dirs, gone []string) []string {
	return slices.DeleteFunc(slices.Clone(dirs), func(d string) bool {
		return slices.ContainsFunc(gone, func(x string) bool { return filepath.Clean(x) == filepath.Clean(d) })
	})
}
