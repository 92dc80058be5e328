package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync"
	"time"
)

// server answers like the Anthropic API, at once: with a call of Bash for so many turns,
// and then with a text. The two functions may be set before the first request.
type server struct {
	url  string
	http *httptest.Server
	call func(n int) any // the input of the call that answers request n; Bash{true} if not set
	pace func(n int)     // called when request n is there, before it is answered

	mu    sync.Mutex
	turns int
	seen  []exchange
	bare  []time.Duration // of the command itself, measured between the turns
}

// exchange is when a request had arrived, and when its answer was written.
type exchange struct{ arrived, answered time.Time }

func serve(turns int) (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{turns: turns, call: func(int) any { return map[string]string{"command": "true"} }}
	s.pace = func(n int) {
		if n%4 == 3 {
			s.control()
		}
	}
	s.http = &httptest.Server{Listener: l, Config: &http.Server{Handler: s}}
	s.http.Start()
	s.url = s.http.URL
	return s, nil
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first := make([]byte, 1)
	io.ReadFull(r.Body, first)
	arrived := time.Now()
	io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	n := len(s.seen)
	s.seen = append(s.seen, exchange{arrived: arrived})
	s.mu.Unlock()
	s.pace(n)

	if n < s.turns {
		answer(w, n, use{"Bash", s.call(n)})
	} else {
		answer(w, n)
	}
	s.mu.Lock()
	s.seen[n].answered = time.Now()
	s.mu.Unlock()
}

// use is a call of a tool.
type use struct {
	name  string
	input any // of plain values
}

// answer streams answer n of a model: calls of tools, or a text if there are none.
func answer(w http.ResponseWriter, n int, uses ...use) {
	w.Header().Set("content-type", "text/event-stream")
	fmt.Fprintf(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m%d\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"bench\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\n", n)
	block := func(i int, start, delta string) {
		fmt.Fprintf(w, "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", i, start)
		fmt.Fprintf(w, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":%s}\n\n", i, delta)
		fmt.Fprintf(w, "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":%d}\n\n", i)
	}
	stop := "tool_use"
	for i, u := range uses {
		input, _ := json.Marshal(u.input)      // plain values
		part, _ := json.Marshal(string(input)) // a string
		block(i, fmt.Sprintf(`{"type":"tool_use","id":"toolu_%d_%d","name":%q,"input":{}}`, n, i, u.name), `{"type":"input_json_delta","partial_json":`+string(part)+`}`)
	}
	if len(uses) == 0 {
		stop = "end_turn"
		block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"done"}`)
	}
	fmt.Fprintf(w, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":%q},\"usage\":{\"output_tokens\":5}}\n\n", stop)
	fmt.Fprint(w, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	w.(http.Flusher).Flush()
}

// control runs the command directly, while heddle waits: on a noisy machine, only
// what was measured side by side can be compared.
func (s *server) control() {
	if d, err := timed(exec.Command("bash", "-c", "true")); err == nil {
		s.mu.Lock()
		s.bare = append(s.bare, d)
		s.mu.Unlock()
	}
}

// stop ends the server and returns what it saw.
func (s *server) stop() []exchange {
	s.http.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// gaps returns the times between an answer and the next request.
func (s *server) gaps() []time.Duration {
	seen := s.stop()
	var out []time.Duration
	for i := 1; i < len(seen); i++ {
		out = append(out, seen[i].arrived.Sub(seen[i-1].answered))
	}
	return out
}
