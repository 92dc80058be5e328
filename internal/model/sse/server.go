package sse

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"heddle/internal/model"
)

// Server is where the requests of a provider go.
type Server struct {
	url    *url.URL
	header http.Header
	client *http.Client
	limits Limits
	err    error // it cannot be used, and why
}

// NewServer returns the server at base, asked at path and with header. A nil
// client means one of its own. If base or header are wrong, each [Server.Post] says so.
func NewServer(base, path string, header http.Header, client *http.Client, limits Limits) *Server {
	s := &Server{header: header, client: client, limits: limits}
	s.header.Set("Content-Type", "application/json")
	s.header.Set("Accept", "text/event-stream")
	s.header.Set("User-Agent", "heddle")
	if s.url, s.err = endpoint(base, path); s.err == nil {
		s.limits, s.err = limits.forServer(s.url), checkHeader(header)
	}
	if s.client == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost = 64 // as many agents may ask one server at once
		t.DisableCompression = true
		s.client = &http.Client{Transport: t}
	}
	// A redirect would take the key elsewhere.
	direct := *s.client
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.client = &direct
	return s
}

func endpoint(base, path string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, fmt.Errorf("base URL %q: %w", base, err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("base URL %q: want http:// or https:// and a host", base)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("base URL %q: want no query and no fragment", base)
	}
	if u.Path == "" {
		u.Path = "/" // or the joined path would not be rooted
	}
	return u.JoinPath(path), nil
}

// checkHeader reports a header that cannot be sent, without its value, which may be a key.
func checkHeader(h http.Header) error {
	for name, values := range h {
		for i := range len(values[0]) {
			if c := values[0][i]; c < ' ' || c > '~' {
				return fmt.Errorf("the %s header would hold a character that is not printable ASCII: look at the key", name)
			}
		}
	}
	return nil
}

// loopback reports whether u is on this machine.
func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// Post sends body and waits for the head of the answer. An error is a
// [*model.Error], without the provider's name, unless ctx is done.
//
// A server on this machine is told in a header on whose behalf it is asked.
func (s *Server) Post(ctx context.Context, agent model.Agent, body *model.Body) (*Answer, error) {
	if s.err != nil {
		return nil, &model.Error{Class: model.BadRequest, Message: s.err.Error(), Err: s.err}
	}
	a := &Answer{limits: s.limits}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.silent, a.silentFor = "no answer", s.limits.First
	a.timer = time.AfterFunc(s.limits.First, func() { a.cancel(errSilent) })
	begin := time.Now()
	resp, err := s.client.Do(s.request(a.ctx, agent, body))
	a.timer.Stop()
	if err != nil {
		err = a.unreachable(s.url.Host, err)
		a.cancel(nil)
		return nil, err
	}
	a.waited = time.Since(begin)
	a.Status, a.Header, a.body = resp.StatusCode, resp.Header, resp.Body
	a.events = NewReader(timed{a})
	return a, nil
}

func (s *Server) request(ctx context.Context, agent model.Agent, body *model.Body) *http.Request {
	req := (&http.Request{Method: http.MethodPost, URL: s.url, Host: s.url.Host, Header: s.header.Clone()}).WithContext(ctx)
	if loopback(s.url) {
		req.Header.Set("X-Heddle-Agent", agentValue(agent))
	}
	body.Attach(req)
	return req
}

func agentValue(a model.Agent) string {
	text, err := json.Marshal(struct {
		Type string `json:"type"`
		Name string `json:"name"`
		ID   string `json:"id"`
	}{a.Type, a.Name, a.ID})
	if err != nil {
		panic(err) // three strings
	}
	return string(text)
}

// unreachable says why there is no answer, given what the client says.
func (a *Answer) unreachable(host string, err error) error {
	if err := a.interrupted(err); err != nil {
		return err
	}
	e := &model.Error{Class: model.Unreachable, Err: err}
	var u *url.Error
	if errors.As(err, &u) {
		e.Err = u.Err // without the verb and the whole address
		e.Message = fmt.Sprintf("%s cannot be reached: %v", host, u.Err)
	}
	// A certificate does not become good by waiting.
	var bad *tls.CertificateVerificationError
	e.NoRetry = errors.As(err, &bad)
	return e
}
