package builtin

import (
	"context"
	"fmt"
	"net/url"

	"heddle/internal/markdown"
)

// htmlLimit is how much of a page is converted, in bytes.
const htmlLimit = 4 << 20

// pageText converts a page to Markdown, with links made absolute.
func pageText(ctx context.Context, page string, from *url.URL) (string, error) {
	note := ""
	if len(page) > htmlLimit {
		page = page[:htmlLimit]
		note = fmt.Sprintf("\n[Only the first %d MB of the page were converted.]", htmlLimit>>20)
	}
	text := markdown.Convert(ctx, page, from)
	return text + note, context.Cause(ctx)
}
