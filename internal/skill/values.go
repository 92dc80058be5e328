package skill

import (
	"strconv"
	"strings"
)

// values are what placeholders stand for.
type values struct {
	all   string   // the arguments as they were given
	words []string // and one by one
	names []string // of them, by position
	vars  map[string]string
	used  bool // whether a placeholder of an argument was met
	size  int  // of what was put in
}

// maxExpanded is how many bytes may be put into one text: a short text with many
// placeholders and long arguments would fill the memory.
const maxExpanded = 8 << 20

func (s *Skill) values(args string, v Vars) values {
	vars := map[string]string{
		"CLAUDE_SESSION_ID": v.Session, "CLAUDE_PROJECT_DIR": v.Project, "CLAUDE_EFFORT": v.Effort,
		"CLAUDE_SKILL_DIR": s.Dir,
	}
	for name, value := range s.vars {
		vars[name] = value
	}
	return values{all: args, words: words(args), names: s.Arguments, vars: vars}
}

// expand replaces the placeholders in text.
func (v *values) expand(text string) string {
	var b strings.Builder
	for text != "" {
		value, n := v.at(text)
		b.WriteString(value)
		text = text[n:]
	}
	return b.String()
}

// at returns what text begins with, a placeholder or plain text, and how long it was.
func (v *values) at(text string) (value string, n int) {
	if strings.HasPrefix(text, `\$`) {
		return "$", 2
	}
	if p, n := v.placeholder(text); n > 0 {
		return p.value, n
	}
	if i := strings.IndexAny(text[1:], `\$`); i >= 0 {
		return text[:i+1], i + 1
	}
	return text, len(text)
}

// placed is the value of a placeholder.
type placed struct {
	value string
	// words are value as a shell would split it, if it is all arguments together.
	words []string
	all   bool
}

// placeholder returns the value of the placeholder that text begins with. n is 0 if
// there is none. Beyond [maxExpanded] values are empty.
func (v *values) placeholder(text string) (p placed, n int) {
	p, n = v.find(text)
	if v.size += len(p.value); v.size > maxExpanded {
		return placed{}, n
	}
	return p, n
}

func (v *values) find(text string) (p placed, n int) {
	name, ok := strings.CutPrefix(text, "$")
	if !ok {
		return p, 0
	}
	if inner, ok := strings.CutPrefix(name, "{"); ok {
		return v.variable(inner)
	}
	if digits := run(name, isDigit); digits != "" {
		v.used = true
		return placed{value: v.word(digits)}, 1 + len(digits)
	}
	const all = "ARGUMENTS"
	word := run(name, isWord)
	if word == all {
		v.used = true
		if digits := run(strings.TrimPrefix(name[len(all):], "["), isDigit); digits != "" && strings.HasPrefix(name[len(all):], "["+digits+"]") {
			return placed{value: v.word(digits)}, 1 + len(all) + len(digits) + 2
		}
		return placed{value: v.all, words: v.words, all: true}, 1 + len(all)
	}
	return v.named(run(name, func(c byte) bool { return isWord(c) || c == '-' }))
}

// named finds the longest name of an argument at the start of text: $a-b is the argument
// a-b, or else a.
func (v *values) named(text string) (p placed, n int) {
	for text != "" {
		for i, name := range v.names {
			if name == text {
				v.used = true
				return placed{value: v.word(strconv.Itoa(i))}, 1 + len(name)
			}
		}
		text = text[:max(strings.LastIndexByte(text, '-'), 0)]
	}
	return p, 0
}

// variable finds the value of ${NAME}; text begins with the name.
func (v *values) variable(text string) (p placed, n int) {
	name := run(text, isWord)
	if !strings.HasPrefix(text[len(name):], "}") {
		return p, 0
	}
	value, ok := v.vars[name]
	if own, is := strings.CutPrefix(name, "HEDDLE_"); is && !ok {
		value, ok = v.vars["CLAUDE_"+own]
	}
	if !ok {
		return p, 0
	}
	return placed{value: value}, len("${") + len(name) + len("}")
}

// word returns an argument by its number, or "".
func (v *values) word(digits string) string {
	if i, err := strconv.Atoi(digits); err == nil && i < len(v.words) {
		return v.words[i]
	}
	return ""
}

// run is the longest beginning of s of bytes that fit.
func run(s string, fits func(c byte) bool) string {
	i := 0
	for i < len(s) && fits(s[i]) {
		i++
	}
	return s[:i]
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// words splits arguments as a shell would. A quote that is not closed is an apostrophe.
func words(args string) []string {
	var out []string
	var word strings.Builder
	inside := false
	for i := 0; i < len(args); i++ {
		c := args[i]
		switch {
		case isBlank(c) || c == '\r':
			if inside {
				out = append(out, word.String())
				word.Reset()
			}
			inside = false
			continue
		case c == '\\' && i+1 < len(args):
			i++
			word.WriteByte(args[i])
		case c == '"' || c == '\'':
			text, n := quotedText(args[i:])
			word.WriteString(text)
			i += n - 1
		default:
			word.WriteByte(c)
		}
		inside = true
	}
	if inside {
		out = append(out, word.String())
	}
	return out
}

// quotedText returns the text in the quotes that s begins with, and how long it is with
// them.
func quotedText(s string) (text string, n int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return b.String(), i + 1
		case s[0] == '"' && s[i] == '\\' && i+1 < len(s) && (s[i+1] == '"' || s[i+1] == '\\'):
			i++
		}
		b.WriteByte(s[i])
	}
	return s[:1], 1
}
