package subagent

import (
	"sync"
	"time"

	"heddle/internal/agent"
	"heddle/internal/model"
	"heddle/internal/tool"
)

// directive tells a fork what it is to do.
func directive(prompt string) string {
	return "<fork>\nFrom here on you are a fork of the agent that you were: you know what it knows, and work on one part while it goes on by itself. " +
		"It reads nothing of yours but your final answer. You cannot ask anybody, and cannot start agents. Do this, and nothing else:\n</fork>\n" + prompt
}

// forFork leaves out the tools that only the agent has which a fork was. They stand in its
// prompt all the same, since that is to be the same.
func forFork(p *tool.Pool) *tool.Pool {
	return p.Keep(func(t tool.Tool) bool {
		switch t.Name {
		case "AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "TaskOutput", "EnterWorktree", "ExitWorktree":
			return false
		}
		return true
	})
}

// batch are the forks that one answer of a model asks for. They begin with the same bytes,
// which the provider remembers once its first answer has begun: so the first of them goes
// ahead.
type batch struct {
	caller *agent.Caller
	begun  chan struct{} // closed when the others may begin
}

// follow is how long the others wait for the first at most.
const follow = 5 * time.Second

// join makes n the first of a batch, or one that follows.
func (s *Spawner) join(n *run, caller *agent.Caller) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.batches[n.parent]; b != nil && b.caller == caller {
		n.after = b.begun
		return
	}
	b := &batch{caller: caller, begun: make(chan struct{})}
	s.batches[n.parent] = b
	n.lead = sync.OnceFunc(func() {
		close(b.begun)
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.batches[n.parent] == b {
			delete(s.batches, n.parent) // who comes now finds what the provider remembers
		}
	})
}

// led reports whether an event shows that the answer to a request has begun.
func led(ev agent.Event) bool {
	s, ok := ev.(agent.Streamed)
	if !ok {
		return false
	}
	_, again := s.Event.(model.Retrying)
	return !again
}
