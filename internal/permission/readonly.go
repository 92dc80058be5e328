package permission

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// limits say with which words a command that reads might do more than that.
type limits struct {
	short string   // letters of options
	long  []string // long options; programs take any beginning that is clear
	words []string // whole words, for programs with options of one dash
}

// reads returns the limits of a command that only reads, or false.
func reads(name string) (limits, bool) {
	switch name {
	case "ls", "cat", "echo", "pwd", "head", "tail", "grep", "egrep", "fgrep", "wc", "which", "diff", "stat", "du", "df",
		"cd", "true", "false", ":", "tr", "cut", "basename", "dirname", "realpath", "readlink", "seq", "sleep",
		"id", "whoami", "uname", "nproc", "arch", "uptime", "comm", "join", "paste", "nl", "tac", "rev", "fold", "column", "expand", "unexpand",
		"cmp", "md5sum", "sha1sum", "sha256sum", "sha512sum", "shasum", "cksum", "sum", "strings", "hexdump", "od", "jq",
		"type", "exit", "return", "break", "continue", "shift":
		return limits{}, true
	case "sort":
		return limits{short: "oT", long: []string{"output", "compress-program", "temporary-directory"}}, true
	case "rg":
		return limits{short: "z", long: []string{"pre", "hostname-bin", "search-zip"}}, true
	case "find":
		return limits{words: []string{"-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"}}, true
	case "fd", "fdfind":
		return limits{short: "xX", long: []string{"exec", "exec-batch"}}, true
	case "tree":
		return limits{short: "oR", long: []string{"output"}}, true
	case "file":
		return limits{short: "CzZ", long: []string{"compile", "uncompress"}}, true
	}
	return limits{}, false
}

// allow reports whether the arguments stay within the limits.
func (l limits) allow(args []word, extra bool) bool {
	bounded := l.short != "" || l.long != nil || l.words != nil
	if bounded && extra {
		return false
	}
	for _, w := range args {
		if !bounded || !w.flag() {
			continue
		}
		if !w.literal || l.forbid(w.text) {
			return false
		}
	}
	return true
}

func (l limits) forbid(flag string) bool {
	name, _, _ := strings.Cut(flag, "=")
	if slices.Contains(l.words, name) {
		return true
	}
	if name, ok := strings.CutPrefix(name, "--"); ok {
		for _, x := range l.long {
			if name != "" && strings.HasPrefix(x, name) {
				return true
			}
		}
		return false
	}
	return l.words == nil && strings.ContainsAny(flag[1:], l.short)
}

// readOnly reports whether a command changes nothing, whatever it finds. extra
// says that it gets more arguments than it shows.
func readOnly(words []word, extra bool) bool {
	name, args := words[0].text, words[1:]
	if slices.ContainsFunc(args, aboutProcesses) {
		return false
	}
	if l, ok := reads(name); ok {
		return l.allow(args, extra)
	}
	if extra {
		return false
	}
	switch name {
	case "git":
		return gitReads(args)
	case "go":
		return goReads(args)
	case "sed":
		return sedReads(args)
	case "uniq":
		return positional(args, "fsw") <= 1
	case "date":
		return dateReads(args)
	case "test", "[":
		return testReads(args)
	case "printf":
		return len(args) == 0 || !args[0].flag() || args[0].literal && args[0].text == "--"
	case "command":
		return len(args) > 1 && (args[0].text == "-v" || args[0].text == "-V") && args[0].literal
	case "read":
		return readBuiltin(args)
	case "unset":
		return names(args, "v")
	case "wait", "jobs", "xargs", "umask", "times":
		return len(args) == 0
	case "set":
		return setReads(args)
	case "node", "npm", "python", "python3", "cargo", "rustc", "java", "make", "gcc", "clang", "ruby", "php", "deno", "bun":
		return len(args) == 1 && args[0].literal && args[0].text == "--version"
	}
	return false
}

