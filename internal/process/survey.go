package process

import "sync"

// A survey is one look at processes, shared by all who asked for it before it began:
// whoever ends a thousand commands at once must not read the list of processes a thousand
// times over.
type survey struct {
	procs []proc
	done  chan struct{} // closed when procs is filled in

	mu    sync.Mutex
	marks map[int]markFound // read when somebody wants to know
}

type markFound struct {
	value string
	ok    bool
}

// mark is markOf, once for all who share the survey.
func (s *survey) mark(pid int) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, known := s.marks[pid]
	if !known {
		m.value, m.ok = markOf(pid)
		s.marks[pid] = m
	}
	return m.value, m.ok
}

// A surveyor makes surveys, one after the other.
type surveyor struct {
	scan func() []proc

	work sync.Mutex // held during a survey
	mu   sync.Mutex
	next *survey // has not begun, and can be joined
}

// survey returns a survey that began after the call.
func (s *surveyor) survey() *survey {
	s.mu.Lock()
	next := s.next
	if next != nil {
		s.mu.Unlock()
		<-next.done
		return next
	}
	next = &survey{done: make(chan struct{}), marks: map[int]markFound{}}
	s.next = next
	s.mu.Unlock()

	s.work.Lock()
	defer s.work.Unlock()
	s.mu.Lock()
	s.next = nil // whoever comes from now on needs a later one
	s.mu.Unlock()
	next.procs = s.scan()
	close(next.done)
	return next
}
