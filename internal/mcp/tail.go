package mcp

import "sync"

// tail keeps the end of what is written to it.
type tail struct {
	limit int

	mu   sync.Mutex
	held []byte
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.held = append(t.held, p[max(len(p)-t.limit, 0):]...)
	if len(t.held) > 2*t.limit { // moved rarely, so that writing stays cheap
		t.held = append(t.held[:0], t.held[len(t.held)-t.limit:]...)
	}
	return len(p), nil
}

func (t *tail) bytes() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.held[max(len(t.held)-t.limit, 0):]...)
}
