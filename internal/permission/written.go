package permission

import (
	"os"
	"path"
	"slices"
	"strings"
)

// writing is what a command changes, as far as its words tell.
type writing struct {
	files []word // what it makes, changes or removes
	// into is one of files to which each of sources goes: under its own name, if into is
	// a folder.
	into    *word
	sources []word
	// all says that it changes nothing else.
	all bool
}

// writes takes a command apart that is known to change files. Of one that is not it tells
// where it was told to write or to work.
func writes(view []word) writing {
	if !view[0].literal {
		return writing{}
	}
	args := view[1:]
	switch path.Base(view[0].text) {
	case "rm", "rmdir", "unlink", "shred", "touch", "mkdir", "mkfifo", "mknod", "tee", "truncate", "chmod", "chown", "chgrp", "setfacl":
		return writing{files: operands(args), all: true}
	case "mv", "ln": // another name for a file is a way to change it
		w := transfer(args, true)
		w.files = append(w.files, w.sources...)
		return w
	case "cp":
		w := transfer(args, true)
		if slices.ContainsFunc(args, func(a word) bool { return shortFlag(a, "ls") || a.text == "--link" || a.text == "--symbolic-link" }) {
			w.files = append(w.files, w.sources...)
		}
		return w
	case "install":
		if slices.ContainsFunc(args, func(a word) bool { return shortFlag(a, "d") || a.text == "--directory" }) {
			return writing{files: operands(args), all: true}
		}
		return transfer(args, true)
	case "rsync", "scp":
		return transfer(args, false)
	case "dd":
		return writing{files: assignedTo(args, "of"), all: true}
	case "sed", "perl":
		if slices.ContainsFunc(args, func(a word) bool { return shortFlag(a, "i") || strings.HasPrefix(a.text, "--in-place") }) {
			return writing{files: edited(args), all: true}
		}
	case "find":
		return writing{files: found(args)}
	case "git":
		return gitWrites(args)
	case "tar", "bsdtar":
		return writing{files: valuesOf(args, "-C", "--directory")}
	case "unzip", "patch":
		return writing{files: append(valuesOf(args, "-d", "--directory"), operands(args)...)}
	case "wget":
		return writing{files: valuesOf(args, "-O", "--output-document", "-P", "--directory-prefix")}
	}
	return writing{files: valuesOf(args, "-o", "--output")}
}

// operands are the arguments that are no options. What may be either is among them.
func operands(args []word) []word {
	var list []word
	for i, w := range args {
		switch {
		case w.literal && w.text == "--":
			return append(list, args[i+1:]...)
		case !w.literal || !w.flag():
			list = append(list, w)
		}
	}
	return list
}

// shortFlag reports whether a word is a group of short options with one of letters.
func shortFlag(w word, letters string) bool {
	return w.literal && w.flag() && !strings.HasPrefix(w.text, "--") && strings.ContainsAny(w.text[1:], letters)
}

// transfer takes a command apart that brings files to where its last argument says or,
// if it has an option for that, -t.
func transfer(args []word, targeted bool) writing {
	here := word{src: ".", text: ".", literal: true}
	var into *word
	var rest []word
	for i := 0; i < len(args); i++ {
		w := args[i]
		switch {
		case w.literal && w.text == "--":
			rest = append(rest, args[i+1:]...)
			i = len(args)
		case !w.literal || !w.flag():
			rest = append(rest, w)
		case targeted:
			dir, next := targetOf(w.text)
			if next && i+1 < len(args) {
				i++
				into = &args[i]
			} else if dir != "" {
				into = &word{src: dir, text: dir, literal: true}
			}
		}
	}
	switch {
	case into != nil:
	case len(rest) > 1:
		into, rest = &rest[len(rest)-1], rest[:len(rest)-1]
	case len(rest) == 1: // ln -s /a/b makes b here
		into = &here
	default:
		return writing{all: true}
	}
	return writing{files: []word{*into}, into: into, sources: rest, all: true}
}