// testReads: test evaluates the subscript in -v 'a[$(rm x)]', so words that may
// turn out to be -v and a name are not let through.
func testReads(args []word) bool {
	unknown := slices.ContainsFunc(args, func(a word) bool { return !a.literal })
	for i, a := range args {
		next := i+1 < len(args)
		switch {
		case a.splits || !a.literal && next && !args[i+1].literal:
			return false
		case a.literal && (a.text == "-v" || a.text == "-R"):
			if next && !syntax.ValidName(args[i+1].text) {
				return false
			}
		case a.literal && unknown && strings.Contains(a.text, "["):
			return false
		}
	}
	return true
}

// positional counts the words that are not options; letters in valued take the
// next word. An unknown word counts as too many.
func positional(args []word, valued string) int {
	n := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case !a.literal && (a.splits || a.pattern != "" || a.flag()):
			return 99
		case a.flag():
			if len(a.text) == 2 && strings.Contains(valued, a.text[1:]) {
				i++
			}
		default:
			n++
		}
	}
	return n
}

// dateReads: date without an option that sets it and without a bare time, which
// sets it, too.
func dateReads(args []word) bool {
	value := false
	for _, a := range args {
		switch {
		case value:
			value = false
		case !a.literal:
			if a.splits || !strings.HasPrefix(a.text, "+") {
				return false
			}
		case strings.HasPrefix(a.text, "+"):
		case a.text == "-d" || a.text == "-r" || a.text == "--date" || a.text == "--reference":
			value = true
		case strings.HasPrefix(a.text, "--date=") || strings.HasPrefix(a.text, "-d") || strings.HasPrefix(a.text, "--iso-8601"),
			strings.HasPrefix(a.text, "-I"), strings.HasPrefix(a.text, "--rfc-3339"):
		case a.text == "-u" || a.text == "--utc" || a.text == "-R" || a.text == "--universal" || a.text == "--rfc-email":
		default:
			return false
		}
	}
	return true
}

// readBuiltin: read with plain names only; it evaluates subscripts.
func readBuiltin(args []word) bool {
	value := false
	for _, a := range args {
		switch {
		case !a.literal && !value:
			return false
		case value:
			value = false
		case a.text == "-d" || a.text == "-n" || a.text == "-N" || a.text == "-t" || a.text == "-u" || a.text == "-p":
			value = true
		case a.flag():
			if strings.Trim(a.text[1:], "rs") != "" {
				return false
			}
		case !syntax.ValidName(a.text) || dangerous(a.text):
			return false
		}
	}
	return true
}

// names reports whether the arguments are plain names of variables, and options
// of the letters in short.
func names(args []word, short string) bool {
	for _, a := range args {
		switch {
		case !a.literal:
			return false
		case a.flag():
			if strings.Trim(a.text[1:], short) != "" {
				return false
			}
		case !syntax.ValidName(a.text) || dangerous(a.text):
			return false
		}
	}
	return true
}

