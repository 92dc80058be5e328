package modeltest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Reply is what a fake server answers.
type Reply struct {
	Status int // 200 if 0
	Header http.Header
	Body   []Piece
	// End is what reading says after the body; nil means [io.EOF].
	End error
	// Refuse is what there is instead of an answer: no connection.
	Refuse error
}

// Piece is a part of an answer. The server waits before it sends it.
type Piece struct {
	Wait time.Duration
	Data string
}

// Forever is a wait that outlasts every limit.
const Forever = 1000 * time.Hour

// Send is a reply of one piece.
func Send(events ...string) Reply { return Reply{Body: []Piece{{Data: strings.Join(events, "")}}} }

// Server is a fake server in the form of a transport. It lives without a
// network and without goroutines, so that time can be fake.
type Server struct {
	// Answer is called for each request, counted from 0.
	Answer func(n int, r Request) Reply

	mu       sync.Mutex
	requests []Request
}

// Request is what a server received.
type Request struct {
	At     time.Time
	URL    string
	Header http.Header
	Body   string
}

// Client returns a client whose every request goes to s.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s} }

// Requests returns what has been received.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// RoundTrip implements [http.RoundTripper].
func (s *Server) RoundTrip(req *http.Request) (*http.Response, error) {
	defer req.Body.Close()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if int64(len(body)) != req.ContentLength {
		return nil, fmt.Errorf("content length is %d, the body has %d bytes", req.ContentLength, len(body))
	}
	r := Request{At: time.Now(), URL: req.URL.String(), Header: req.Header, Body: string(body)}
	s.mu.Lock()
	n := len(s.requests)
	s.requests = append(s.requests, r)
	s.mu.Unlock()

	reply := s.Answer(n, r)
	if reply.Refuse != nil {
		return nil, reply.Refuse
	}
	if reply.Status == 0 {
		reply.Status = http.StatusOK
	}
	if reply.Header == nil {
		reply.Header = http.Header{"Content-Type": {"text/event-stream"}}
	}
	return &http.Response{
		StatusCode: reply.Status, Header: reply.Header, Request: req,
		Body: &playback{ctx: req.Context(), reply: reply},
	}, nil
}

// playback plays a reply.
type playback struct {
	ctx   context.Context
	reply Reply
}

func (b *playback) Read(p []byte) (int, error) {
	for len(b.reply.Body) > 0 {
		piece := &b.reply.Body[0]
		if err := wait(b.ctx, piece.Wait); err != nil {
			return 0, err
		}
		piece.Wait = 0
		n := copy(p, piece.Data)
		if piece.Data = piece.Data[n:]; piece.Data == "" {
			b.reply.Body = b.reply.Body[1:]
		}
		if n > 0 {
			return n, nil
		}
	}
	if b.reply.End != nil {
		return 0, b.reply.End
	}
	return 0, io.EOF
}

func (b *playback) Close() error { return nil }

// wait waits for d or until ctx is done.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return ctx.Err()
	}
}
