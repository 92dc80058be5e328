package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// offLimits is the folder in which a path lies that the agent may not change; empty: none.
// Of these folders and the agent's own root the innermost counts.
func (j *judge) offLimits(file string) string {
	if len(j.off) == 0 || file == "" {
		return ""
	}
	fold := func(s string) string { return s }
	if foldCase {
		fold = strings.ToLower
	}
	best, own := "", ""
	if _, ok := below(fold(j.root), fold(file)); ok {
		own = j.root
	}
	for _, dir := range j.off {
		if _, ok := below(fold(dir), fold(file)); ok && len(dir) > max(len(best), len(own)) {
			best = dir
		}
	}
	return best
}

// barred is the folder off limits in which a change of l would be: where the file is, or
// where the name is that links to it.
func (j *judge) barred(l location) string {
	if len(j.off) == 0 {
		return ""
	}
	dir, name := path.Split(l.named)
	for _, file := range []string{l.real, l.named, path.Join(resolve(j.root, dir), name)} {
		if where := j.offLimits(file); where != "" {
			return where
		}
	}
	return ""
}

// keepOff refuses a change of a file that is off limits.
func (j *judge) keepOff(l location) {
	if where := j.barred(l); where != "" {
		j.bar("it changes " + l.named + ", and " + where + " is not yours to change")
	}
}

// bar refuses what would change something that is off limits, and says what to do instead.
func (j *judge) bar(why string) {
	j.add(finding{behavior: Deny, final: true, reason: fmt.Sprintf(
		"%s: work in your own checkout, %s; what you change there is brought over by whoever sent you", why, j.root)})
}

// keepOffUnread refuses a command that could not be taken apart, if it names a folder that
// is off limits.
func (j *judge) keepOffUnread(text string, err error) {
	rest := strings.ReplaceAll(text, j.root, "")
	for _, dir := range j.off {
		if strings.Contains(rest, dir) {
			j.bar(err.Error() + ", and it names " + dir + ", where you may only read")
			return
		}
	}
}

// stayOff refuses a part of a command that is seen to change what is off limits. Reading
// there is free; and what a program does that is not known here, outside of these folders
// and without a word of them, is not seen.
func (r *run) stayOff(p *part) {
	if len(r.off) == 0 {
		return
	}
	for _, d := range p.redirects {
		if d.write {
			r.keepOffAll(r.guesses(d.target))
		}
	}
	if len(p.words) == 0 {
		return
	}
	for _, view := range append(slices.Clone(p.chain.hidden), p.chain.core()) {
		if !view[0].literal {
			continue
		}
		r.keepOffAll(r.writtenBy(writes(view)))
		if path.Base(view[0].text) == "git" {
			r.keepGitOff(p, view)
		} else if !readOnly(view, false) {
			r.keepOffAll(r.foldersOf(view))
		}
	}
	if !p.scanOnly && !r.changesNothing(p) {
		for _, dir := range r.bases {
			if where := r.barred(locate(r.root, "/", dir)); where != "" {
				r.bar("it runs " + brief(formsOf(p.words).src) + " in " + dir + ", where you may only read")
				return
			}
		}
	}
}

func (r *run) keepOffAll(names []string) {
	for _, name := range names {
		for _, l := range r.locations(name) {
			r.keepOff(l)
		}
	}
}

// foldersOf are the folders in which a command is told to work.
func (r *run) foldersOf(view []word) []string {
	var names []string
	for _, w := range valuesOf(view[1:], "-C", "--directory", "--prefix", "--cwd", "--chdir") {
		names = append(names, r.guesses(w)...)
	}
	return names
}

// changesNothing reports whether a part changes nothing, or only files that it names.
func (r *run) changesNothing(p *part) bool {
	c := &p.chain
	switch {
	case p.function:
		return true // its body is judged
	case c.unknown != "" || c.exec || unsafeAssign(p) != "":
		return false
	case c.nested:
		return true // what it holds is judged
	case readOnly(c.core(), c.extra):
		return true
	}
	w := writes(c.core())
	return w.all && !c.extra && !slices.ContainsFunc(c.core(), func(w word) bool { return !w.literal })
}

// keepGitOff refuses a git command that changes something in a checkout that is off
// limits, or that all checkouts share.
func (r *run) keepGitOff(p *part, view []word) {
	g := parseGit(view[1:])
	if g.reads() {
		return
	}
	dirs := slices.Concat(g.dirs, r.script.places)
	for _, w := range slices.Concat(p.chain.views, p.chain.hidden) {
		for _, a := range w { // env GIT_DIR=… git
			if name, _, ok := strings.Cut(a.text, "="); ok && leadsGit(name) {
				dirs = append(dirs, assignedTo([]word{a}, name)...)
			}
		}
	}
	for _, dir := range dirs {
		for _, name := range r.guesses(dir) {
			for _, l := range r.locations(name) {
				if where := r.barred(l); where != "" {
					r.bar("it has git change something in " + where)
					return
				}
			}
		}
	}
	if g.sub == "push" {
		r.keepOffAll(r.firstOperand(g.args))
	}
	if what := g.changesShared(); what != "" && r.inOwn(g.dirs) {
		r.bar("git " + g.sub + " changes " + what + ", which all checkouts of the repository share")
	}
}

func (r *run) firstOperand(args []word) []string {
	if list := operands(args); len(list) > 0 {
		return r.guesses(list[0])
	}
	return nil
}

// inOwn reports whether git may work in the agent's own checkout.
func (r *run) inOwn(dirs []word) bool {
	names := r.bases
	if len(dirs) > 0 {
		names = r.guesses(dirs[len(dirs)-1])
	}
	return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool {
		return slices.ContainsFunc(r.locations(name), func(l location) bool {
			_, ok := below(r.root, l.real)
			return ok
		})
	})
}
