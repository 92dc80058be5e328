package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// remote is a server that is reached over HTTP.
type remote struct {
	config *Config
	denied atomic.Bool
	pool   *http.Transport

	mu     sync.Mutex
	conn   sdk.Connection
	cancel context.CancelFunc // of all requests
	over   bool
}

func newRemote(c *Config) *remote {
	pool := http.DefaultTransport.(*http.Transport).Clone()
	return &remote{config: c, pool: pool}
}

// Connect makes the connection; nothing is sent yet over streamable HTTP.
func (r *remote) Connect(ctx context.Context) (sdk.Connection, error) {
	// The stream of events lives longer than the attempt to connect, which ctx bounds.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.mu.Lock()
	r.cancel = cancel
	over := r.over
	r.mu.Unlock()
	if over {
		cancel()
	}
	home, err := url.Parse(r.config.URL)
	if err != nil {
		return nil, err
	}
	client := &http.Client{
		Transport: &headers{next: r.pool, home: home, config: r.config, denied: &r.denied},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Host != home.Host || next.URL.Scheme != home.Scheme {
				return fmt.Errorf("it sends us on to %s; if you trust that, write it as the url", withoutQuery(next.URL.String()))
			}
			if len(via) > 5 {
				return errors.New("it sends us on in circles")
			}
			return nil
		},
	}
	var t sdk.Transport = &sdk.StreamableClientTransport{Endpoint: r.config.URL, HTTPClient: client, MaxEventSize: maxMessage}
	if r.config.Type == "sse" {
		t = &sdk.SSEClientTransport{Endpoint: r.config.URL, HTTPClient: client, MaxEventSize: maxMessage}
	}
	conn, err := t.Connect(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return nil, errors.Join(errors.New("it was ended before it began"), conn.Close())
	}
	r.conn = conn
	return conn, nil
}

func (r *remote) end() error {
	r.mu.Lock()
	conn := r.conn
	r.conn, r.over = nil, true
	cancel := r.cancel
	r.mu.Unlock()
	if conn != nil {
		_ = conn.Close() // says goodbye; nobody minds if it is not heard
	}
	if cancel != nil {
		cancel()
	}
	r.pool.CloseIdleConnections()
	return nil
}

func (r *remote) wait(context.Context) {}
func (r *remote) last() string         { return "" }
func (r *remote) refused() bool        { return r.denied.Load() }

// headers adds the headers of a server to what is sent to it, and only to it, and bounds
// what comes back.
type headers struct {
	next   http.RoundTripper
	home   *url.URL
	config *Config
	denied *atomic.Bool
}

// RoundTrip sends one request.
func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != h.home.Host || r.URL.Scheme != h.home.Scheme {
		return nil, fmt.Errorf("it names another server, %s, for its messages", withoutQuery(r.URL.String()))
	}
	r = r.Clone(r.Context())
	for k, v := range h.config.Headers {
		r.Header.Set(k, v)
	}
	resp, err := h.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		h.denied.Store(true)
	} else if resp.StatusCode < 300 {
		h.denied.Store(false)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") { // events are bounded one by one
		resp.Body = &bounded{ReadCloser: resp.Body, left: maxMessage}
	}
	return resp, nil
}

// bounded is a body that may not be longer than left.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("it sent an answer of more than %d MB", maxMessage>>20)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