// setReads: set -e and its harmless like.
func setReads(args []word) bool {
	if len(args) == 0 {
		return false // prints every variable
	}
	for _, a := range args {
		switch {
		case !a.literal:
			return false
		case a.text == "pipefail" || a.text == "errexit" || a.text == "nounset" || a.text == "xtrace":
		case strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+"):
			if a.text == "--" || strings.Trim(a.text[1:], "euxovf") != "" {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func goReads(args []word) bool {
	if len(args) == 0 || !args[0].literal {
		return false
	}
	var l limits
	switch args[0].text {
	case "version":
		return limits{words: []string{}}.allow(args[1:], false)
	case "env":
		l.words = []string{"-w", "--w", "-u", "--u"}
	case "list":
		l.words = []string{"-export", "--export", "-compiled", "--compiled"}
		for _, a := range args[1:] {
			name := strings.TrimLeft(a.text, "-")
			for _, x := range []string{"mod", "modfile", "toolexec", "overlay", "exec", "C", "u"} {
				if a.flag() && (name == x || strings.HasPrefix(name, x+"=")) {
					return false
				}
			}
		}
	default:
		return false
	}
	return l.allow(args[1:], false)
}

const sedAddress = `(?:[0-9]+|\$|/(?:[^/\\\n]|\\[^\n])*/)`

// sedSafe is a script of sed that prints, deletes or substitutes, but neither
// writes files (w) nor runs commands (e).
var sedSafe = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:` + sedAddress + `(?:~[0-9]+|,(?:[+~]?[0-9]+|` + sedAddress + `))?\s*!?\s*)?` +
		`(?:[pdq=l]|s/(?:[^/\\\n]|\\[^\n])*/(?:[^/\\\n]|\\[^\n])*/[gpiI0-9]*|s\|(?:[^|\\\n]|\\[^\n])*\|(?:[^|\\\n]|\\[^\n])*\|[gpiI0-9]*` +
		`|s,(?:[^,\\\n]|\\[^\n])*,(?:[^,\\\n]|\\[^\n])*,[gpiI0-9]*|s#(?:[^#\\\n]|\\[^\n])*#(?:[^#\\\n]|\\[^\n])*#[gpiI0-9]*)` +
		`\s*(?:;|$)`)
})

// plainBrackets reports whether what stands in brackets cannot be taken for the
// end of a pattern: sed reads s/x[/]y/ as one pattern, the expression above as two.
func plainBrackets(script string) bool {
	for {
		open := strings.IndexByte(script, '[')
		if open < 0 {
			return true
		}
		rest := script[open+1:]
		rest = strings.TrimPrefix(rest, "^")
		end := strings.IndexByte(rest[min(1, len(rest)):], ']') // a ] that comes first is a letter
		if end < 0 || strings.ContainsAny(rest[:end+1], "/|,#\\\n;[") {
			return false
		}
		script = rest[end+2:]
	}
}

func sedScriptSafe(script string) bool {
	if !plainBrackets(script) {
		return false
	}
	for strings.TrimSpace(script) != "" {
		at := sedSafe().FindStringIndex(script)
		if at == nil {
			return false
		}
		script = script[at[1]:]
	}
	return true
}

func sedReads(args []word) bool {
	_, inPlace, ok := sedFiles(args)
	return ok && !inPlace
}

// sedFiles returns the files of a sed command whose script is safe.
func sedFiles(args []word) (files []word, inPlace, ok bool) {
	scripts, script := 0, false
	for _, a := range args {
		switch {
		case script:
			script = false
			scripts++
			if !a.literal || !sedScriptSafe(a.text) {
				return nil, false, false
			}
		case !a.flag():
			files = append(files, a)
		case !a.literal:
			return nil, false, false
		case a.text == "-e" || a.text == "--expression":
			script = true
		case a.text == "-n" || a.text == "-E" || a.text == "-r" || a.text == "-s" || a.text == "-z" || a.text == "-u" ||
			a.text == "-nE" || a.text == "-En" || a.text == "-nr" || a.text == "--quiet" || a.text == "--silent" || a.text == "--regexp-extended":
		case a.text == "-i" || a.text == "--in-place" || a.text == "-Ei" || a.text == "-ri" || strings.HasPrefix(a.text, "-i.") && !strings.ContainsAny(a.text, "/*"):
			inPlace = true
		default:
			return nil, false, false
		}
	}
	if scripts == 0 {
		if len(files) == 0 || !files[0].literal || !sedScriptSafe(files[0].text) {
			return nil, false, false
		}
		files = files[1:]
	}
	return files, inPlace, !script
}

// aboutProcesses reports whether a word may name what /proc tells of a process:
// its environment and memory hold keys. A word with a pattern or a variable in it counts by
// what it may become.
func aboutProcesses(w word) bool {
	if strings.Contains(w.src, "environ") {
		return true
	}
	if w.literal {
		return strings.Contains(w.text, "proc/") || strings.HasSuffix(w.text, "/proc") || w.text == "proc"
	}
	for _, beginning := range []string{"/p", "/*", "/?", "/["} {
		if strings.HasPrefix(strings.TrimLeft(w.src, `"'`), beginning) {
			return true
		}
	}
	return strings.Contains(w.src, "proc")
}
