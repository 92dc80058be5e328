package search

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// pattern is a regular expression that both engines understand alike. It is
// parsed once, here, as RE2; what ripgrep is given is the parsed form written
// out again, so no difference between the two dialects can matter.
type pattern struct {
	re      *regexp.Regexp
	text    string
	literal string // every match holds it; empty if there is no such text
	exact   bool   // the literal is all there is to match
}

// BadPattern is a regular expression that cannot be understood.
type BadPattern struct {
	Pattern string
	At      int // in characters from 1, or 0 if it is not known
	Reason  string
}

func (e *BadPattern) Error() string {
	if e.At == 0 {
		return fmt.Sprintf("the pattern %q is not a valid regular expression: %s", e.Pattern, e.Reason)
	}
	return fmt.Sprintf("the pattern %q is not a valid regular expression: %s, at position %d", e.Pattern, e.Reason, e.At)
}

func compile(q Query) (*pattern, error) {
	flags := syntax.Perl &^ syntax.OneLine
	if q.IgnoreCase {
		flags |= syntax.FoldCase
	}
	if q.Multiline {
		flags |= syntax.DotNL
	} else {
		flags &^= syntax.ClassNL
	}
	tree, err := syntax.Parse(q.Pattern, flags)
	if err != nil {
		return nil, badPattern(q.Pattern, err)
	}
	if !q.Multiline {
		if err := stayInLine(tree); err != nil {
			return nil, &BadPattern{Pattern: q.Pattern, Reason: err.Error()}
		}
	}
	p := &pattern{text: tree.String(), literal: required(tree)}
	if p.re, err = regexp.Compile(p.text); err != nil {
		return nil, badPattern(q.Pattern, err)
	}
	p.exact = tree.Op == syntax.OpLiteral && p.literal != ""
	return p, nil
}

var errLineBreak = errors.New("it contains a line break, which needs multiline")

// stayInLine changes a parsed expression so that no match can hold a line break.
func stayInLine(re *syntax.Regexp) error {
	switch re.Op {
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') {
			return errLineBreak
		}
	case syntax.OpCharClass:
		re.Rune = without(re.Rune, '\n')
		if len(re.Rune) == 0 {
			re.Op = syntax.OpNoMatch
		}
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
		re.Flags &^= syntax.WasDollar
	}
	for _, sub := range re.Sub {
		if err := stayInLine(sub); err != nil {
			return err
		}
	}
	return nil
}

// without removes a character from a set that is written as ranges.
func without(ranges []rune, r rune) []rune {
	var out []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if r < lo || hi < r {
			out = append(out, lo, hi)
			continue
		}
		if lo < r {
			out = append(out, lo, r-1)
		}
		if r < hi {
			out = append(out, r+1, hi)
		}
	}
	return out
}

// required returns the longest text that every match must hold.
func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if l := required(sub); len(l) > len(longest) {
				longest = l
			}
		}
		return longest
	}
	return ""
}

// badPattern says what is wrong with a pattern, and where.
func badPattern(p string, err error) error {
	var bad *syntax.Error
	if !errors.As(err, &bad) {
		return &BadPattern{Pattern: p, Reason: err.Error()}
	}
	reason := string(bad.Code)
	at := strings.Index(p, bad.Expr)
	switch bad.Code {
	case syntax.ErrMissingParen, syntax.ErrUnexpectedParen:
		at = oddParen(p)
	case syntax.ErrInvalidPerlOp:
		reason = fmt.Sprintf("%s is not supported (no look-around and no back-references)", bad.Expr)
	default:
		reason += " " + bad.Expr
	}
	if at >= 0 {
		at = len([]rune(p[:at])) + 1
	}
	return &BadPattern{Pattern: p, At: max(at, 0), Reason: reason}
}

// oddParen returns where the parenthesis without a partner is.
func oddParen(p string) int {
	var open []int
	set := false // inside [ ]
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case set:
			set = c != ']'
		case c == '[':
			set = true
			if strings.HasPrefix(p[i+1:], "]") || strings.HasPrefix(p[i+1:], "^]") {
				i = i + strings.IndexByte(p[i:], ']')
			}
		case c == '(':
			open = append(open, i)
		case c == ')' && len(open) == 0:
			return i
		case c == ')':
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 {
		return -1
	}
	return open[len(open)-1]
}

// rust writes the pattern for ripgrep, whose \b knows all of Unicode unless told
// otherwise. It is not ok for \B, which old versions of ripgrep get wrong.
func (p *pattern) rust() (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(p.text); i++ {
		c := p.text[i]
		if c != '\\' || i+1 == len(p.text) {
			b.WriteByte(c)
			continue
		}
		i++
		switch p.text[i] {
		case 'b':
			b.WriteString(`(?-u:\b)`)
		case 'B':
			return "", false
		default:
			b.WriteString(p.text[i-1 : i+1])
		}
	}
	return b.String(), true
}
