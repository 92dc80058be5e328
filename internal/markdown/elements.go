package markdown

import (
	"html"
	"strconv"
	"strings"
)

func unescape(s string) string { return clean(html.UnescapeString(s)) }

// address makes a link absolute. Links that run something, or hold all of it, are none.
func (c *converter) address(href string) string {
	u, err := c.base.Parse(strings.TrimSpace(href))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" && u.Scheme != "ftp" {
		return ""
	}
	return clean(strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "\n", "").Replace(u.String()))
}

func (c *converter) startLink(t token) {
	href := t.attr("href")
	if c.hidden || c.pre != nil || href == "" || strings.HasPrefix(href, "#") {
		return
	}
	if c.link = c.address(href); c.link != "" {
		c.write("[")
		c.linkStart = len(c.out)
	}
}

// endLink closes the open link. One without text is nothing, and one whose text is its
// address is just that.
func (c *converter) endLink() {
	if c.link == "" {
		return
	}
	link := c.link
	c.link = ""
	text := strings.TrimSpace(string(c.out[c.linkStart:]))
	switch text {
	case "":
		c.out = c.out[:c.linkStart-1]
	case link:
		c.out = append(c.out[:c.linkStart-1], text...)
	default:
		c.out = append(trimRight(c.out), "]("+link+")"...)
	}
}

func (c *converter) image(t token) {
	alt := strings.Join(strings.Fields(clean(t.attr("alt"))), " ")
	src := c.address(t.attr("src"))
	if c.hidden || c.pre != nil || alt == "" && src == "" {
		return
	}
	c.write("![" + alt + "](" + src + ")")
}

func (c *converter) startPre(t token) {
	if c.pre == nil && !c.hidden {
		c.endLink()
		c.pre, c.lang = &strings.Builder{}, language(t)
	}
}

// endPre writes a code block, with a fence that is longer than any in it.
func (c *converter) endPre() {
	if c.pre == nil {
		return
	}
	text := strings.Trim(clean(c.pre.String()), "\r\n")
	c.pre = nil
	if c.cell { // a table keeps a cell on one line
		c.text(text)
		return
	}
	fence := "```"
	for strings.Contains(text, fence) && len(fence) < 64 {
		fence += "`"
	}
	c.block(2)
	c.write(fence + c.lang)
	for line := range strings.Lines(text) {
		c.block(1)
		c.write(strings.TrimRight(line, "\r\n"))
	}
	c.block(1)
	c.write(fence)
	c.block(2)
}

// language returns what the class of an element says of the language of its code.
func language(t token) string {
	for _, class := range strings.Fields(t.attr("class")) {
		for _, p := range []string{"language-", "lang-", "highlight-source-"} {
			if l, ok := strings.CutPrefix(class, p); ok && strings.Trim(l, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#-") == "" {
				return l
			}
		}
	}
	return ""
}

// nesting handles lists, their items, and quotes.
func (c *converter) nesting(t token) {
	if c.cell || c.hidden {
		c.space = true
		return
	}
	gap := 2
	if t.name == "li" || c.inside("li") {
		gap = 1
	}
	if t.name == "li" || t.end {
		c.fresh = 0 // an empty item is one too
	}
	c.block(gap)
	if t.end {
		c.close(t.name)
		return
	}
	switch t.name {
	case "li":
		c.item()
	case "blockquote":
		c.sign("> ")
		c.push(open{name: t.name, prefix: "> "})
	default:
		start, _ := strconv.Atoi(t.attr("start")) // without one, from 1
		c.push(open{name: t.name, items: max(start-1, 0)})
	}
}

// item begins an item of the nearest list. An item before it that was not closed is over.
func (c *converter) item() {
	for i := len(c.nest) - 1; i >= 0; i-- {
		if n := c.nest[i].name; n == "ul" || n == "ol" {
			break
		} else if n == "li" {
			c.nest = c.nest[:i]
			break
		}
	}
	sign := "- "
	if n := len(c.nest); n > 0 && c.nest[n-1].name == "ol" {
		c.nest[n-1].items++
		sign = strconv.Itoa(c.nest[n-1].items) + ". "
	}
	c.sign(sign)
	c.push(open{name: "li", prefix: strings.Repeat(" ", len(sign))})
}

func (c *converter) push(o open) {
	if len(c.nest) < maxNest {
		c.nest = append(c.nest, o)
	}
}

func (c *converter) inside(name string) bool {
	for _, o := range c.nest {
		if o.name == name {
			return true
		}
	}
	return false
}

// close closes an element, and those in it that were not closed.
func (c *converter) close(name string) {
	for i := len(c.nest) - 1; i >= 0; i-- {
		if c.nest[i].name == name {
			c.nest = c.nest[:i]
			return
		}
	}
}

// maxCells is how many cells a row may have.
const maxCells = 100

// table writes rows of cells. A table in a cell is text.
func (c *converter) table(t token) {
	if c.hidden || c.pre != nil {
		return
	}
	switch t.name {
	case "table":
		c.endRow()
		c.block(2)
		c.row = 0
	case "tr":
		c.endRow()
		if !t.end {
			c.row++
		}
	default:
		c.cell = false
		if t.end || c.row == 0 || c.cells >= maxCells {
			return
		}
		if c.cells == 0 {
			c.block(1)
			c.write("|")
		} else {
			c.space = true
			c.write("|")
		}
		c.cells++
		c.cell, c.space = true, true
	}
}

// endRow closes the open row, and puts the line under the first.
func (c *converter) endRow() {
	c.cell = false
	if c.cells == 0 {
		return
	}
	c.space = true
	c.write("|")
	if c.row == 1 {
		c.block(1)
		c.write("|" + strings.Repeat(" --- |", c.cells))
	}
	c.cells = 0
	c.block(1)
}
