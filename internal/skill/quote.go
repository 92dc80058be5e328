package skill

import (
	"errors"
	"regexp"
	"strings"
	"sync"
)

// expandShell replaces the placeholders in a command, so that the shell takes each value
// as text. All arguments together become a word for each, unless they stand in quotes.
func (v *values) expandShell(source string) (string, error) {
	var b strings.Builder
	c := &shellContext{stack: []shellState{bare}}
	for i := 0; i < len(source); {
		if p, n := v.placeholder(source[i:]); n > 0 {
			text, err := c.quote(p)
			if err != nil {
				return "", err
			}
			b.WriteString(text)
			i += n
			c.word = true
			continue
		}
		if strings.HasPrefix(source[i:], `\$`) {
			// For a placeholder the backslash is ours, for anything else the shell's.
			if _, n := v.placeholder(source[i+1:]); n > 0 {
				b.WriteByte('$')
				i += 2
				continue
			}
		}
		n := c.next(source[i:])
		b.WriteString(source[i : i+n])
		i += n
	}
	return b.String(), nil
}

// shellState is how a shell reads the characters at one place of a command.
type shellState int

const (
	bare shellState = iota
	single
	double
	comment
	// unsure is everything behind a construct that is not followed here. It does not end:
	// a mistake about where it does would let a value out of its quotes.
	unsure
)

// shellContext follows a command as a POSIX shell reads it, as far as it can be sure.
type shellContext struct {
	stack []shellState // command substitutions and quotes that are open
	word  bool         // a word has begun, so # is no comment
}

func (c *shellContext) top() shellState { return c.stack[len(c.stack)-1] }

func (c *shellContext) push(s shellState) { c.stack = append(c.stack, s) }

func (c *shellContext) pop() {
	if len(c.stack) > 1 {
		c.stack = c.stack[:len(c.stack)-1]
	} else {
		c.push(unsure)
	}
}

// simple is a parameter that nothing is done to.
var simple = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\$\{#?[A-Za-z0-9_@*?!-]+\}`)
})

// doubtful begins what is not followed: here-documents, arithmetic, quotes with escapes,
// old substitutions, patterns of case.
var doubtful = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(?:<<|\\(\\(|\\$\\(\\(|\\$\\{|\\$'|\\$\"|`|(?:case|esac)\\b)")
})

// next moves over what the source begins with, and returns how long that was.
func (c *shellContext) next(source string) int {
	switch c.top() {
	case unsure:
		return 1
	case comment:
		if source[0] == '\n' {
			c.pop()
			c.word = false
		}
		return 1
	case single:
		if source[0] == '\'' {
			c.pop()
		}
		return 1
	case double:
		return c.inDouble(source)
	}
	return c.inBare(source)
}

func (c *shellContext) inDouble(source string) int {
	if n := len(simple().FindString(source)); n > 0 {
		return n
	}
	switch {
	case source[0] == '\\' && len(source) > 1:
		return 2
	case source[0] == '"':
		c.pop()
	case source[0] == '`', strings.HasPrefix(source, "${"), strings.HasPrefix(source, "$(("):
		c.push(unsure)
	case strings.HasPrefix(source, "$("):
		c.push(bare)
		c.word = false
		return 2
	}
	return 1
}

func (c *shellContext) inBare(source string) int {
	word := c.word
	c.word = true
	if n := len(simple().FindString(source)); n > 0 {
		return n
	}
	if found := doubtful().FindString(source); found != "" && !(word && isWord(found[0])) {
		c.push(unsure)
		return 1
	}
	switch first := source[0]; {
	case strings.HasPrefix(source, "\\\n"):
		c.word = word // the shell does not see it
		return 2
	case first == '\\' && len(source) > 1:
		return 2
	case strings.HasPrefix(source, ")#"): // a comment behind ( ), but not behind $( )
		c.push(unsure)
	case first == '\'':
		c.push(single)
	case first == '"':
		c.push(double)
	case first == '#' && !word:
		c.push(comment)
	case first == '(':
		c.push(bare)
		c.word = false
	case first == ')':
		c.pop()
	case strings.IndexByte(" \t\n;&|<>", first) >= 0:
		c.word = false
	}
	return 1
}

// harmless is text that means itself anywhere in a command.
var harmless = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_./:@%+,-]*$`)
})

var errUnsure = errors.New("a value with special characters cannot be put into this command safely: use the placeholder before any here-document, backtick, ${…}, $((…)) or case, for example as ARG=$0 in the first line")

// quote returns a value as a shell word at this place.
func (c *shellContext) quote(p placed) (string, error) {
	value := strings.ReplaceAll(p.value, "\x00", "")
	switch c.top() {
	case bare:
		if p.all && len(p.words) > 0 {
			quoted := make([]string, len(p.words))
			for i, w := range p.words {
				quoted[i] = shellQuoted(strings.ReplaceAll(w, "\x00", ""))
			}
			return strings.Join(quoted, " "), nil
		}
		return shellQuoted(value), nil
	case single: // the quotes around it are closed and opened again
		return "'" + shellQuoted(value) + "'", nil
	case double:
		return `"` + shellQuoted(value) + `"`, nil
	case comment: // only the end of a line would end it
		return shellQuoted(strings.ReplaceAll(value, "\n", " ")), nil
	}
	if harmless().MatchString(value) {
		return value, nil
	}
	return "", errUnsure
}

func shellQuoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
