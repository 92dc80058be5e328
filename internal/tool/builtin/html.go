package builtin

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	htmltomarkdown "github.com/JohannesKaufmann/html-to-markdown/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
)

// htmlLimit is how much of a page is converted, in bytes.
const htmlLimit = 4 << 20

// markdown converts a page to Markdown, with links made absolute. A page that the
// converter cannot take comes back as it is.
func markdown(ctx context.Context, html string, base *url.URL) (text string, err error) {
	note := ""
	if len(html) > htmlLimit {
		html = strings.ToValidUTF8(html[:htmlLimit], "")
		note = fmt.Sprintf("\n[Only the first %d MB of the page were converted.]", htmlLimit>>20)
	}
	defer func() {
		if v := recover(); v != nil {
			text, err = html, nil
		}
	}()
	text, err = htmltomarkdown.ConvertString(html, converter.WithContext(ctx), converter.WithDomain(base.Scheme+"://"+base.Host))
	if err != nil {
		return html, nil
	}
	return text + note, nil
}
