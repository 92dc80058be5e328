package process

import "sync"

// A sweeper removes control groups whose leader has exited, beside the waiter: the
// kernel may take long over it, and other exits must not wait for that.
type sweeper struct {
	running sync.WaitGroup

	mu     sync.Mutex
	groups []*group // to be removed
	busy   bool
}

func (s *sweeper) sweep(g *group) {
	if g == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups = append(s.groups, g)
	if !s.busy {
		s.busy = true
		s.running.Go(s.run)
	}
}

func (s *sweeper) run() {
	for g := s.next(); g != nil; g = s.next() {
		g.remove()
	}
}

func (s *sweeper) next() *group {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.groups) == 0 {
		s.busy = false
		return nil
	}
	g := s.groups[0]
	s.groups = s.groups[1:]
	return g
}

func (s *sweeper) wait() { s.running.Wait() }
