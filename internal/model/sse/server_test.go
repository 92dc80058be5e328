package sse

import (
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"heddle/internal/model"
)

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const year = 365 * 24 * time.Hour
		for _, c := range []struct {
			seconds, ms string
			want        time.Duration
		}{
			{"", "", 0},
			{"3", "", 3 * time.Second},
			{" 0.5 ", "", 500 * time.Millisecond},
			{"3", "1500", 1500 * time.Millisecond},
			{"3", "soon", 3 * time.Second},
			{"-3", "", 0},
			{"NaN", "", 0},
			{"Inf", "", year},
			{"1e300", "", year},
			{"soon", "", 0},
			{time.Now().Add(2 * time.Minute).UTC().Format(http.TimeFormat), "", 2 * time.Minute},
			{time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), "", 0},
		} {
			h := http.Header{}
			h.Set("Retry-After", c.seconds)
			h.Set("Retry-After-Ms", c.ms)
			if got := retryAfter(h); got != c.want {
				t.Errorf("retryAfter(%q, %q) = %v, want %v", c.seconds, c.ms, got, c.want)
			}
		}
	})
}

func TestPlainText(t *testing.T) {
	for in, want := range map[string]string{
		"":                                     "",
		"  over\n\tloaded ":                    "over loaded",
		"a < b, and <b> c":                     "a < b, and <b> c",
		"<HTML><body>a<br>b &lt;c</body>":      "a b <c",
		"<html><script>never ends":             "",
		"<html><style>x</STYLE><p>a</p":        "a",
		"\xff\xfe":                             "\uFFFD",
		"<html>" + strings.Repeat("é", 600):    strings.Repeat("é", 250) + "…",
		strings.Repeat("x", 500):               strings.Repeat("x", 500),
		"a" + strings.Repeat("é", 250) + "end": "a" + strings.Repeat("é", 249) + "…",
	} {
		if got := plainText([]byte(in)); got != want {
			t.Errorf("plainText(%.40q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzPlainText(f *testing.F) {
	f.Add([]byte("<html><head><style>a</style></head><body>x &amp; y<"))
	f.Add([]byte("plain \xff"))
	f.Fuzz(func(t *testing.T, page []byte) {
		got := plainText(page)
		if !utf8.ValidString(got) || len(got) > 600 || strings.ContainsAny(got, "\n\r") {
			t.Errorf("plainText(%q) = %q", page, got)
		}
	})
}

func TestLoopback(t *testing.T) {
	for base, want := range map[string]bool{
		"http://localhost": true, "http://127.0.0.1:80": true, "http://127.9.9.9": true, "http://[::1]:80": true,
		"http://10.0.0.1": false, "http://localhost.evil.test": false, "http://127.0.0.1.evil.test": false, "http://[::2]": false,
	} {
		u, err := url.Parse(base)
		if err != nil {
			t.Fatal(err)
		}
		if got := loopback(u); got != want {
			t.Errorf("loopback(%s) = %v", base, got)
		}
	}
}

// Settings can shorten every limit, also that of a server on this machine.
func TestLimits(t *testing.T) {
	here, there := &url.URL{Host: "localhost:1"}, &url.URL{Host: "model.test"}
	const s, m = time.Second, time.Minute
	for _, c := range []struct {
		in   Limits
		u    *url.URL
		want Limits
	}{
		{Limits{}, there, Limits{Idle: 90 * s, First: 90 * s, Pings: 10 * m}},
		{Limits{}, here, Limits{Idle: 90 * s, First: 10 * m, Pings: 10 * m}},
		{Limits{Idle: 2 * s}, there, Limits{Idle: 2 * s, First: 2 * s, Pings: 10 * m}},
		{Limits{Idle: 2 * s}, here, Limits{Idle: 2 * s, First: 10 * m, Pings: 10 * m}},
		{Limits{Idle: 2 * s, First: 3 * s, Pings: 4 * s}, here, Limits{Idle: 2 * s, First: 3 * s, Pings: 4 * s}},
	} {
		if got := c.in.forServer(c.u); got != c.want {
			t.Errorf("%+v for %s: %+v, want %+v", c.in, c.u.Host, got, c.want)
		}
	}
}

// A certificate that is wrong stays wrong; no connection may come back.
func TestUnreachable(t *testing.T) {
	for name, c := range map[string]struct {
		base      string
		temporary bool
	}{
		"no server":         {"http://127.0.0.1:1", true},
		"wrong certificate": {tlsServer(t), false},
	} {
		s := NewServer(c.base, "/x", http.Header{}, nil, Limits{})
		_, err := s.Post(t.Context(), model.Agent{}, &model.Body{})
		var e *model.Error
		if !errors.As(err, &e) || e.Class != model.Unreachable || e.Temporary() != c.temporary {
			t.Errorf("%s: error %v", name, err)
		}
		s.client.CloseIdleConnections()
	}
}

// tlsServer returns the URL of a server whose certificate nobody vouches for.
func tlsServer(t *testing.T) string {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}
