package markdown

import (
	"html"
	"strings"
)

// token is a piece of a page: a text, or a tag.
type token struct {
	name  string // of a tag, in lower case; empty: a text
	end   bool   // a closing tag
	text  string // of a text, without entities
	attrs string // of a tag, as written
}

// scanner cuts a page into tokens. It takes whatever comes and never goes back.
type scanner struct{ page string }

// next returns the next token; ok is false at the end of the page.
func (s *scanner) next() (t token, ok bool) {
	for s.page != "" {
		if s.page[0] != '<' {
			return s.text(), true
		}
		switch {
		case strings.HasPrefix(s.page, "<!--"):
			s.skipPast(4, "-->")
		case len(s.page) > 1 && (s.page[1] == '!' || s.page[1] == '?'):
			s.skipPast(2, ">")
		case len(s.page) > 1 && letter(s.page[1]), len(s.page) > 2 && s.page[1] == '/' && letter(s.page[2]):
			return s.tag(), true
		default:
			return s.text(), true // a lone <
		}
	}
	return token{}, false
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// text takes what comes before the next <, and at least one byte.
func (s *scanner) text() token {
	end := strings.IndexByte(s.page[1:], '<') + 1
	if end == 0 {
		end = len(s.page)
	}
	t := s.page[:end]
	s.page = s.page[end:]
	return token{text: html.UnescapeString(t)}
}

func (s *scanner) skipPast(from int, mark string) {
	if i := strings.Index(s.page[from:], mark); i >= 0 {
		s.page = s.page[from+i+len(mark):]
		return
	}
	s.page = ""
}

// tag takes a tag up to its >, which may stand in a quoted value before.
func (s *scanner) tag() token {
	t := token{}
	i := 1
	if s.page[1] == '/' {
		t.end, i = true, 2
	}
	start := i
	for i < len(s.page) && !strings.ContainsRune(" \t\r\n\f/>", rune(s.page[i])) {
		i++
	}
	t.name = strings.ToLower(s.page[start:i])
	start = i
	quote := byte(0)
	for ; i < len(s.page); i++ {
		c := s.page[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			t.attrs = s.page[start:i]
			s.page = s.page[i+1:]
			return t
		case (c == '"' || c == '\'') && s.page[i-1] == '=':
			quote = c
		}
	}
	t.attrs = s.page[start:]
	s.page = ""
	return t
}

// raw takes everything up to the closing tag of an element whose content is not
// markup, and the tag.
func (s *scanner) raw(name string) string {
	for i := 0; ; {
		at := strings.Index(s.page[i:], "</")
		if at < 0 {
			content := s.page
			s.page = ""
			return content
		}
		i += at
		rest := s.page[i+2:]
		if len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) {
			content := s.page[:i]
			s.page = s.page[i:]
			s.skipPast(2, ">")
			return content
		}
		i += 2
	}
}

// attr returns the value of an attribute, "" if it is not there.
func (t token) attr(name string) string {
	rest := t.attrs
	for {
		rest = strings.TrimLeft(rest, " \t\r\n\f/")
		if rest == "" {
			return ""
		}
		end := strings.IndexAny(rest, " \t\r\n\f/=")
		if end == 0 {
			rest = rest[1:] // a stray =
			continue
		}
		if end < 0 {
			end = len(rest)
		}
		key := rest[:end]
		rest = strings.TrimLeft(rest[end:], " \t\r\n\f")
		value := ""
		if strings.HasPrefix(rest, "=") {
			value, rest = attrValue(strings.TrimLeft(rest[1:], " \t\r\n\f"))
		}
		if strings.EqualFold(key, name) {
			return html.UnescapeString(value)
		}
	}
}

func attrValue(s string) (value, rest string) {
	if s != "" && (s[0] == '"' || s[0] == '\'') {
		if end := strings.IndexByte(s[1:], s[0]); end >= 0 {
			return s[1 : 1+end], s[2+end:]
		}
		return s[1:], ""
	}
	end := strings.IndexAny(s, " \t\r\n\f")
	if end < 0 {
		end = len(s)
	}
	return s[:end], s[end:]
}
