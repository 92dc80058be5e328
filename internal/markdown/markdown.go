// Package markdown turns a page of HTML into Markdown for a model to read. It
// goes over the page once, takes whatever comes, and does nothing at all when the
// program starts, which is why it is not a library.
package markdown

import (
	"context"
	"net/url"
	"strings"
)

// maxOutput bounds the result, in bytes: nesting makes it longer than the page.
const maxOutput = 8 << 20

// Convert returns page as Markdown, with links made absolute from its address. It
// ends early when ctx is done, with what there is.
func Convert(ctx context.Context, page string, from *url.URL) string {
	c := &converter{base: from}
	s := &scanner{page: strings.ToValidUTF8(page, "\uFFFD")}
	for n := 0; len(c.out) < maxOutput; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			break
		}
		t, ok := s.next()
		if !ok {
			break
		}
		c.token(t, s)
	}
	c.endLink()
	if c.pre != nil {
		c.endPre()
	}
	text := strings.TrimSpace(string(c.out))
	if title := strings.TrimSpace(c.title); title != "" && !c.headed {
		text = "# " + title + "\n\n" + text
	}
	return text
}

// converter writes Markdown.
type converter struct {
	base   *url.URL
	out    []byte
	breaks int    // line ends to write before the next text
	space  bool   // a space to write before the next text
	fresh  int    // the length of out behind a sign that waits for its text on the same line
	nest   []open // lists, items and quotes around what is written
	title  string
	headed bool // there was an h1
	hidden bool // in head

	pre  *strings.Builder // the text of a code block, nil outside
	lang string

	link      string // the address of the open link
	linkStart int    // where its text begins in out

	cells int  // of the open row, 0 outside of one
	row   int  // of the open table, from 1; 0 outside of one
	cell  bool // in a cell: everything stays on one line
}

// open is an element that sets what is in it off from the left.
type open struct {
	name   string
	prefix string
	items  int // of a list: written so far; of ol: the number of the last
}

// maxNest is how deep elements are set off. What is deeper is not.
const maxNest = 24

func (c *converter) token(t token, s *scanner) {
	if t.name == "" {
		c.text(t.text)
		return
	}
	switch t.name {
	case "script", "style", "noscript", "template", "svg", "math", "iframe", "object", "canvas":
		if !t.end && !strings.HasSuffix(t.attrs, "/") {
			s.raw(t.name)
		}
	case "title":
		if !t.end {
			if text := s.raw("title"); c.title == "" {
				c.title = strings.Join(strings.Fields(unescape(text)), " ")
			}
		}
	case "head":
		c.hidden = !t.end
	case "body":
		c.hidden = false
	case "base":
		if u, err := c.base.Parse(t.attr("href")); err == nil {
			c.base = u
		}
	case "pre":
		if t.end {
			c.endPre()
		} else {
			c.startPre(t)
		}
	default:
		c.element(t)
	}
}

func (c *converter) element(t token) {
	switch t.name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		c.block(2)
		if !t.end {
			c.headed = c.headed || t.name == "h1"
			c.write(strings.Repeat("#", int(t.name[1]-'0')) + " ")
		}
	case "p", "figure", "details", "dl":
		c.block(2)
	case "div", "section", "article", "header", "footer", "main", "nav", "aside", "form", "fieldset", "address",
		"figcaption", "summary", "dt", "option", "caption", "legend":
		c.block(1)
	case "dd":
		c.block(1)
		if !t.end {
			c.write(": ")
		}
	case "br":
		c.block(1)
	case "hr":
		c.block(2)
		c.write("---")
		c.block(2)
	case "strong", "b":
		c.mark("**", t.end)
	case "em", "i":
		c.mark("*", t.end)
	case "code", "kbd", "samp", "tt":
		if c.pre == nil {
			c.mark("`", t.end)
		} else if c.lang == "" {
			c.lang = language(t)
		}
	case "a":
		c.endLink()
		if !t.end {
			c.startLink(t)
		}
	case "img":
		c.image(t)
	case "ul", "ol", "li", "blockquote":
		c.nesting(t)
	case "table", "tr", "td", "th":
		c.table(t)
	}
}

// block ends the line, and leaves an empty one if n is 2.
func (c *converter) block(n int) {
	if c.cell {
		c.space = true
		return
	}
	if c.fresh > 0 && c.fresh == len(c.out) {
		return
	}
	c.breaks, c.space = max(c.breaks, n), false
}

// sign begins an item or a quote: what comes next stands behind it.
func (c *converter) sign(s string) {
	c.write(s)
	c.fresh = len(c.out)
}

// write writes text that is not collapsed, after what is due before it.
func (c *converter) write(s string) {
	if c.breaks > 0 && len(c.out) > 0 {
		for range c.breaks {
			c.out = append(trimRight(c.out), '\n')
			c.out = append(c.out, c.prefix()...)
		}
	}
	if c.space && c.breaks == 0 && len(c.out) > 0 {
		c.out = append(c.out, ' ')
	}
	c.breaks, c.space = 0, false
	c.out = append(c.out, s...)
}

// trimRight removes spaces at the end of a line, but not what sets it off.
func trimRight(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == ' ' {
		b = b[:len(b)-1]
	}
	return b
}

func (c *converter) prefix() string {
	var b strings.Builder
	for _, o := range c.nest {
		b.WriteString(o.prefix)
	}
	return b.String()
}

// text writes running text, white space collapsed.
func (c *converter) text(s string) {
	switch {
	case c.hidden:
		return
	case c.pre != nil:
		c.pre.WriteString(s)
		return
	}
	words := strings.Fields(clean(s))
	if len(words) == 0 {
		c.space = c.space || s != "" && c.breaks == 0
		return
	}
	if strings.TrimLeft(s, " \t\r\n\f") != s {
		c.space = true
	}
	joined := strings.Join(words, " ")
	if c.cell {
		joined = strings.ReplaceAll(joined, "|", `\|`)
	}
	c.write(joined)
	c.space = strings.TrimRight(s, " \t\r\n\f") != s
}

// mark opens or closes emphasis or code.
func (c *converter) mark(m string, end bool) {
	if c.hidden || c.pre != nil {
		return
	}
	if end {
		space := c.space
		c.space = false
		c.write(m)
		c.space = space
		return
	}
	c.write(m)
}

// clean drops control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' && r != '\r' && r != '\f' || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, s)
}
