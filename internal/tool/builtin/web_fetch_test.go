package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// site is a web server without a network: handlers by host.
type site map[string]http.HandlerFunc

func (s site) RoundTrip(r *http.Request) (*http.Response, error) {
	h, ok := s[r.URL.Host]
	if !ok {
		return nil, errors.New("no such host")
	}
	w := httptest.NewRecorder()
	h(w, r)
	resp := w.Result()
	resp.Request = r
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return resp, nil
}

func page200(kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}
}

func to(address string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, address, http.StatusFound) }
}

func TestWebFetchGivesMarkdownMarkedAsForeign(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	web := site{
		"docs.test": page200("text/html; charset=utf-8", `<html><head><title>T</title><script>evil()</script></head>
			<body><h1>Hello</h1><p>See <a href="/x">this</a> <b>now</b>.</p><pre><code>a &lt; b</code></pre></body></html>`),
		"json.test":  page200("application/json", `{"a":1}`),
		"latin.test": page200("text/plain; charset=ISO-8859-1", "caf\xe9"),
		"plain.test": page200("", "just text"),
	}
	fetch := WebFetch(WebOptions{Transport: web})
	got := b.ok(fetch, args{"url": "http://docs.test/a#part", "prompt": "what is it?"})
	for _, want := range []string{"https://docs.test/a (text/html,", "written by others", "# Hello", "[this](https://docs.test/x)", "**now**", "a < b",
		"You wanted to know: what is it?"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "evil") {
		t.Errorf("the script is in the text:\n%s", got)
	}
	for address, want := range map[string]string{"json.test": `{"a":1}`, "https://latin.test": "café", "https://plain.test": "just text"} {
		if got := b.ok(fetch, args{"url": address, "prompt": "p"}); !strings.Contains(got, want) {
			t.Errorf("%s gives %q, want %q in it", address, got, want)
		}
	}
}

func TestWebFetchRefusals(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	web := site{
		"zip.test":  page200("application/zip", "PK"),
		"big.test":  page200("text/plain", strings.Repeat("x", pageLimit+1)),
		"gone.test": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "it was here", http.StatusNotFound) },
		"file.test": to("file:///etc/passwd"),
		"loop.test": to("/again"),
	}
	fetch := WebFetch(WebOptions{Transport: web})
	for address, want := range map[string]string{
		"https://zip.test":       "is application/zip (2 bytes), which is not text",
		"https://big.test":       "is larger than 10 MB",
		"https://gone.test":      "answered 404 Not Found. It said:\nit was here",
		"https://none.test":      "could not be fetched: no such host",
		"https://loop.test":      "more than 10 redirects",
		"ftp://x.test":           `not "ftp"`,
		"file:///etc/passwd":     `not "file"`,
		"https://u:p@x.test":     "holds a user name",
		"https://":               "names no host",
		"https://x.test/%zz":     "is not an address",
		strings.Repeat("x", 3e3): "longer than 2000",
	} {
		b.fails(fetch, args{"url": address, "prompt": "p"}, want)
	}
	if got := b.ok(fetch, args{"url": "https://file.test", "prompt": "p"}); !strings.Contains(got, "was not followed") {
		t.Errorf("a redirect to a file gives %q", got)
	}
}

func TestRedirectsStayOnTheHost(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	web := site{
		"a.test":     to("https://www.a.test/home"),
		"www.a.test": page200("text/plain", "home"),
		"b.test":     to("https://evil.test/x?token=1"),
		"evil.test":  page200("text/plain", "evil"),
		"c.test":     to("https://c.test:8443/"),
	}
	fetch := WebFetch(WebOptions{Transport: web})
	if got := b.ok(fetch, args{"url": "https://a.test", "prompt": "p"}); !strings.Contains(got, "\nhome\n") {
		t.Errorf("a redirect to www gives %q", got)
	}
	for from, to := range map[string]string{"https://b.test": "https://evil.test/x?token=1", "https://c.test": "https://c.test:8443/"} {
		got := b.ok(fetch, args{"url": from, "prompt": "p"})
		if !strings.Contains(got, "redirects to another host: "+to) || strings.Contains(got, "evil\n") {
			t.Errorf("a redirect elsewhere gives %q", got)
		}
	}
}

// TestPrivateAddressesAreNotDialled: the check is on the address that is
// connected to, so a name that resolves to it does not help.
func TestPrivateAddressesAreNotDialled(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	called := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		called <- struct{}{}
		_, _ = io.WriteString(w, "secret")
	}))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	strict := WebFetch(WebOptions{})
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		r := b.call(strict, args{"url": "http://" + host + port, "prompt": "p"})
		if !r.IsError || strings.Contains(textOf(r), "secret") {
			t.Errorf("%s: %q", host, textOf(r))
		}
	}
	b.fails(strict, args{"url": "http://127.0.0.1" + port, "prompt": "p"}, "does not connect to 127.0.0.1, a private or local address")
	select {
	case <-called:
		t.Error("the local server was asked")
	default:
	}
	open := newWeb(WebOptions{AllowPrivate: true})
	u, _ := url.Parse(server.URL)
	if p, err := open.page(t.Context(), u); err != nil || p.text != "secret" {
		t.Errorf("with private addresses allowed: %q, %v", p.text, err)
	}
	open.client.CloseIdleConnections()
}

func TestPublicAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"8.8.8.8": true, "2606:4700::1111": true, "64:ff9b::8.8.8.8": true, "2002:808:808::1": true,
		"127.0.0.1": false, "::1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "::": false, "fe80::1%eth0": false, "fd00::1": false, "224.0.0.1": false, "ff02::1": false,
		"255.255.255.255": false, "::ffff:10.0.0.1": false, "64:ff9b::10.0.0.1": false, "2002:a00:1::1": false, "::7f00:1": false,
		"198.18.0.1": false, "fec0::1": false,
	} {
		if got := public(netip.MustParseAddr(address)); got != want {
			t.Errorf("public(%s) = %v, want %v", address, got, want)
		}
	}
}

func TestPagesAreKeptForFifteenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		w := newWeb(WebOptions{Transport: site{"x.test": func(w http.ResponseWriter, r *http.Request) {
			asked++
			page200("text/plain", fmt.Sprint("answer ", asked))(w, r)
		}}})
		u := &url.URL{Scheme: "https", Host: "x.test"}
		for _, step := range []struct {
			wait time.Duration
			want string
		}{{0, "answer 1"}, {14 * time.Minute, "answer 1"}, {time.Minute, "answer 2"}} {
			<-time.After(step.wait)
			if p, err := w.page(t.Context(), u); err != nil || p.text != step.want {
				t.Errorf("after %v: %q, %v; want %q", step.wait, p.text, err, step.want)
			}
		}
	})
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	var c pageCache
	for i := range 3 * cachePages {
		c.put(fmt.Sprint(i), page{text: strings.Repeat("x", 100), received: time.Now()})
	}
	if len(c.pages) != cachePages || c.bytes != 100*cachePages {
		t.Errorf("%d pages of %d bytes are kept", len(c.pages), c.bytes)
	}
	c.put("big", page{text: strings.Repeat("x", cacheBytes+1), received: time.Now()})
	if len(c.pages) != 0 || c.bytes != 0 {
		t.Errorf("after a page that does not fit: %d pages of %d bytes", len(c.pages), c.bytes)
	}
}

func TestSlowPagesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWeb(WebOptions{Transport: site{"slow.test": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}})
		_, err := w.page(context.Background(), &url.URL{Scheme: "https", Host: "slow.test"})
		if err == nil || !strings.Contains(err.Error(), "took more than 30 seconds") {
			t.Errorf("page = %v", err)
		}
	})
}

// TestALongPageGoesToAFile: the conversation gets its ends and the path.
func TestALongPageGoesToAFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	text := strings.Repeat("a line of text\n", 100_000)
	fetch := WebFetch(WebOptions{Transport: site{"x.test": page200("text/plain", text)}})
	got := b.ok(fetch, args{"url": "https://x.test", "prompt": "p"})
	if len(got) > fetchLimit+2000 {
		t.Errorf("the result has %d bytes", len(got))
	}
	_, rest, ok := strings.Cut(got, "bytes of it are in ")
	path, _, _ := strings.Cut(rest, ",")
	kept, err := os.ReadFile(path)
	if !ok || err != nil || string(kept) != strings.TrimSpace(text) {
		t.Errorf("the whole text is not in %q: %v", path, err)
	}
}

// TestHostilePages: a page must not end the process by recursion, keep it busy
// for long, or become much larger than it was.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	from := &url.URL{Scheme: "https", Host: "x.test"}
	for _, piece := range []string{
		"<div>", "<b>", "<ul><li>", "<table><tr><td>", "<blockquote>", "<a href=x><p>", // without end
		"[", "*", "`", "_a", "> ", "&amp;", "\n", "<p>x", "<b>x<i>y", "<font><p>", "<br>", "<b> </b>", "<select><option>x",
		"<table><tr><td>x</table>",
	} {
		page := strings.Repeat(piece, 100_000/len(piece))
		begin := time.Now()
		text, err := pageText(t.Context(), page, from)
		if took := time.Since(begin); err != nil || len(text) > 4*len(page) || took > 10*time.Second {
			t.Errorf("%q: %d bytes after %v, %v", piece, len(text), took, err)
		}
	}
	wide := "<table><tr>" + strings.Repeat("<td colspan=1000>x", 3000) + strings.Repeat("<tr><td>y", 3000)
	if text, err := pageText(t.Context(), wide, from); err != nil || len(text) > 4*len(wide) {
		t.Errorf("a wide and long table becomes %d bytes, %v", len(text), err)
	}
	long := "<table><tr><td>" + strings.Repeat("x", 100_000) + strings.Repeat("<tr><td>y", 1000)
	if text, err := pageText(t.Context(), long, from); err != nil || len(text) > 2*len(long) {
		t.Errorf("a table with one long cell becomes %d bytes, %v", len(text), err)
	}
}

func TestTablesStayTables(t *testing.T) {
	t.Parallel()
	got, err := pageText(t.Context(), "<table><tr><th>a_b<th>c<tr><td>1<td>2</table>", &url.URL{Scheme: "https", Host: "x.test"})
	if want := "| a_b | c |\n| --- | --- |\n| 1 | 2 |"; err != nil || got != want {
		t.Errorf("markdown = %q, %v; want %q", got, err, want)
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("<h1>x</h1><p>y<table><tr><td>z")
	f.Add("<pre><code>`````</code></pre><a href='javascript:x'>y</a>")
	f.Add("<svg><foreignObject><math><mtext></p></svg>")
	f.Fuzz(func(t *testing.T, html string) {
		if _, err := pageText(context.Background(), html, &url.URL{Scheme: "https", Host: "x.test"}); err != nil {
			t.Fatal(err)
		}
	})
}
