package permission

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command, as far as it is known before it runs.
type word struct {
	src  string // as it is written
	text string // its value, or what the value begins with
	// literal reports that text is the whole value, and the word is one word.
	literal bool
	tilde   bool   // it begins with an unquoted ~, which is in text
	pattern string // if only file names are filled in: what they match
	splits  bool   // it may become several words, or none
}

// flag reports whether the word may be an option of a command.
func (w word) flag() bool {
	if w.literal {
		return strings.HasPrefix(w.text, "-") && w.text != "-"
	}
	return w.splits || w.text == "" || w.text[0] == '-'
}

// reader puts words together from their parts.
type reader struct {
	vars          variables
	text, pattern strings.Builder
	open          bool // something unknown was seen: text is closed
	splits        bool
	globs         bool // * ? or [ outside quotes
	known         bool // but for globs
	braces        int  // 1: { was seen, 2: and a comma or .. after it
}

// readWord reads a word of source.
func readWord(source string, w *syntax.Word, vars variables) word {
	if w.Lit() == "[" { // the command, not a pattern
		return word{src: "[", text: "[", literal: true}
	}
	r := reader{vars: vars, known: true}
	for _, p := range w.Parts {
		r.part(p, false)
	}
	out := word{src: slice(source, w), text: r.text.String(), literal: !r.open, splits: r.splits}
	if lit, ok := firstLit(w); ok {
		out.tilde = strings.HasPrefix(lit, "~")
	}
	if r.globs && r.known {
		out.pattern = r.pattern.String()
	}
	return out
}

// slice is the source text of a node.
func slice(source string, n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || from > to || to > len(source) {
		return ""
	}
	return source[from:to]
}

func firstLit(w *syntax.Word) (string, bool) {
	if len(w.Parts) == 0 {
		return "", false
	}
	lit, ok := w.Parts[0].(*syntax.Lit)
	if !ok {
		return "", false
	}
	return lit.Value, true
}

func (r *reader) part(p syntax.WordPart, quoted bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		r.lit(p.Value, quoted)
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			r.unknown(false)
			return
		}
		r.add(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar { // translated by the locale
			r.unknown(false)
			return
		}
		for _, q := range p.Parts {
			r.part(q, true)
		}
	case *syntax.ParamExp:
		// "$@" is several words even in quotes; a number is one even without.
		r.unknown(listed(p) || !quoted && !r.counts(p))
	case *syntax.ArithmExp:
		r.unknown(false)
	case *syntax.ProcSubst: // becomes /dev/fd/N
		r.unknown(false)
	case *syntax.ExtGlob:
		r.unknown(false)
		r.known = false
	default: // command substitution, and what is to come
		r.unknown(!quoted)
	}
}

// listed reports whether an expansion is a list of words.
func listed(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Param.Value == "@" || p.Param.Value == "*" || p.Names != 0 {
		return true
	}
	w, ok := p.Index.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*") || p.Excl
}

// counts reports whether an expansion is a number: $#, $?, ${#x}, or a variable
// that is only set to numbers.
func (r *reader) counts(p *syntax.ParamExp) bool {
	if p.Length {
		return true
	}
	plain := p.Exp == nil && p.Repl == nil && p.Index == nil
	return plain && (r.vars[p.Param.Value] || strings.Contains("# ? $ !", p.Param.Value))
}

func (r *reader) unknown(splits bool) {
	r.open, r.known = true, false
	r.splits = r.splits || splits
}

// add takes text that stands for itself.
func (r *reader) add(s string) {
	if !r.open {
		r.text.WriteString(s)
	}
	r.pattern.WriteString(quoteGlob(s))
}

// lit takes text in which a backslash quotes.
func (r *reader) lit(s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0):
			i++
			if s[i] != '\n' {
				r.add(s[i : i+1])
			}
		case quoted:
			r.add(s[i : i+1])
		case c == '*' || c == '?' || c == '[':
			r.open, r.globs = true, true
			r.pattern.WriteByte(c)
		default:
			r.brace(s, i)
			r.add(s[i : i+1])
		}
	}
}

// brace looks for {a,b} and {1..9}, which become several words. What stands
// before the brace is known all the same.
func (r *reader) brace(s string, i int) {
	switch c := s[i]; {
	case c == '{':
		r.braces = max(r.braces, 1)
	case r.braces == 1 && (c == ',' || c == '.' && i+1 < len(s) && s[i+1] == '.'):
		r.braces = 2
	case r.braces == 2 && c == '}':
		text, _, _ := strings.Cut(r.text.String(), "{")
		r.text.Reset()
		r.text.WriteString(text)
		r.unknown(false)
	}
}

// quoteWord writes a value so that the shell reads it as one word.
func quoteWord(text string) string {
	q, err := syntax.Quote(text, syntax.LangBash)
	if err != nil {
		return text
	}
	return q
}
