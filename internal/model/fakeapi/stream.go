package fakeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"heddle/internal/model/scripted"
)

// stream writes server-sent events.
type stream struct {
	w     http.ResponseWriter
	named bool // each event has a name
	half  bool // of the next event, only a half is sent; and nothing after it
}

// begin sends the head, so that a client knows that the answer began.
func (s *stream) begin() {
	s.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.WriteHeader(http.StatusOK)
}

func (s *stream) send(name string, data any) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // events are made of plain values
	}
	if s.named {
		s.raw(fmt.Sprintf("event: %s\ndata: %s\n\n", name, text))
	} else {
		s.raw(fmt.Sprintf("data: %s\n\n", text))
	}
}

// raw sends text as it is. A client that left is noticed by the context.
func (s *stream) raw(text string) {
	if s.half {
		text = text[:len(text)/2]
	}
	_, _ = s.w.Write([]byte(text))
	s.w.(http.Flusher).Flush()
	if s.half {
		panic(http.ErrAbortHandler)
	}
}

// cut ends the connection as a failure says. next sends the event that would have
// come.
func (s *stream) cut(f *scripted.Failure, next func()) {
	if f.Cut == scripted.Clean {
		return
	}
	if f.Cut == scripted.Within {
		s.half = true
		next()
	}
	panic(http.ErrAbortHandler) // the client must not take this for an end
}

// failHead answers an error of HTTP, or a page. body is the error in the words of the protocol.
func failHead(w http.ResponseWriter, f *scripted.Failure, body any) {
	if f.RetryAfter > 0 {
		seconds := (time.Duration(f.RetryAfter) + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
	}
	if f.HTML != 0 {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(f.HTML)
		title := fmt.Sprintf("%d %s", f.HTML, http.StatusText(f.HTML))
		fmt.Fprintf(w, "<!DOCTYPE html><html><head><title>%s</title></head><body><h1>%s</h1><hr>proxy</body></html>\n", title, title)
		return
	}
	writeJSON(w, f.Status, body)
}
