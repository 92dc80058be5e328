package permission

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// redirect judges a file that the shell opens.
func (r *run) redirect(p *part, d redirect) {
	if d.write {
		r.protectAll(r.guesses(d.target))
	}
	name, known := r.path(d.target)
	if !known || d.target.tilde && (d.write || r.readGuard) || r.lost && !strings.HasPrefix(name, "/") {
		switch {
		case d.write && !p.scanOnly:
			r.add(r.doubtFile("it cannot be told which file "+d.target.src+" is that it writes", r.writeGuard))
		case !d.write && r.readGuard:
			r.add(r.doubtFile("it cannot be told which file "+d.target.src+" is that it reads", r.readGuard))
		}
		return
	}
	for _, l := range r.locations(name) {
		switch {
		case !d.write:
			if f, ok := r.fileRule(l, "Read"); ok {
				r.add(f)
			} else if f, ok := r.prying(l); ok && r.allows() == nil {
				r.add(f)
			}
		case p.scanOnly:
			if f, ok := r.fileRule(l, "Edit"); ok {
				r.add(f)
			}
		default:
			r.add(r.writeFile(l, r.allows()))
		}
	}
}

// doubtFile is for a file that is not known. Who allows everything allows it,
// too, unless rules guard such files.
func (r *run) doubtFile(why string, guarded bool) finding {
	switch {
	case r.mode == Bypass && !guarded:
		return finding{behavior: Allow}
	case r.mode == Plan:
		return inPlan(why)
	case r.allows() != nil && !guarded:
		return byRule(Allow, r.allows())
	}
	return finding{behavior: Ask, reason: why}
}

// maxEntries is how many names of a directory are held against a pattern.
const maxEntries = 2000

// fileNames are the files that an argument may stand for.
func (r *run) fileNames(w word) ([]string, bool) {
	if w.literal {
		text := w.text
		if w.flag() {
			_, value, ok := strings.Cut(text, "=")
			if !ok && len(text) > 2 && text[1] != '-' {
				value = text[2:] // -ffile
			}
			text = value
		} else if _, value, ok := strings.Cut(text, "="); ok { // of=file
			return []string{text, value}, true
		}
		if text == "" {
			return nil, true
		}
		if w.tilde {
			name, ok := r.path(w)
			return []string{name}, ok
		}
		return []string{text}, true
	}
	if w.pattern == "" || w.tilde {
		return nil, false
	}
	return r.matching(w.pattern)
}

// matching returns the files that a pattern stands for now. Only its last part
// may be one: looking further could take for ever.
func (r *run) matching(pattern string) (names []string, ok bool) {
	dir, last := path.Split(pattern)
	if last == "" || strings.ContainsAny(dir, `*?[\`) {
		return nil, false
	}
	hidden := last[0] == '.' || last[0] == '[' || strings.Contains(r.script.source, "dotglob")
	for _, l := range r.locations(dir + ".") {
		entries, ok := list(l.real)
		if !ok {
			return nil, false
		}
		for _, e := range entries {
			if segment(last, e) && (hidden || e[0] != '.') {
				names = append(names, filepath.Join(l.named, e))
			}
		}
	}
	return names, true
}

// list returns the names in a directory, if there are not too many. What is not
// there has none.
func list(dir string) ([]string, bool) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	names, err := f.Readdirnames(maxEntries + 1)
	if err != nil && err != io.EOF {
		return nil, false
	}
	return names, len(names) <= maxEntries
}

// edits returns the files that one of the few plain commands changes which
// acceptEdits lets through, if all of them are known.
func edits(words []word) ([]word, bool) {
	flags := ""
	switch words[0].text {
	case "mkdir", "rmdir":
		flags = "pv"
	case "touch":
		flags = "acm"
	case "rm":
		flags = "rRfivdI"
	case "mv":
		flags = "finuv"
	case "cp":
		flags = "aRrfinpuvdLPH"
	case "sed":
		files, inPlace, ok := sedFiles(words[1:])
		return files, ok && inPlace && known(files)
	default:
		return nil, false
	}
	var files []word
	for i, w := range words[1:] {
		switch {
		case w.literal && w.text == "--":
			files = append(files, words[i+2:]...)
			return files, known(files)
		case !w.flag():
			files = append(files, w)
		case !w.literal || strings.Trim(w.text[1:], flags) != "" && !slices.Contains([]string{"--parents", "--recursive", "--force", "--verbose"}, w.text):
			return nil, false
		}
	}
	return files, known(files)
}

func known(words []word) bool {
	return len(words) > 0 && !slices.ContainsFunc(words, func(w word) bool { return !w.literal })
}

// edit judges a command that only changes these files.
func (r *run) edit(files []word) finding {
	worst := finding{behavior: Allow}
	for _, w := range files {
		name, ok := r.path(w)
		if !ok || r.lost && !strings.HasPrefix(name, "/") {
			return finding{behavior: Ask, reason: "it cannot be told which file " + w.src + " is that it changes"}
		}
		for _, l := range r.locations(name) {
			if f := r.writeFile(l, nil); f.weight() > worst.weight() {
				worst = f
			}
		}
	}
	return worst
}

// critical says that a command removes a directory that nobody wants to lose.
func (r *run) critical(p *part) string {
	for _, view := range slices.Concat(p.chain.views, p.chain.hidden) {
		if !view[0].literal {
			continue
		}
		if name := path.Base(view[0].text); name != "rm" && name != "rmdir" {
			continue
		}
		for _, w := range view[1:] {
			if !w.literal || !w.flag() {
				if r.criticalPath(w) {
					return "it removes " + w.src
				}
			}
		}
	}
	return ""
}

// criticalPath reports whether a word names the root or a directory in it, the
// home directory, the working directory or one above it, or all that is in one
// of these. A variable may be empty: $DIR/* is /* then.
func (r *run) criticalPath(w word) bool {
	src := strings.NewReplacer(`"`, "", "'", "", "{", "", "}", "").Replace(w.src)
	if strings.HasPrefix(src, "$") && !strings.Contains(w.src, ":?") {
		variable, rest, _ := strings.Cut(src, "/")
		rest = strings.Trim(rest, "/*.")
		if rest == "" && (variable != src || variable == "$HOME" || variable == "$PWD") {
			return true
		}
	}
	text := w.text
	if !w.literal {
		if w.pattern == "" {
			return false
		}
		text = w.pattern
	}
	text = strings.TrimSuffix(text, "*")
	if w.tilde {
		if len(r.home) == 0 {
			return true
		}
		rest := text[1:]
		if rest != "" && rest[0] != '/' {
			return strings.Trim(rest, "/") == rest // ~someone
		}
		text = r.home[0] + rest
	}
	if text == "" { // a star alone
		text = "."
	}
	if strings.ContainsAny(text, "*?[") {
		return false
	}
	for _, l := range r.locations(text) {
		if r.criticalDir(l.named) || l.real != "" && r.criticalDir(l.real) {
			return true
		}
	}
	return false
}

func (r *run) criticalDir(dir string) bool {
	if dir == "/" || filepath.Dir(dir) == "/" || slices.Contains(r.home, dir) {
		return true
	}
	for _, here := range []string{r.dir, r.root} {
		if _, above := below(dir, here); above {
			return true
		}
	}
	return false
}
