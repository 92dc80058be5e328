package permission

import (
	"os"
	"path"
	"slices"
	"strings"
)

// fileCommand says how a command uses the files it is given: it reads them, or
// changes them, too. pattern reports that the first argument is not a file. What only
// reads is known by that, so that the two lists cannot differ.
func fileCommand(name string) (known, writes, pattern bool) {
	switch name {
	case "less", "more", "uniq", "xxd", "base64", "base32", "bat", "source", ".", "gzip", "gunzip", "zcat", "tar", "zip",
		"vi", "vim", "view", "nano", "emacs":
		return true, false, false
	case "grep", "egrep", "fgrep", "rg", "awk", "gawk", "mawk", "jq", "yq", "fd", "fdfind":
		return true, false, true
	case "sed", "perl":
		return true, true, true
	case "cp", "mv", "rm", "rmdir", "touch", "mkdir", "tee", "truncate", "ln", "install", "rsync", "dd", "shred", "unlink", "chmod", "chown":
		return true, true, false
	case "echo", "cd", "which", "type", "basename", "dirname", "seq", "sleep", "exit", "return":
		return false, false, false // their arguments are no files
	}
	_, known = reads(name)
	return known, false, false
}

// fileArguments holds the files named in a command against the rules for files.
func (r *run) fileArguments(p *part) {
	if !r.writeGuard {
		return
	}
	for _, view := range slices.Concat(p.chain.views, p.chain.hidden) {
		if r.readGuard && searches(view) {
			r.add(r.doubtFile("it searches every file of a folder, also those that rules keep from being read; the tool Grep leaves them out", true))
		}
		files, writes, known := fileWords(view)
		if !known || !writes && !r.readGuard {
			continue
		}
		for _, w := range files {
			r.fileArgument(w, writes)
		}
		if p.chain.extra {
			r.add(r.doubtFile("it cannot be told which files "+view[0].text+" gets from its input", true))
		}
	}
}

// fileWords are the words of a command that may name files, options among them, and
// whether it changes those files. It knows nothing of most commands.
func fileWords(view []word) (files []word, writes, known bool) {
	if !view[0].literal {
		return nil, false, false
	}
	name, args := path.Base(view[0].text), view[1:]
	if name == "git" {
		return gitFiles(args), false, true
	}
	known, writes, pattern := fileCommand(name)
	if pattern && !slices.ContainsFunc(args, givesPattern) {
		args = withoutFirst(args)
	}
	return args, writes, known
}

// gitFiles are the words of a git command that may name files of the working tree. The
// content of a whole commit names none: rules do not see it.
func gitFiles(args []word) []word {
	files := make([]word, 0, len(args))
	for _, w := range args {
		if _, file, ok := strings.Cut(w.text, ":"); ok && w.literal && !w.flag() { // HEAD:file
			w.text = file
		}
		if w.literal {
			files = append(files, w)
		}
	}
	return files
}

// searches reports whether a command shows what is in files that it finds itself.
func searches(view []word) bool {
	if !view[0].literal {
		return false
	}
	args := view[1:]
	flagged := func(short string, long ...string) bool {
		return slices.ContainsFunc(args, func(w word) bool {
			name, _, _ := strings.Cut(w.text, "=")
			return w.flag() && (!strings.HasPrefix(name, "--") && strings.ContainsAny(name, short) || slices.Contains(long, name))
		})
	}
	switch path.Base(view[0].text) {
	case "grep", "egrep", "fgrep":
		return flagged("rRd", "--recursive", "--dereference-recursive", "--directories")
	case "diff":
		return flagged("r", "--recursive")
	case "rg":
		return true
	case "git":
		return slices.ContainsFunc(args, func(w word) bool { return w.text == "grep" })
	}
	return false
}

// prying is the finding for reading a file that is nobody else's business, although
// it is a command that reads it: outside of the working directories, a command may
// read what every user of the machine may read, unless it lies in a home directory.
func (j *judge) prying(l location) (finding, bool) {
	if j.mode == Bypass || j.readable(l) || !j.private(l) {
		return finding{}, false
	}
	f := j.readFile(l)
	return f, f.behavior == Ask
}

func (j *judge) private(l location) bool {
	for _, home := range append([]string{"/home", "/root", "/Users"}, j.home...) {
		if _, ok := below(home, l.real); ok {
			return true
		}
	}
	info, err := os.Stat(l.real)
	return err == nil && info.Mode().Perm()&0o004 == 0
}

// pries returns the finding for a command that only reads, but private files. What its
// words are when it runs is not known of all of them: those are let through.
func (r *run) pries(view []word) (finding, bool) {
	files, _, known := fileWords(view)
	if !known {
		return finding{}, false
	}
	here := word{literal: true, text: ".", src: "."} // ls alone
	for _, w := range slices.Concat(files, []word{here}) {
		names, _ := r.fileNames(w)
		for _, name := range names {
			if r.lost && !strings.HasPrefix(name, "/") {
				continue
			}
			for _, l := range r.locations(name) {
				if f, ok := r.prying(l); ok {
					return f, true
				}
			}
		}
	}
	return finding{}, false
}

// givesPattern reports whether an option holds the pattern of grep or the script
// of sed, so that every other argument is a file.
func givesPattern(w word) bool {
	return strings.HasPrefix(w.text, "-e") || strings.HasPrefix(w.text, "-f") || strings.HasPrefix(w.text, "--regexp") ||
		strings.HasPrefix(w.text, "--file") || strings.HasPrefix(w.text, "--expression")
}

// withoutFirst drops the first word that is not an option.
func withoutFirst(args []word) []word {
	i := slices.IndexFunc(args, func(w word) bool { return !w.flag() })
	if i < 0 {
		return args
	}
	return slices.Delete(slices.Clone(args), i, i+1)
}

func (r *run) fileArgument(w word, writes bool) {
	names, ok := r.fileNames(w)
	if !ok {
		r.add(r.doubtFile("it cannot be told which file "+w.src+" is", true))
		return
	}
	for _, name := range names {
		if r.lost && !strings.HasPrefix(name, "/") {
			r.add(r.doubtFile("it cannot be told where "+name+" is after the cd", true))
			return
		}
		for _, l := range r.locations(name) {
			if f, ok := r.fileRule(l, "Read"); ok {
				r.add(f)
			}
			if !writes {
				continue
			}
			if f, ok := r.fileRule(l, "Edit"); ok {
				r.add(f)
			}
		}
	}
}
