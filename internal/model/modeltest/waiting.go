package modeltest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"heddle/internal/model"
)

// Headers came, then nothing: at the beginning, and in the middle.
func (s suite) silence(t *testing.T) {
	events := s.Stream(weave)
	for name, reply := range map[string]Reply{
		"no byte":   {Body: []Piece{{Wait: Forever}}},
		"after two": {Body: []Piece{{Data: events[0] + events[1]}, {Wait: Forever}}},
	} {
		begin := time.Now()
		wantError(t, s.ask(t, reply), model.Silent)
		if d := time.Since(begin); d != 90*time.Second {
			t.Errorf("%s: given up after %v, want 90s", name, d)
		}
	}
	// A silent attempt is followed by another.
	o, _ := s.retrying(t, model.Policy{}, func(n int) Reply {
		if n == 0 {
			return Reply{Body: []Piece{{Wait: Forever}}}
		}
		return Send(events...)
	})
	wantAnswer(t, o, weave)
}

// pings is n pings, one each interval.
func (s suite) pings(n int, interval time.Duration) []Piece {
	var out []Piece
	for range n {
		out = append(out, Piece{Wait: interval, Data: s.Ping()})
	}
	return out
}

// A healthy long thought is not cut.
func (s suite) pingsThenAnswer(t *testing.T) {
	body := append(s.pings(9, 60*time.Second), Piece{Data: strings.Join(s.Stream(weave), "")})
	wantAnswer(t, s.ask(t, Reply{Body: body}), weave)
}

func (s suite) pingsOnly(t *testing.T) {
	begin := time.Now()
	o := s.ask(t, Reply{Body: s.pings(1000, 10*time.Second)})
	e := wantError(t, o, model.Silent)
	if d := time.Since(begin); d < 10*time.Minute || d > 11*time.Minute || !strings.Contains(e.Message, "pings") {
		t.Errorf("given up after %v with %q", d, e.Message)
	}
}

func (s suite) slowConsumer(t *testing.T) {
	server := &Server{Answer: func(int, Request) Reply { return Send(s.Stream(weave)...) }}
	p := s.New(remote, server.Client())
	responses := 0
	for ev, err := range p.Stream(t.Context(), NewRequest(p)) {
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := ev.(model.Response); ok {
			responses++
		}
		<-time.After(10 * time.Minute)
	}
	if responses != 1 {
		t.Errorf("%d responses, want 1", responses)
	}
}

// A server on this machine may take minutes to its first byte, but no more.
func (s suite) loopback(t *testing.T) {
	for _, base := range []string{"http://127.0.0.1:8080", "http://localhost:1", "http://[::1]:2"} {
		server := &Server{Answer: func(int, Request) Reply {
			return Reply{Body: []Piece{{Wait: 9 * time.Minute, Data: strings.Join(s.Stream(weave), "")}}}
		}}
		p := s.New(base, server.Client())
		wantAnswer(t, Collect(t, t.Context(), p, NewRequest(p)), weave)
		server.Answer = func(int, Request) Reply {
			return Reply{Body: []Piece{{Wait: 9 * time.Minute, Data: s.Ping()}, {Wait: Forever}}}
		}
		begin := time.Now()
		wantError(t, Collect(t, t.Context(), p, NewRequest(p)), model.Silent)
		if d := time.Since(begin); d != 9*time.Minute+90*time.Second {
			t.Errorf("%s: given up after %v", base, d)
		}
	}
}

// A cancelled request ends at once, whether the server is silent or only pings.
func (s suite) cancel(t *testing.T) {
	events := s.Stream(weave)
	reason := errors.New("the user pressed Esc")
	for name, body := range map[string][]Piece{
		"silent":    {{Wait: Forever}},
		"pings":     s.pings(100, time.Second),
		"mid-event": {{Data: events[0] + events[1] + events[2][:10]}, {Wait: Forever}},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := time.AfterFunc(5*time.Second, func() { cancel(reason) })
		begin := time.Now()
		server := &Server{Answer: func(int, Request) Reply { return Reply{Body: body} }}
		c := model.NewClient(s.New(remote, server.Client()), nil, model.Policy{})
		o := Collect(t, ctx, c, NewRequest(c))
		if !errors.Is(o.Err, reason) || len(o.Responses) > 0 {
			t.Errorf("%s: error %v, %d responses, want the cause", name, o.Err, len(o.Responses))
		}
		if d := time.Since(begin); d != 5*time.Second {
			t.Errorf("%s: ended after %v, want 5s", name, d)
		}
		stop.Stop()
	}
}
