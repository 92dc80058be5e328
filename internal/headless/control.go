package headless

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"heddle/internal/session"
)

// The control protocol: requests and answers in both directions, beside the
// messages of the conversation.

type controlRequest struct {
	Type    string          `json:"type"`
	ID      string          `json:"request_id"`
	Request json.RawMessage `json:"request"`
}

type controlResponse struct {
	Type     string        `json:"type"`
	Response controlAnswer `json:"response"`
}

type controlAnswer struct {
	Subtype  string          `json:"subtype"` // success or error
	ID       string          `json:"request_id"`
	Response json.RawMessage `json:"response,omitempty"`
	Error    string          `json:"error,omitempty"`
}

type controlCancel struct {
	Type string `json:"type"`
	ID   string `json:"request_id"`
}

// answer sends what a request of the host comes to.
func (w *writer) answer(id string, response any, err error) {
	a := controlAnswer{Subtype: "success", ID: id}
	if err == nil && response != nil {
		a.Response, err = json.Marshal(response)
	}
	if err != nil {
		a = controlAnswer{Subtype: "error", ID: id, Error: err.Error()}
	}
	w.write(controlResponse{"control_response", a})
}

// host carries requests to the program on the other side and brings back its
// answers.
type host struct {
	w *writer

	mu      sync.Mutex
	waiting map[string]chan controlAnswer // capacity 1: the answer
	gone    bool                          // standard input has ended: nobody answers any more
}

func newHost(w *writer) *host { return &host{w: w, waiting: map[string]chan controlAnswer{}} }

// errNobody is why a question has no answer.
var errNobody = fmt.Errorf("the program that drives heddle has closed its end")

// ask sends a request and waits for the answer, for as long as it takes.
func (h *host) ask(ctx context.Context, request any) (json.RawMessage, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	id := session.NewID()
	answer := make(chan controlAnswer, 1)
	h.mu.Lock()
	if h.gone {
		h.mu.Unlock()
		return nil, errNobody
	}
	h.waiting[id] = answer
	h.mu.Unlock()
	defer h.forget(id)
	if err := h.w.write(controlRequest{"control_request", id, body}); err != nil {
		return nil, err
	}
	select {
	case a, ok := <-answer:
		switch {
		case !ok:
			return nil, errNobody
		case a.Subtype == "error":
			return nil, fmt.Errorf("the program that drives heddle answered: %s", a.Error)
		}
		return a.Response, nil
	case <-ctx.Done():
		h.w.write(controlCancel{"control_cancel_request", id})
		return nil, context.Cause(ctx)
	}
}

func (h *host) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.waiting, id)
}

// answered hands an answer to whoever waits for it. An answer that nobody waits
// for came too late, or twice, and means nothing.
func (h *host) answered(a controlAnswer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.waiting[a.ID]; c != nil {
		delete(h.waiting, a.ID)
		c <- a
	}
}

// leave ends all waiting: nobody is there any more.
func (h *host) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = true
	for id, c := range h.waiting {
		delete(h.waiting, id)
		close(c)
	}
}
