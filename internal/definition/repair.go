package definition

import (
	"regexp"
	"strings"
	"sync"
)

// untab replaces tabs that lines are indented with, which YAML forbids. Tabs behind
// spaces may belong to a text and stay.
func (r *reader) untab(front []string) []string {
	out := make([]string, len(front))
	for i, l := range front {
		out[i] = l
		text := strings.TrimLeft(l, " \t")
		if text == "" || !strings.HasPrefix(l, "\t") {
			continue
		}
		r.warn(i+2, 1, "indented with tabs, which YAML forbids; each was read as two spaces: use spaces")
		out[i] = strings.ReplaceAll(l[:len(l)-len(text)], "\t", "  ") + text
	}
	return out
}

// pair is a line of the form "key: value".
var pair = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([ ]*(?:- +)?)([\w.-]+)([ ]*:[ \t]+)(.*?)[ \t]*$`)
})

// quote puts values in quotes that are no YAML as they stand, each with a warning. Only
// values are looked at that end in their line. It returns nil if there is none.
func (r *reader) quote(front []string) []string {
	var out []string
	for i := 0; i < len(front); i++ {
		m := pair().FindStringSubmatch(front[i])
		if m == nil {
			continue
		}
		value := m[4]
		if next := under(front, i); next > i+1 {
			// What belongs to it stands below it. In a block text nothing is a pair.
			if strings.HasPrefix(value, "|") || strings.HasPrefix(value, ">") {
				i = next - 1
			}
			continue
		}
		if alone := (&reader{}); valid(alone, m[2]+": "+value) {
			continue
		}
		if out == nil {
			out = append(out, front...)
		}
		out[i] = m[1] + m[2] + m[3] + singleQuoted(value)
		r.warn(i+2, len(m[1])+1, "%s: the value is not valid YAML and was read as plain text: put it in quotes", m[2])
	}
	return out
}

func valid(r *reader, line string) bool {
	_, p := r.mapping([]string{line})
	return p == nil
}

// under returns the number of the first line below i that is not indented deeper.
func under(front []string, i int) int {
	end := i + 1
	for j := i + 1; j < len(front); j++ {
		if blank(front[j]) {
			continue
		}
		if indent(front[j]) <= indent(front[i]) {
			break
		}
		end = j + 1
	}
	return end
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// singleQuoted is value as YAML text. Quotes around all of it were meant as such.
func singleQuoted(value string) string {
	for _, q := range []string{`"`, `'`} {
		if len(value) > 1 && strings.HasPrefix(value, q) && strings.HasSuffix(value, q) {
			value = value[1 : len(value)-1]
			break
		}
	}
	return "'" + strings.ReplaceAll(value, "'", "''") + "'"
}
