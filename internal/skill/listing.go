package skill

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxDescription is how many characters of a description the model is shown.
const maxDescription = 1536

// line is one skill of the list.
type line struct {
	name        string // escaped
	description string // not yet
}

// Listing tells the model what it may call, a line for each, in at most budget bytes.
// Where that is little, long descriptions are shortened first, all to the same length,
// and then left out. Names that have no place are counted in the last line.
func (c *Catalog) Listing(budget int) string {
	var all []line
	longest := 0
	for _, s := range c.sorted {
		if !s.ModelMayCall {
			continue
		}
		text := []rune(printable(s.Description + " " + s.WhenToUse))
		l := line{name: escape(printable(s.Name)), description: shorten(string(text[:min(len(text), maxDescription)]), len(text) > maxDescription)}
		all = append(all, l)
		longest = max(longest, len(escape(l.description)))
	}
	if out := render(all, longest); len(out) <= budget {
		return out
	}
	if len(render(all, 0)) > budget {
		return names(all, budget)
	}
	fits, over := 0, longest
	for fits+1 < over {
		if middle := (fits + over) / 2; len(render(all, middle)) <= budget {
			fits = middle
		} else {
			over = middle
		}
	}
	return render(all, fits)
}

// render writes the list with descriptions of at most limit bytes.
func render(all []line, limit int) string {
	var b strings.Builder
	for _, l := range all {
		b.WriteString("- " + l.name)
		if d := clip(l.description, limit); d != "" {
			b.WriteString(": " + d)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// names lists as many names as there is space for, and how many there are more.
func names(all []line, budget int) string {
	best, size := "", 0
	var b strings.Builder
	for i, l := range all {
		rest := fmt.Sprintf("(%d more are not listed for lack of space)\n", len(all)-i)
		if size+len(rest) <= budget {
			best = b.String() + rest
		}
		if size += len(l.name) + len("- \n"); size > budget {
			break
		}
		b.WriteString("- " + l.name + "\n")
	}
	return best
}

// clip returns text as it is shown, in at most limit bytes. Less than a word is nothing.
func clip(text string, limit int) string {
	out := escape(text)
	if len(out) <= limit {
		return out
	}
	const least = 12
	if limit < least {
		return ""
	}
	out = out[:limit-len("…")]
	for !utf8.ValidString(out) {
		out = out[:len(out)-1]
	}
	if i := strings.LastIndexByte(out, '&'); i >= 0 && !strings.Contains(out[i:], ";") {
		out = out[:i] // half of what was escaped
	}
	return strings.TrimRight(out, " ") + "…"
}

func shorten(text string, cut bool) string {
	if !cut {
		return text
	}
	runes := []rune(text)
	return string(runes[:len(runes)-1]) + "…"
}

// printable is text in one line, without characters that are not seen.
func printable(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case unicode.IsSpace(c):
			return ' '
		case !unicode.IsPrint(c) || c == utf8.RuneError:
			return -1
		}
		return c
	}, s)
	return oneLine(s)
}

// escape keeps a file from writing tags that mean something to the model.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
