package roster

import (
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"
)

const (
	// maxDescription is how many bytes of a description the model is shown, about.
	maxDescription = 1536
	// maxTools is the same for the tools of an agent.
	maxTools = 200
)

// line is one agent of the list, escaped.
type line struct {
	name, description, tools string
}

// Listing tells the model which agents it may call, a line for each, in at most budget
// bytes. Where that is little, the tools are left out first, then descriptions are
// shortened, all to the same length. Names that have no place are counted in the last
// line.
func (r *Roster) Listing(budget int) string {
	var all []line
	for _, a := range r.sorted {
		if !a.Hidden {
			all = append(all, line{name: escape(printable(a.Name)), description: cut(escape(a.Description), maxDescription), tools: a.toolsText()})
		}
	}
	if out := render(all, maxDescription, true); len(out) <= budget {
		return out
	}
	// The longest that fits is the one before the first that does not.
	limit := sort.Search(maxDescription+1, func(limit int) bool { return len(render(all, limit, false)) > budget }) - 1
	if limit >= 0 {
		return render(all, limit, false)
	}
	return fitting(all, budget)
}

func render(all []line, limit int, tools bool) string {
	var b strings.Builder
	for _, l := range all {
		b.WriteString("- " + l.name)
		if d := cut(l.description, limit); d != "" {
			b.WriteString(": " + d)
		}
		if tools {
			b.WriteString(" (Tools: " + l.tools + ")")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// fitting lists as many names as there is space for, and how many there are more.
func fitting(all []line, budget int) string {
	best := ""
	var b strings.Builder
	for i, l := range all {
		if out := b.String() + fmt.Sprintf("(%d more are not listed for lack of space)\n", len(all)-i); len(out) <= budget {
			best = out
		}
		if b.WriteString("- " + l.name + "\n"); b.Len() > budget {
			break
		}
	}
	return best
}

// toolsText says which tools an agent has.
func (a *Agent) toolsText() string {
	text := "all"
	if a.HasTools {
		text = strings.Join(a.Tools, ", ")
	}
	switch {
	case text == "":
		text = "none"
	case len(a.Disallowed) > 0:
		text += " except " + strings.Join(a.Disallowed, ", ")
	}
	return cut(escape(printable(text)), maxTools)
}

// cut returns the beginning of an escaped text, in at most limit bytes. Less than a word
// is nothing.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const least = 12
	if limit < least {
		return ""
	}
	end := limit - len("…")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	text = text[:end]
	if i := strings.LastIndexByte(text, '&'); i >= 0 && !strings.Contains(text[i:], ";") {
		text = text[:i] // half of what was escaped
	}
	return strings.TrimRight(text, " ") + "…"
}

// escape keeps a file from writing tags that mean something to the model.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}
