package markdown

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

var page = &url.URL{Scheme: "https", Host: "docs.test", Path: "/guide/start"}

func TestConvert(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"text", "  one\n two  ", "one two"},
		{"entities", "a &lt; b &amp;&nbsp;c &copy; &#233;", "a < b & c © é"},
		{"paragraphs", "<p>one<p>two</p>\n\n<p> three </p>", "one\n\ntwo\n\nthree"},
		{"breaks", "one<br>two<br/><br>three", "one\ntwo\nthree"},
		{"headings", "<h1>A</h1>text<h3>B <em>c</em></h3>", "# A\n\ntext\n\n### B *c*"},
		{"title", "<head><title>T &amp; U</title><meta x></head><body>text", "# T & U\n\ntext"},
		{"title beside a heading", "<title>T</title><h1>H</h1>", "# H"},
		{"emphasis", "a <b>bold</b>, <i>soft</i> and <code>x &lt; y</code>.", "a **bold**, *soft* and `x < y`."},
		{"links", `<a href="/x">this</a> <a href='y?a=1&amp;b=2'>that</a> <a href=https://a.test>https://a.test</a>`, "[this](https://docs.test/x) [that](https://docs.test/guide/y?a=1&b=2) https://a.test"},
		{"links that are none", `<a href="javascript:x()">a</a><a href="#b">b</a><a name=c>c</a><a href="data:x">d</a><a href=/e></a>`, "abcd"},
		{"a base", `<base href="https://other.test/"><a href=x>x</a>`, "[x](https://other.test/x)"},
		{"links that nobody closes", `<a href=/x>one <a href=/y>two`, "[one](https://docs.test/x) [two](https://docs.test/y)"},
		{"images", `<img src=/a.png alt="a  b"><img src="data:image/png;base64,AAAA">`, "![a b](https://docs.test/a.png)"},
		{"lists", "<ul><li>one<li>two<ol start=3><li>a</li><li>b</ol></li></ul>after", "- one\n- two\n  3. a\n  4. b\n\nafter"},
		{"paragraphs in items", "<ul><li><p>one</p><p>two</p></li></ul>", "- one\n\n  two"},
		{"quotes", "x<blockquote><p>one</p><p>two</p></blockquote>y", "x\n\n> one\n>\n> two\n\ny"},
		{"a quote first", "<blockquote>one</blockquote>", "> one"},
		{"code", "<p>x</p><pre><code class=\"language-go\">func f() {\n\tx &lt; 1\n}\n</code></pre><p>y", "x\n\n```go\nfunc f() {\n\tx < 1\n}\n```\n\ny"},
		{"code with a fence in it", "<pre>```\na</pre>", "````\n```\na\n````"},
		{"code in a list", "<ul><li>x<pre>a\n b</pre></ul>", "- x\n\n  ```\n  a\n   b\n  ```"},
		{"tables", "<table><tr><th>A<th>B</tr><tr><td>1|2</td><td><p>x</p><p>y</p></td></tr></table>after", "| A | B |\n| --- | --- |\n| 1\\|2 | x y |\n\nafter"},
		{"what is not text", "a<script>if (x < y) { '</b>' }</script><style>p{}</style><!-- <p>no</p> --><svg><text>no</text></svg>b", "ab"},
		{"unclosed script", "a<script>no", "a"},
		{"a lone <", "1 < 2 and <3 <", "1 < 2 and <3 <"},
		{"odd tags", "<p class='a>b' title=\"x\">one</p ><DIV>two</Div><x-y>three</x-y></nothing>", "one\n\ntwo\nthree"},
		{"rule and definition", "<dl><dt>a<dd>b</dl><hr>c", "a\n: b\n\n---\n\nc"},
		{"control characters", "a\x1b[31mb\x00c\x7f", "a[31mbc"},
		{"bytes that are not text", "a\xffb", "a\uFFFDb"},
	} {
		if got := Convert(t.Context(), c.in, page); got != c.want {
			t.Errorf("%s: Convert(%q)\n got %q\nwant %q", c.name, c.in, got, c.want)
		}
	}
}

// Pages that are made to hurt take time and room in proportion to their length.
func TestHostilePages(t *testing.T) {
	t.Parallel()
	const n = 200_000
	for _, in := range []string{
		strings.Repeat("<div>", n), strings.Repeat("<ul><li>", n), strings.Repeat("<blockquote>x", n),
		strings.Repeat("<a href=/x>", n), strings.Repeat("<table><tr><td>", n), strings.Repeat("<td>x", n),
		strings.Repeat("<", n), strings.Repeat("</", n), strings.Repeat("<!--", n), strings.Repeat("<script>", n),
		strings.Repeat("<script></scrip", n), "<p " + strings.Repeat("a=b ", n) + ">", "<p a=\"" + strings.Repeat("x", n),
		"<pre>" + strings.Repeat("`", n), strings.Repeat("<br>", n), strings.Repeat("<b>", n), strings.Repeat("&amp", n),
		"<table>" + strings.Repeat("<tr>"+strings.Repeat("<td>x", 50), n/50), strings.Repeat("<ol><li>x<br>", n),
	} {
		if got := Convert(t.Context(), in, page); len(got) > 2*maxOutput {
			t.Errorf("%.30q… gave %d bytes", in, len(got))
		}
	}
}

func TestCancelledConversionEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Convert(ctx, strings.Repeat("<p>x", 10_000), page); len(got) > 10_000 {
		t.Errorf("converted %d bytes", len(got))
	}
}

func FuzzConvert(f *testing.F) {
	for _, s := range []string{"<p>a", "<a href='x", "<pre><code>", "<table><tr><td>|", "&#x;&amp", "<ul><li><blockquote>", "\xff<\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := Convert(context.Background(), in, page)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x1b\x7f") {
			t.Fatalf("Convert(%q) = %q", in, got)
		}
	})
}