// targetOf reads -t DIR, also behind other letters: dir is the folder, or it is the next
// word.
func targetOf(flag string) (dir string, next bool) {
	if long, ok := strings.CutPrefix(flag, "--target-directory"); ok {
		return strings.TrimPrefix(long, "="), long == ""
	}
	if strings.HasPrefix(flag, "--") {
		return "", false
	}
	_, dir, ok := strings.Cut(flag, "t")
	return dir, ok && dir == ""
}

// assignedTo are the values of the arguments name=value.
func assignedTo(args []word, name string) []word {
	var list []word
	for _, w := range args {
		if value, ok := strings.CutPrefix(w.text, name+"="); ok {
			w.text, w.pattern = value, strings.TrimPrefix(w.pattern, name+"=")
			list = append(list, w)
		}
	}
	return list
}

// valuesOf are the values of options: the next word, or what follows = or a single letter.
func valuesOf(args []word, names ...string) []word {
	var list []word
	for i, w := range args {
		for _, name := range names {
			value, joined := strings.CutPrefix(w.text, name)
			switch {
			case !joined:
			case value == "" && w.literal && i+1 < len(args):
				list = append(list, args[i+1])
			case value != "" && (value[0] == '=' || !strings.HasPrefix(name, "--")):
				w.text, w.pattern = strings.TrimPrefix(value, "="), ""
				list = append(list, w)
			}
		}
	}
	return list
}

// edited are the files of sed -i and its like: not the script, wherever it stands.
func edited(args []word) []word {
	scripted, skip := false, false
	var files []word
	for _, w := range args {
		switch {
		case skip:
			skip = false
		case w.literal && w.flag():
			// -e takes the next word, and -i what is joined to it, so -ie is no -e. But
			// in perl -pie is both, and a script taken for a file does no harm.
			skip = w.text == "--expression" || w.text == "--file" || !strings.HasPrefix(w.text, "--") && !strings.HasPrefix(w.text, "-i") && strings.ContainsAny(w.text[len(w.text)-1:], "ef")
			scripted = scripted || skip || givesPattern(w)
		default:
			files = append(files, w)
		}
	}
	if !scripted && len(files) > 0 {
		files = files[1:]
	}
	return files
}

// found are the folders in which find looks, if it does more than to look.
func found(args []word) []word {
	end := slices.IndexFunc(args, func(w word) bool { return w.literal && (w.flag() || w.text == "(" || w.text == "!") })
	if end < 0 {
		return nil
	}
	changes := false
	for i, w := range args[end:] {
		switch w.text {
		case "-delete", "-fprint", "-fprint0", "-fprintf", "-fls":
			changes = true
		case "-exec", "-execdir", "-ok", "-okdir":
			command := args[end+i+1:]
			if stop := slices.IndexFunc(command, func(w word) bool { return w.text == ";" || w.text == "+" }); stop >= 0 {
				command = command[:stop]
			}
			changes = changes || len(command) == 0 || !command[0].literal || !readOnly(command, false)
		}
	}
	switch {
	case !changes:
		return nil
	case end == 0:
		return []word{{src: ".", text: ".", literal: true}}
	}
	return args[:end]
}

// writtenBy are the names of the files that a command changes, as far as they are known.
func (r *run) writtenBy(w writing) []string {
	var names []string
	for _, file := range w.files {
		names = append(names, r.guesses(file)...)
	}
	if w.into == nil {
		return names
	}
	for _, into := range r.guesses(*w.into) {
		if !strings.HasSuffix(into, "/") && !slices.ContainsFunc(r.locations(into), isFolder) {
			continue
		}
		for _, source := range w.sources {
			for _, name := range r.guesses(source) {
				names = append(names, into+"/"+path.Base(name))
			}
		}
	}
	return names
}

func isFolder(l location) bool {
	info, err := os.Stat(l.real)
	return err == nil && info.IsDir()
}

// guesses are the files that a word stands for or, if they are not known, the folder that
// what is known of it leads into.
func (r *run) guesses(w word) []string {
	if names, ok := r.fileNames(w); ok {
		return names
	}
	dir, _ := path.Split(w.text)
	if dir == "" || w.literal {
		return nil
	}
	if rest, ok := strings.CutPrefix(dir, "~/"); ok && w.tilde {
		if len(r.home) == 0 {
			return nil
		}
		dir = r.home[0] + "/" + rest
	}
	return []string{dir}
}
