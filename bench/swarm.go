package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// swarm is a server for a conversation that starts agents. Its main agent calls Agent so
// many times in one answer, once in each answer, or both; each agent calls Bash{true} for so
// many turns. Every answer takes as long as it is told to.
type swarm struct {
	*httptest.Server
	rounds, agents int                 // answers of the main agent with calls, and calls in each
	turns          int                 // of each agent, before its text
	latency        time.Duration       // of every answer
	call           func(round int) any // the input of the calls of Agent
	// pace is called when request n of the main agent is there; nil: nothing is to be done.
	pace func(n int)
	// hold is where the first requests of agents wait until it is closed; nil: they do not.
	hold    chan struct{}
	waiting sync.WaitGroup // for those that are to wait there

	mu       sync.Mutex
	count    map[string]int // requests, by id of the agent; that of the main one is empty
	sizes    map[string]int // of the newest requests, by the same
	requests int
	called   time.Time       // when the newest answer of the main agent with calls began
	spawned  []time.Duration // from there to the first request of each agent
}

func newSwarm(s *swarm) *swarm {
	s.count, s.sizes = map[string]int{}, map[string]int{}
	if s.call == nil {
		s.call = func(int) any { return map[string]any{"description": "work", "prompt": "Do your part."} }
	}
	s.Server = httptest.NewServer(s)
	return s
}

func (s *swarm) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	size, _ := io.Copy(io.Discard, r.Body)
	var who struct{ ID string }
	_ = json.Unmarshal([]byte(r.Header.Get(agentHeader)), &who) // without one, it is the main agent
	n, all := s.note(who.ID, int(size), arrived)
	if who.ID == "" {
		s.main(w, n, all)
		return
	}
	if s.hold != nil && n == 0 {
		s.waiting.Done()
		<-s.hold
	}
	<-time.After(s.latency)
	if n < s.turns {
		answer(w, all, use{"Bash", map[string]string{"command": "true"}})
	} else {
		answer(w, all)
	}
}

// agentHeader says who asks.
const agentHeader = "X-Heddle-Agent"

// note counts a request: n of those of this agent, all of everybody's.
func (s *swarm) note(id string, size int, arrived time.Time) (n, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, all = s.count[id], s.requests
	s.count[id]++
	s.requests++
	s.sizes[id] = size
	if id != "" && n == 0 {
		s.spawned = append(s.spawned, arrived.Sub(s.called))
	}
	return n, all
}

// main answers request n of the main agent, which is request all of everybody's.
func (s *swarm) main(w http.ResponseWriter, n, all int) {
	if s.pace != nil {
		s.pace(n)
	}
	<-time.After(s.latency)
	if n >= s.rounds {
		answer(w, all)
		return
	}
	uses := make([]use, s.agents)
	for i := range uses {
		uses[i] = use{"Agent", s.call(n)}
	}
	s.mu.Lock()
	s.called = time.Now()
	s.mu.Unlock()
	answer(w, all, uses...)
}

// largest is the size of the longest request of an agent, in bytes.
func (s *swarm) largest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for id, size := range s.sizes {
		if id != "" {
			n = max(n, size)
		}
	}
	return n
}
