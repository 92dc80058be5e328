package headless

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"heddle/internal/session"
)

// writer prints one JSON object a line. It is safe for use by several goroutines.
type writer struct {
	session string

	mu  sync.Mutex
	out io.Writer
	bad error // the first failure; nothing is written after it
}

func newWriter(out io.Writer, session string) *writer { return &writer{out: out, session: session} }

// envelope is what every message carries.
type envelope struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype,omitempty"`
	UUID    string `json:"uuid,omitempty"`
	Session string `json:"session_id,omitempty"`
}

// head returns the envelope of a message.
func (w *writer) head(typ, subtype string) envelope {
	return envelope{Type: typ, Subtype: subtype, UUID: session.NewID(), Session: w.session}
}

func (w *writer) write(v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad == nil && err == nil {
		_, err = w.out.Write(buf.Bytes())
	}
	if w.bad == nil {
		w.bad = err
	}
	return w.bad
}

// end lets nobody write any more: what still reads input then is not to answer.
func (w *writer) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.bad == nil {
		w.bad = errEnded
	}
}

var errEnded = errors.New("the run has ended")

func (w *writer) err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bad
}
