package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	pageLimit     = 10 << 20 // bytes of a page
	pageTime      = 30 * time.Second
	pageRedirects = 10
)

var errPageSlow = errors.New("it took more than 30 seconds")

// web fetches pages and remembers them for a while.
type web struct {
	options WebOptions
	client  *http.Client
	cache   pageCache
}

func newWeb(o WebOptions) *web {
	w := &web{options: o}
	t := o.Transport
	if t == nil {
		// No proxy: it, not this program, would decide which address is dialled.
		t = &http.Transport{
			DialContext:           dialer(o.AllowPrivate).DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          4,
			IdleConnTimeout:       30 * time.Second,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: pageTime,
		}
	}
	w.client = &http.Client{Transport: t, CheckRedirect: w.redirect}
	return w
}

// elsewhere ends a request that is redirected to another host.
type elsewhere struct{ to string }

func (e *elsewhere) Error() string { return "redirected to " + e.to }

func (w *web) redirect(r *http.Request, via []*http.Request) error {
	if len(via) >= pageRedirects {
		return fmt.Errorf("more than %d redirects", pageRedirects)
	}
	if !sameHost(r.URL, via[0].URL) {
		return &elsewhere{r.URL.String()}
	}
	return checkAddress(r.URL, w.options)
}

// sameHost compares hosts; with and without www is the same.
func sameHost(a, b *url.URL) bool {
	bare := func(u *url.URL) string { return strings.TrimPrefix(strings.ToLower(u.Hostname()), "www.") }
	port := func(u *url.URL) string { return strings.TrimPrefix(strings.TrimPrefix(u.Port(), "443"), "80") }
	return bare(a) == bare(b) && port(a) == port(b)
}

// page returns what an address gives, from the cache if it is there.
func (w *web) page(ctx context.Context, u *url.URL) (page, error) {
	if p, ok := w.cache.get(u.String()); ok {
		return p, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, pageTime, errPageSlow)
	defer cancel()
	p, err := w.fetch(ctx, u)
	var ours refusal
	switch {
	case err == nil:
	case errors.As(err, &ours):
		return page{}, ours
	case ctx.Err() != nil:
		return page{}, refuse("%s could not be fetched: %v.", u, context.Cause(ctx))
	default:
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err
		}
		return page{}, refuse("%s could not be fetched: %v.", u, err)
	}
	if p.code < 400 {
		w.cache.put(u.String(), p)
	}
	return p, nil
}

func (w *web) fetch(ctx context.Context, u *url.URL) (page, error) {
	p := page{url: u.String(), received: time.Now()}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return p, err
	}
	r.Header.Set("User-Agent", "heddle (coding agent)")
	r.Header.Set("Accept", "text/markdown, text/html, text/*;q=0.9, */*;q=0.5")
	resp, err := w.client.Do(r)
	var other *elsewhere
	if errors.As(err, &other) {
		p.moved = other.to
		if resp != nil {
			p.code = resp.StatusCode
		}
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer resp.Body.Close()
	p.url, p.code = resp.Request.URL.String(), resp.StatusCode
	data, err := io.ReadAll(io.LimitReader(resp.Body, pageLimit+1))
	if err != nil {
		return p, err
	}
	if len(data) > pageLimit {
		return p, refuse("%s is larger than %d MB, the most this tool takes.", p.url, pageLimit>>20)
	}
	p.size = len(data)
	kind, params, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if kind == "" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	p.kind = kind
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		p.text, err = pageText(ctx, toUTF8(data, params["charset"]), resp.Request.URL)
		return p, err
	case isText(kind):
		p.text = toUTF8(data, params["charset"])
		return p, nil
	}
	return p, refuse("%s is %s (%d bytes), which is not text. Download it with a command if you need it.", p.url, kind, len(data))
}

// isText reports whether a media type is text that a model can read as it is.
func isText(kind string) bool {
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/yaml",
		"application/x-yaml", "application/toml", "application/x-ndjson", "application/x-sh", "application/sql":
		return true
	}
	return strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
}

// toUTF8 returns data as text. Of the encodings before UTF-8 it knows the most
// common; what it cannot read becomes U+FFFD.
func toUTF8(data []byte, charset string) string {
	switch strings.ToLower(charset) {
	case "iso-8859-1", "latin1", "windows-1252":
		if !utf8.Valid(data) {
			r := make([]rune, len(data))
			for i, c := range data {
				r[i] = rune(c)
			}
			return string(r)
		}
	}
	return strings.ToValidUTF8(strings.TrimPrefix(string(data), bom), "\uFFFD")
}

const (
	cacheTime  = 15 * time.Minute
	cachePages = 50
	cacheBytes = 8 << 20 // of text, all pages together
)

// pageCache remembers pages for a while, the latest ones if there are many.
type pageCache struct {
	mu    sync.Mutex
	pages []cached // oldest first
	bytes int
}

type cached struct {
	address string
	page    page
}

func (c *pageCache) get(address string) (page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expire()
	for _, p := range c.pages {
		if p.address == address {
			return p.page, true
		}
	}
	return page{}, false
}

func (c *pageCache) put(address string, p page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pages = append(c.pages, cached{address, p})
	c.bytes += len(p.text)
	c.expire()
}

// expire drops what is too old or too much. c.mu is held.
func (c *pageCache) expire() {
	n := 0
	for n < len(c.pages) && (len(c.pages)-n > cachePages || c.bytes > cacheBytes ||
		time.Since(c.pages[n].page.received) >= cacheTime) {
		c.bytes -= len(c.pages[n].page.text)
		c.pages[n] = cached{}
		n++
	}
	c.pages = c.pages[n:]
}
