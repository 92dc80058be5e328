package builtin

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// htmlLimit is how much of a page is converted, in bytes.
const htmlLimit = 4 << 20

// markdown converts a page to Markdown, with links made absolute. A page that the
// converter cannot take comes back as it is.
func markdown(ctx context.Context, page string, from *url.URL) (text string, err error) {
	note := ""
	if len(page) > htmlLimit {
		page = strings.ToValidUTF8(page[:htmlLimit], "")
		note = fmt.Sprintf("\n[Only the first %d MB of the page were converted.]", htmlLimit>>20)
	}
	defer func() {
		if v := recover(); v != nil {
			text, err = page, nil
		}
	}()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return page, nil // nested too deeply
	}
	tameTables(doc)
	c := converter.NewConverter(
		// A model reads the text, nothing renders it again.
		converter.WithEscapeMode(converter.EscapeModeDisabled),
		converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
			table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal))),
	)
	out, err := c.ConvertNode(doc, converter.WithContext(ctx), converter.WithDomain(from.Scheme+"://"+from.Host))
	if err != nil {
		return page, nil
	}
	return string(out) + note, nil
}

// cellLimit is how many cells a table may have with all its rows made as long as
// the longest, which is what the converter does.
const cellLimit = 20_000

// tameTables keeps small tables from becoming huge text: cells that claim to span
// others no longer do, and a table that is too large is no table.
func tameTables(doc *html.Node) {
	var tables []*html.Node
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Table {
			tables = append(tables, n)
		}
	}
	for _, t := range tables {
		parts := []*html.Node{t}
		rows, cells, widest := 0, 0, 0
		for n := range t.Descendants() {
			switch n.DataAtom {
			case atom.Tr:
				rows, cells = rows+1, 0
			case atom.Td, atom.Th:
				n.Attr = nil
				cells++
				widest = max(widest, cells)
			case atom.Thead, atom.Tbody, atom.Tfoot, atom.Caption:
			default:
				continue
			}
			parts = append(parts, n)
		}
		if rows*widest > cellLimit {
			for _, p := range parts {
				p.Data, p.DataAtom = "div", atom.Div
			}
		}
	}
}
