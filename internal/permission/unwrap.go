package permission

import (
	"errors"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// chain is what a simple command runs, through the commands that run others.
type chain struct {
	// views are the command and what is left of it as each wrapper, such as
	// timeout 5, is taken off. Any of them may be named by a rule.
	views [][]word
	// exec reports a wrapper that does more than run the rest, such as sudo or
	// find -exec. Only a rule without a star can allow it.
	exec bool
	// unknown says why it cannot be told what runs.
	unknown string
	inner   string   // a script, given to a shell or to eval
	nested  bool     // there is one
	here    bool     // it runs in this shell, and can set its variables
	scan    [][]word // commands that may run, for deny and ask rules
	hidden  [][]word // the views of these
	extra   bool     // more arguments come from the input (xargs)
}

// core is what is left when all wrappers are off.
func (c *chain) core() []word { return c.views[len(c.views)-1] }

// unwrap takes a command apart, from the outside.
func unwrap(words []word) chain {
	var c chain
	for len(words) > 0 {
		c.views = append(c.views, words)
		if !words[0].literal || words[0].tilde {
			c.unknown = "the name of the command is not known before it runs"
			return c
		}
		rest, again := c.wrapper(words)
		if !again {
			return c
		}
		words = rest
	}
	return c
}

// wrapper takes off the wrapper of that name. It returns false if there is none,
// or nothing that could be told about what it runs.
func (c *chain) wrapper(words []word) (rest []word, again bool) {
	args := words[1:]
	dir, name := path.Split(words[0].text)
	if dir != "" && dir != "/bin/" && dir != "/usr/bin/" {
		return c.foreign(name, words)
	}
	switch name {
	case "timeout":
		rest, ok := c.options(args, "ksv", "ks", "kill-after", "signal")
		if !ok || len(rest) == 0 || !rest[0].literal {
			return c.opaque(words)
		}
		return c.strip(rest[1:])
	case "time":
		return c.stripped(words, "pv", "f")
	case "nice":
		if len(args) > 0 && args[0].literal && isNumberText(strings.TrimPrefix(args[0].text, "-")) && args[0].flag() {
			return c.strip(args[1:])
		}
		return c.stripped(words, "n", "n", "adjustment")
	case "stdbuf":
		return c.stripped(words, "ioe", "ioe", "input", "output", "error")
	case "nohup", "builtin", "noglob":
		return c.stripped(words, "", "")
	case "command":
		if len(args) > 0 && args[0].literal && (args[0].text == "-v" || args[0].text == "-V") {
			return nil, false
		}
		return c.stripped(words, "p", "")
	case "xargs":
		if len(args) > 0 && args[0].flag() {
			return c.opaque(words)
		}
		c.extra = c.extra || len(args) > 0
		return c.strip(args)
	case "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "busybox", "fish":
		return c.shell(name, words)
	case "eval":
		return c.eval(args)
	case "trap":
		return c.trap(args)
	case "find", "fd", "fdfind":
		return c.find(words)
	case "env", "sudo", "doas", "su", "watch", "setsid", "ionice", "flock", "exec", "chroot", "nsenter", "unshare", "runuser", "setpriv",
		"strace", "ltrace", "gdb", "script", "parallel", "entr", "taskset", "chrt", "prlimit", "systemd-run", "coproc", "unbuffer", "caffeinate",
		"start-stop-daemon", "daemonize", "numactl", "proot", "fakeroot", "dbus-run-session", "xvfb-run", "expect":
		return c.opaque(words)
	}
	return nil, false
}

// foreign is for a program in another directory than the system's: it may do
// anything, whatever its name is.
func (c *chain) foreign(name string, words []word) ([]word, bool) {
	probe := chain{}
	bare := append([]word{{src: name, text: name, literal: true}}, words[1:]...)
	_, again := probe.wrapper(bare)
	if !again && !probe.exec && !probe.nested {
		return nil, false
	}
	c.inner, c.nested = probe.inner, probe.nested
	return c.opaque(words)
}

// strip goes on with what a wrapper runs. A wrapper without anything to run is
// a command like others.
func (c *chain) strip(rest []word) ([]word, bool) { return rest, len(rest) > 0 }

// stripped takes off a wrapper with its options.
func (c *chain) stripped(words []word, short, valued string, long ...string) ([]word, bool) {
	rest, ok := c.options(words[1:], short, valued, long...)
	if !ok {
		return c.opaque(words)
	}
	return c.strip(rest)
}

// options skips options: the letters in short, of which those in valued take a
// value, and long ones that take a value. It returns false at any other.
func (c *chain) options(args []word, short, valued string, long ...string) ([]word, bool) {
	for len(args) > 0 && args[0].flag() {
		a := args[0]
		if !a.literal {
			return nil, false
		}
		if a.text == "--" {
			return args[1:], true
		}
		if name, ok := strings.CutPrefix(a.text, "--"); ok {
			name, _, joined := strings.Cut(name, "=")
			switch {
			case slices.Contains(long, name) && joined:
			case slices.Contains(long, name) && len(args) > 1:
				args = args[1:]
			case name == "foreground" || name == "preserve-status" || name == "verbose":
			default:
				return nil, false
			}
			args = args[1:]
			continue
		}
		letter := a.text[1:2]
		switch {
		case !strings.Contains(short+valued, letter):
			return nil, false
		case strings.Contains(valued, letter):
			if len(a.text) == 2 { // the value is the next word
				if len(args) < 2 || !args[1].literal {
					return nil, false
				}
				args = args[1:]
			}
		case strings.Trim(a.text[1:], short) != "":
			return nil, false
		}
		args = args[1:]
	}
	return args, true
}

// maxHidden is how many words of a command like sudo are taken for its command.
const maxHidden = 64

// maxViews is how many commands may hide in one.
const maxViews = 500

// opaque is for a wrapper that hides what it runs: every word may be its command.
func (c *chain) opaque(words []word) ([]word, bool) {
	c.exec = true
	if len(words) > maxHidden {
		c.unknown = "it cannot be told what " + words[0].text + " runs"
	}
	for i, w := range words[1:min(len(words), maxHidden)] {
		switch {
		case !w.flag():
			c.scan = append(c.scan, words[i+1:])
		case strings.ContainsAny(w.text, " \t\n"): // env '-Srm x'
			c.unknown = "it cannot be told what " + words[0].text + " runs"
		}
	}
	return nil, false
}

// shell looks for the script of sh -c.
func (c *chain) shell(name string, words []word) ([]word, bool) {
	valued := false // the word before takes this one as its value
	for i, w := range words[1:] {
		switch {
		case !w.literal:
			c.unknown = "the script of " + name + " is not known before it runs"
			return c.opaque(words)
		case valued:
			valued = false
		case takesValue(w.text):
			valued = true
		case !w.flag() && w.text != "-" && !strings.HasPrefix(w.text, "+"):
			if name == "busybox" {
				return c.opaque(words)
			}
			return nil, false // a script file: a program like others
		case isCommandFlag(w.text):
			return c.script(name, words, words[i+2:])
		}
	}
	c.unknown = name + " runs what it reads"
	c.exec = true
	return nil, false
}

// isCommandFlag reports whether an option of a shell is -c, alone or among others.
func isCommandFlag(flag string) bool {
	return flag == "--command" || !strings.HasPrefix(flag, "--") && strings.Contains(flag, "c")
}

// takesValue reports whether an option of a shell has its value in the next word.
func takesValue(flag string) bool {
	if flag == "--rcfile" || flag == "--init-file" {
		return true
	}
	set := strings.HasPrefix(flag, "-") && !strings.HasPrefix(flag, "--") || strings.HasPrefix(flag, "+")
	return set && strings.ContainsAny(flag, "oO") && !strings.Contains(flag, "c")
}

func (c *chain) script(name string, words, args []word) ([]word, bool) {
	// Options may stand between -c and the script.
	for len(args) > 0 && args[0].literal && args[0].flag() {
		args = args[1:]
	}
	if len(args) == 0 || !args[0].literal || name == "fish" || name == "busybox" {
		c.unknown = "the script of " + name + " is not known before it runs"
		return c.opaque(words)
	}
	c.inner, c.nested = args[0].text, true
	return nil, false
}

func (c *chain) eval(args []word) ([]word, bool) {
	if len(args) > 0 && args[0].literal && args[0].text == "--" {
		args = args[1:]
	}
	texts := make([]string, 0, len(args))
	for _, w := range args {
		if !w.literal || w.tilde {
			c.unknown, c.exec = "what eval runs is not known before it runs", true
			return nil, false
		}
		texts = append(texts, w.text)
	}
	if c.extra {
		c.unknown, c.exec = "what eval runs is not known before it runs", true
		return nil, false
	}
	c.inner, c.nested, c.here = strings.Join(texts, " "), true, true
	return nil, false
}

// trap looks at the command that a signal starts.
func (c *chain) trap(args []word) ([]word, bool) {
	if len(args) > 0 && args[0].literal && args[0].text == "--" {
		args = args[1:]
	}
	switch {
	case len(args) == 0 || c.extra:
		return nil, false
	case !args[0].literal:
		c.unknown, c.exec = "what trap runs is not known before it runs", true
	case args[0].text == "-l" || args[0].text == "-p":
	default:
		c.inner, c.nested, c.here = strings.TrimPrefix(args[0].text, "-"), true, true
	}
	return nil, false
}

// find looks for what find runs on each file.
func (c *chain) find(words []word) ([]word, bool) {
	for i, w := range words[1:] {
		if !w.literal {
			continue
		}
		switch w.text {
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			c.exec = true
			if rest := words[i+2:]; len(rest) > 0 {
				c.scan = append(c.scan, rest)
			}
		case "-delete":
			c.exec = true
		}
		if strings.HasPrefix(w.text, "--exec=") || strings.HasPrefix(w.text, "--exec-batch=") {
			c.exec = true
		}
	}
	return nil, false
}

func isNumberText(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// nest adds to s the commands that stand inside the words of p.
func (n *nesting) nest(s *script, p *part) error {
	c := &p.chain
	if c.nested {
		inner, err := n.parse(c.inner)
		if err != nil {
			return err
		}
		for _, q := range inner.parts {
			q.scanOnly = q.scanOnly || c.exec
			s.parts = append(s.parts, q)
		}
		s.doubts = append(s.doubts, inner.doubts...)
		s.places = append(s.places, inner.places...)
		if c.here && len(inner.vars) > 0 {
			s.doubt("it sets variables by eval or trap")
		}
		s.loops = s.loops || inner.loops
	}
	for _, words := range c.scan {
		if strings.ContainsAny(words[0].text, " \t\n;|&$`") && words[0].literal {
			n.scan(s, c, words[0].text) // watch 'rm x'
		}
		in := unwrap(words)
		c.hidden = append(append(c.hidden, in.views...), in.scan...)
		if len(c.hidden) > maxViews {
			return errors.New("the command holds too many commands in commands")
		}
		if in.nested {
			n.scan(s, c, in.inner)
		}
	}
	return nil
}

// scan adds to s what a script holds that c may run, for deny and ask rules only.
// It may not be a script at all.
func (n *nesting) scan(s *script, c *chain, source string) {
	inner, err := n.parse(source)
	if err != nil {
		c.unknown = "it cannot be told what " + c.views[0][0].text + " runs"
		return
	}
	for _, q := range inner.parts {
		q.scanOnly = true
		s.parts = append(s.parts, q)
	}
	s.places = append(s.places, inner.places...)
}

// forms are the ways to write a command that a rule may have in mind.
type forms struct {
	src   string // as it is written
	plain string // with the quotes gone
	canon string // with only the quotes it needs
	base  string // canon, without the directory of the program
	head  string // what is known of it before the first unknown word
	open  bool   // there is an unknown word
}

func formsOf(words []word) forms {
	var f forms
	var src, plain, canon []string
	for i, w := range words {
		src = append(src, w.src)
		if !w.literal {
			if !f.open {
				f.head = strings.Join(plain, " ")
				if i > 0 {
					f.head += " "
				}
				f.head += w.text
			}
			f.open = true
			plain = append(plain, w.src)
			canon = append(canon, w.src)
			continue
		}
		plain = append(plain, w.text)
		if w.tilde || w.src == w.text && !needsQuotes(w.text) {
			canon = append(canon, w.text)
		} else {
			canon = append(canon, quoteWord(w.text))
		}
	}
	f.src, f.plain, f.canon = strings.Join(src, " "), strings.Join(plain, " "), strings.Join(canon, " ")
	f.base = f.canon
	if dir, file := path.Split(words[0].text); words[0].literal && dir != "" {
		f.base = file + strings.TrimPrefix(f.canon, canon[0])
	}
	return f
}

func needsQuotes(s string) bool {
	return s == "" || syntax.IsKeyword(s) || strings.ContainsAny(s, " \t\n'\"\\$`*?[]{}()<>|&;!~#")
}
