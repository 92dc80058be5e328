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
	answer answerOf
	pool   *http.Transport

	mu     sync.Mutex
	conn   sdk.Connection
	cancel context.CancelFunc // of all requests
	over   bool
}

// answerOf is how the server answered last.
type answerOf struct {
	status atomic.Int64 // of HTTP
	pause  atomic.Value // when to try again, as it says; a string
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
		Transport: &headers{next: r.pool, home: home, config: r.config, answerOf: &r.answer, stop: cancel},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Host != home.Host || next.URL.Scheme != home.Scheme {
				return &sentOn{withoutQuery(next.URL.String())}
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

// last says what is wrong with the answers of the server, where HTTP tells.
func (r *remote) last() string {
	switch status := int(r.answer.status.Load()); {
	case status == http.StatusNotFound, status == http.StatusMethodNotAllowed:
		return fmt.Sprintf("it answered HTTP %d %s: check the url, or try \"type\": \"sse\"", status, http.StatusText(status))
	case status == http.StatusTooManyRequests:
		text := "it answered HTTP 429 Too Many Requests"
		if pause, _ := r.answer.pause.Load().(string); pause != "" {
			text += ", and wants to be left alone for " + plain(pause, 50)
		}
		return text
	case status >= 400:
		return fmt.Sprintf("it answered HTTP %d %s", status, http.StatusText(status))
	}
	return ""
}

func (r *remote) refused() bool {
	status := r.answer.status.Load()
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// sentOn is the error of a server that points to another.
type sentOn struct{ to string }

func (e *sentOn) Error() string {
	return "it sends us on to " + e.to + "; if you trust that, write it as the url"
}

// headers adds the headers of a server to what is sent to it, and only to it, and bounds
// what comes back.
type headers struct {
	next   http.RoundTripper
	home   *url.URL
	config *Config
	*answerOf
	open atomic.Int64 // requests without an answer
	stop func()       // ends the connection
}

// maxOpen is how many requests may wait for an answer: with more of them, the server makes
// us answer what it asks and does not read that.
const maxOpen = 256

// RoundTrip sends one request.
func (h *headers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != h.home.Host || r.URL.Scheme != h.home.Scheme {
		return nil, fmt.Errorf("it names another server, %s, for its messages", withoutQuery(r.URL.String()))
	}
	r = r.Clone(r.Context())
	for k, v := range h.config.Headers {
		r.Header.Set(k, v)
	}
	defer h.open.Add(-1)
	if h.open.Add(1) > maxOpen {
		h.stop()
		return nil, fmt.Errorf("it asked more than %d things and did not read the answers", maxOpen)
	}
	resp, err := h.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if r.Method != http.MethodDelete { // the goodbye, whose answer says nothing
		h.status.Store(int64(resp.StatusCode))
		h.pause.Store(resp.Header.Get("Retry-After"))
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
