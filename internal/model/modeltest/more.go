package modeltest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/internal/message"
	"heddle/internal/model"
)

// Eight agents are told to wait three seconds. None asks sooner, no two start
// at the same moment afterwards, and all get their answer.
func (s suite) eightAgents(t *testing.T) {
	status, body := s.Failure(model.RateLimited)
	server := &Server{Answer: func(n int, _ Request) Reply {
		if n < 8 {
			return Reply{Status: status, Header: http.Header{"Retry-After": {"3"}}, Body: []Piece{{Wait: time.Second, Data: body}}}
		}
		return Send(s.Stream(weave)...)
	}}
	p := s.New(remote, server.Client())
	gate := model.NewGate(0)
	var agents sync.WaitGroup
	for range 8 {
		agents.Go(func() {
			c := model.NewClient(p, gate, model.Policy{})
			wantAnswer(t, Collect(t, t.Context(), c, NewRequest(c)), weave)
		})
	}
	agents.Wait()
	requests := server.Requests()
	if len(requests) != 16 {
		t.Fatalf("%d requests, want 16", len(requests))
	}
	opens := requests[0].At.Add(time.Second + 3*time.Second) // all are under way when the first is answered
	for i, r := range requests[8:] {
		if r.At.Before(opens) {
			t.Errorf("request %d came %v before the pause was over", i, opens.Sub(r.At))
		}
		if gap := r.At.Sub(requests[8+i-1].At); i > 0 && gap < 20*time.Millisecond {
			t.Errorf("requests %d and %d are only %v apart", i-1, i, gap)
		}
	}
	if last := requests[15].At.Sub(opens); last > time.Second {
		t.Errorf("the last of eight started %v after the pause", last)
	}
}

// A request begins with the bytes of the one before it, and is valid JSON.
func (s suite) prefixStays(t *testing.T) {
	server := &Server{Answer: func(int, Request) Reply { return Send(s.Stream(weave)...) }}
	p := s.New(remote, server.Client())
	r := NewRequest(p)
	for range 5 {
		o := Collect(t, t.Context(), p, r)
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		m := o.Responses[0].Message
		results := message.Message{Role: message.User}
		for _, use := range m.ToolUses() {
			results.Content = append(results.Content, message.ToolResult{ToolUseID: use.ID, Content: []message.Block{message.Text{Text: "ok"}}})
		}
		r.Messages = append(r.Messages, p.EncodeMessage(m), p.EncodeMessage(results))
	}
	var before string
	for i, req := range server.Requests() {
		if !json.Valid([]byte(req.Body)) {
			t.Fatalf("request %d is not JSON: %s", i, req.Body)
		}
		sent := bytes.Join(r.Messages[:2*i+1], []byte(","))
		at := strings.Index(req.Body, string(sent))
		if at < 0 {
			t.Fatalf("request %d does not hold the messages as they were encoded:\n%s", i, req.Body)
		}
		if !strings.HasPrefix(req.Body, before) {
			t.Errorf("request %d does not begin as the one before it", i)
		}
		before = req.Body[:at+len(sent)]
	}
}

// A mistake in the options is one clear error, and is not tried again.
func (s suite) wrongOptions(t *testing.T) {
	for _, base := range []string{"model.test", "ftp://model.test", "http://", "http://model.test?x=1", "http://a b"} {
		server := &Server{Answer: func(int, Request) Reply { return Send(s.Stream(weave)...) }}
		c := model.NewClient(s.New(base, server.Client()), nil, model.Policy{})
		e := wantError(t, Collect(t, t.Context(), c, NewRequest(c)), model.BadRequest)
		if !strings.Contains(e.Error(), base) || len(server.Requests()) > 0 {
			t.Errorf("base URL %q: %v, %d requests", base, e, len(server.Requests()))
		}
	}
}

// A redirect would take the key to another server.
func (s suite) redirect(t *testing.T) {
	server := &Server{Answer: func(int, Request) Reply {
		return Reply{Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"http://elsewhere.test/"}}}
	}}
	e := wantError(t, s.askServer(t, server), model.BadRequest)
	if len(server.Requests()) != 1 || !strings.Contains(e.Message, "elsewhere.test") {
		t.Errorf("%d requests, error %v", len(server.Requests()), e)
	}
}

// A consumer that leaves gets nothing more, and ends the exchange.
func (s suite) consumerLeaves(t *testing.T) {
	server := &Server{Answer: func(int, Request) Reply { return Send(s.Stream(weave)...) }}
	p := s.New(remote, server.Client())
	for n := range 6 {
		seen := 0
		for range p.Stream(t.Context(), NewRequest(p)) {
			if seen++; seen > n {
				break
			}
		}
		if seen != n+1 {
			t.Errorf("%d elements after leaving at %d", seen, n+1)
		}
	}
}

func (s suite) agentHeader(t *testing.T) {
	for base, told := range map[string]bool{remote: false, "http://127.0.0.1:9": true, "https://127.0.0.1.evil.test": false} {
		server := &Server{Answer: func(int, Request) Reply { return Send(s.Stream(weave)...) }}
		p := s.New(base, server.Client())
		r := NewRequest(p)
		r.Agent = model.Agent{ID: "a1", Type: "main", Name: "Wéb\n"}
		Collect(t, t.Context(), p, r)
		var got struct{ Type, Name, ID string }
		values := slices.Clone(server.Requests()[0].Header["X-Heddle-Agent"])
		if told != (len(values) == 1) {
			t.Errorf("%s: told of the agent: %q", base, values)
		} else if told {
			if err := json.Unmarshal([]byte(values[0]), &got); err != nil || got.Type != "main" || got.Name != "Wéb\n" || got.ID != "a1" {
				t.Errorf("%s: header %q", base, values)
			}
		}
	}
}
