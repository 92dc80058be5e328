package subagent

import (
	"sync"

	"heddle/internal/agent"
)

// told is what the agents are told that one answer of a model starts. They begin at the
// same moment, so it is read once for all of a kind: git takes longer than all else of a
// start, and a hundred of it at once take very long.
type told struct {
	caller *agent.Caller
	texts  map[string]func() string // by name of the agent
}

// briefed returns what reads the text that n is told before its first message.
func (s *Spawner) briefed(n *run, caller *agent.Caller) func() string {
	if s.o.Brief == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.told[n.parent]
	if t == nil || t.caller != caller {
		t = &told{caller, map[string]func() string{}}
		s.told[n.parent] = t
	}
	read, def := t.texts[n.def.Name], n.def
	if read == nil {
		read = sync.OnceValue(func() string { return s.o.Brief(def) })
		t.texts[def.Name] = read
	}
	return read
}

// tell is what the agent is told before its first message. After a compaction, it is read
// anew.
func (n *run) tell() string {
	if read := n.brief; read != nil {
		n.brief = nil
		return read()
	}
	return n.s.o.Brief(n.def)
}

// readAhead reads what the agent is told while the rest of its start goes on, above all a
// checkout; wait returns when that is done.
func (n *run) readAhead() (wait func()) {
	var reading sync.WaitGroup
	if read := n.brief; read != nil {
		reading.Go(func() { read() })
	}
	return reading.Wait
}
