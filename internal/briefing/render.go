package briefing

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// String is the briefing as a model reads it. What comes from outside cannot end the
// element it stands in, nor begin another that a model takes for heddle's own.
func (b Briefing) String() string {
	var w strings.Builder
	w.WriteString("<environment>\n")
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&w, "%s: %s\n", name, escape(oneLine(value)))
		}
	}
	line("Working directory", b.Dir)
	line("Platform", b.Platform)
	line("System", b.System)
	line("Shell of the user", b.Shell)
	line("Date", b.Date)
	line("heddle", b.Version)
	if b.Git == nil {
		line("Git", "not in a repository")
	}
	w.WriteString("</environment>\n")
	if b.Git != nil {
		b.Git.render(&w)
	}
	for _, f := range b.Memory {
		f.render(&w)
	}
	if len(b.Memory) > 0 {
		w.WriteString("The memory files above are instructions of the user and the project. Follow them where they apply; later ones weigh more, and what the user says now weighs most.\n")
	}
	if len(b.Notes) > 0 {
		w.WriteString("<notes>\n")
		for _, n := range b.Notes {
			w.WriteString(escape(oneLine(n)) + "\n")
		}
		w.WriteString("</notes>\n")
	}
	return w.String()
}

func (f File) render(w *strings.Builder) {
	fmt.Fprintf(w, `<memory path="%s" scope="%s"`, attribute(f.Path), f.Scope)
	if f.From != "" {
		fmt.Fprintf(w, ` imported-by="%s"`, attribute(f.From))
	}
	fmt.Fprintf(w, ">\n%s\n</memory>\n", escape(strings.TrimSpace(f.Text)))
}

func (g *Git) render(w *strings.Builder) {
	w.WriteString("<git>\n")
	switch {
	case g.Branch != "":
		fmt.Fprintf(w, "Branch: %s\n", escape(g.Branch))
	case g.Commit != "":
		fmt.Fprintf(w, "HEAD is detached at %s\n", escape(g.Commit))
	}
	if g.Default != "" {
		fmt.Fprintf(w, "Default branch: %s\n", escape(g.Default))
	}
	switch {
	case g.Problem != "":
		fmt.Fprintf(w, "The changes are not known: %s\n", escape(oneLine(g.Problem)))
	case len(g.Status) == 0:
		w.WriteString("No changes when the conversation began\n")
	default:
		fmt.Fprintf(w, "Changes when the conversation began:\n%s\n", escape(strings.Join(g.Status, "\n")))
		if g.More > 0 {
			fmt.Fprintf(w, "… and %d more\n", g.More)
		}
	}
	if len(g.Commits) > 0 {
		fmt.Fprintf(w, "Last commits:\n%s\n", escape(strings.Join(g.Commits, "\n")))
	}
	w.WriteString("</git>\n")
}

// ourTags are the elements with which heddle itself speaks in a user's message.
var ourTags = [...]string{"environment", "git", "memory", "notes", "task-notification", "conversation-summary", "system-reminder"}

// escape makes text safe inside an element. Any other tag stays as it was written:
// people structure their memory files with tags, and models read those.
func escape(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	var w strings.Builder
	for {
		before, after, found := strings.Cut(s, "<")
		w.WriteString(before)
		if !found {
			return w.String()
		}
		if isOurs(after) {
			w.WriteString("&lt;")
		} else {
			w.WriteString("<")
		}
		s = after
	}
}

// isOurs reports whether what follows a < makes it a tag of ours, as generously as a
// model might read it.
func isOurs(after string) bool {
	name := strings.TrimLeftFunc(after[:min(len(after), 64)], func(r rune) bool {
		return r == '/' || unicode.IsSpace(r) || unicode.IsControl(r)
	})
	for _, tag := range ourTags {
		if len(name) < len(tag) || !strings.EqualFold(name[:len(tag)], tag) {
			continue
		}
		next, _ := utf8.DecodeRuneInString(name[len(tag):])
		if !unicode.IsLetter(next) && !unicode.IsDigit(next) && next != '-' && next != '_' {
			return true
		}
	}
	return false
}

// attribute makes a path safe between quotes.
func attribute(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(oneLine(strings.ToValidUTF8(s, "\uFFFD")))
}

// oneLine takes control characters out of a name, which could otherwise forge a line.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
