package fakeapi

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"heddle/internal/message"
	"heddle/internal/model/scripted"
)

// messages answers a request of the Messages API.
func (f *Server) messages(w http.ResponseWriter, r *http.Request) {
	rec := Record{Path: r.URL.Path, Agent: agentOf(r).Type, Status: http.StatusOK}
	body, err := read(r)
	var p *prompt
	if err == nil && r.Header.Get("X-Api-Key") == "" && r.Header.Get("Authorization") == "" {
		err = refused{http.StatusUnauthorized, "authentication_error", "x-api-key header is required"}
	}
	if err == nil {
		p, err = parse(body)
	}
	if err != nil {
		f.refuse(w, rec, body, asRefused(err))
		return
	}
	rec.Messages = len(p.messages)
	rec.Conversation = conversation(rec.Agent, p.messages)
	a, err := f.engine.Next(scripted.Conversation{Agent: agentOf(r), System: p.system, Messages: p.messages})
	if err != nil {
		f.refuse(w, rec, body, asRefused(err))
		return
	}
	if a.Fail != nil && a.Fail.Status != 0 {
		rec.Status, rec.Error = a.Fail.Status, a.Fail.Type
		f.note(rec, body, comparable(body, p.Messages))
		fail(w, a.Fail, map[string]any{"type": "error", "error": map[string]any{"type": errorType(a.Fail), "message": a.Fail.Message}, "request_id": "req_fake"})
		return
	}
	f.mu.Lock()
	rec.Cache = f.cache.use(p.positions, time.Now())
	f.mu.Unlock()
	rec = f.note(rec, body, comparable(body, p.Messages))
	for i, b := range a.Message.Content {
		if t, ok := b.(message.Thinking); ok {
			t.Signature = signature(p.positions[len(p.positions)-1].hash)
			a.Message.Content[i] = t
		}
	}
	s := &stream{w: w, ctx: r.Context(), a: a, named: true}
	s.play(anthropicEvents(rec, p.Model, a))
}

// refuse answers an error.
func (f *Server) refuse(w http.ResponseWriter, rec Record, body []byte, r refused) {
	rec.Status, rec.Error = r.status, r.message
	f.note(rec, body, sent{})
	writeJSON(w, r.status, map[string]any{"type": "error", "error": map[string]any{"type": r.kind, "message": r.message}, "request_id": "req_fake"})
}

// conversation tells conversations apart: by the agent and how they begin.
func conversation(agent string, messages []message.Message) string {
	sum := sha256.Sum256(messages[0].AppendJSON([]byte(agent)))
	return fmt.Sprintf("%x", sum[:6])
}

func errorType(f *scripted.Failure) string {
	if f.Type != "" {
		return f.Type
	}
	switch f.Status {
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusNotFound:
		return "not_found_error"
	}
	return "api_error"
}

// fail answers a scripted HTTP error.
func fail(w http.ResponseWriter, f *scripted.Failure, body any) {
	if f.RetryAfter > 0 {
		seconds := (time.Duration(f.RetryAfter) + time.Second - 1) / time.Second
		w.Header().Set("Retry-After", fmt.Sprint(int(seconds)))
	}
	if f.HTML {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(f.Status)
		fmt.Fprintf(w, "<html><head><title>%d</title></head><body><h1>%s</h1></body></html>", f.Status, http.StatusText(f.Status))
		return
	}
	writeJSON(w, f.Status, body)
}

// frame is one event of a stream.
type frame struct {
	name string
	data any
}

// object is a JSON object of an event.
type object map[string]any

// anthropicEvents are the events of an answer.
func anthropicEvents(rec Record, model string, a scripted.Answer) []frame {
	usage := object{
		"input_tokens": rec.Cache.Input, "cache_read_input_tokens": rec.Cache.Read,
		"cache_creation_input_tokens": rec.Cache.Write, "output_tokens": 1,
	}
	output := len(a.Message.AppendJSON(nil)) / 4
	if u := a.Usage; u != nil {
		usage = object{"input_tokens": u.Input, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite, "output_tokens": 1}
		output = u.Output
	}
	id := fmt.Sprintf("msg_%d", rec.N)
	events := []frame{{"message_start", object{"type": "message_start", "message": object{
		"id": id, "type": "message", "role": "assistant", "model": model, "content": []any{}, "stop_reason": nil, "usage": usage,
	}}}, {"ping", object{"type": "ping"}}}
	for i, b := range a.Message.Content {
		start, deltas := blockEvents(b, a.Turn.Chunk)
		events = append(events, frame{"content_block_start", object{"type": "content_block_start", "index": i, "content_block": start}})
		for _, d := range deltas {
			events = append(events, frame{"content_block_delta", object{"type": "content_block_delta", "index": i, "delta": d}})
		}
		events = append(events, frame{"content_block_stop", object{"type": "content_block_stop", "index": i}})
	}
	delta := object{"stop_reason": a.Stop, "stop_sequence": nil}
	if a.Stop == message.Refusal {
		delta["stop_details"] = object{"type": "refusal", "category": a.Category}
	}
	return append(events,
		frame{"message_delta", object{"type": "message_delta", "delta": delta, "usage": object{"output_tokens": output}}},
		frame{"message_stop", object{"type": "message_stop"}})
}

// blockEvents is how a block begins, and what it grows by.
func blockEvents(b message.Block, chunk int) (start object, deltas []object) {
	switch b := b.(type) {
	case message.Thinking:
		for _, s := range scripted.Pieces(b.Text, chunk) {
			deltas = append(deltas, object{"type": "thinking_delta", "thinking": s})
		}
		deltas = append(deltas, object{"type": "signature_delta", "signature": b.Signature})
		return object{"type": "thinking", "thinking": "", "signature": ""}, deltas
	case message.ToolUse:
		for _, s := range scripted.Pieces(string(b.Input), chunk) {
			deltas = append(deltas, object{"type": "input_json_delta", "partial_json": s})
		}
		return object{"type": "tool_use", "id": b.ID, "name": b.Name, "input": object{}}, deltas
	case message.Text:
		for _, s := range scripted.Pieces(b.Text, chunk) {
			deltas = append(deltas, object{"type": "text_delta", "text": s})
		}
	}
	return object{"type": "text", "text": ""}, deltas
}

// stream writes an answer as server-sent events, and fails on the way as the
// script says.
type stream struct {
	w     http.ResponseWriter
	ctx   context.Context
	a     scripted.Answer
	named bool // events have names
}

func (s *stream) play(events []frame) {
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.WriteHeader(http.StatusOK)
	s.flush()
	if !s.wait(time.Duration(s.a.Turn.Pause)) {
		return
	}
	f := s.a.Fail
	if f != nil && f.Pings > 0 {
		if !s.pings(time.Duration(f.Pings)) {
			return
		}
		f = nil
	}
	for i, ev := range events {
		if f != nil && i >= f.Cut {
			s.fail(f, ev)
			return
		}
		s.send(ev)
	}
}

// fail breaks the stream off. The client must see a broken connection, not an end.
func (s *stream) fail(f *scripted.Failure, next frame) {
	switch {
	case f.Silence > 0:
		s.wait(time.Duration(f.Silence))
	case f.ErrorEvent != "":
		s.send(frame{"error", object{"type": "error", "error": object{"type": f.ErrorEvent, "message": f.Message}}})
		return
	case f.Disorder:
		s.send(frame{"content_block_delta", object{"type": "content_block_delta", "index": 7, "delta": object{"type": "text_delta", "text": "?"}}})
	case f.CutInside:
		text := s.encode(next)
		s.w.Write(text[:len(text)/2])
		s.flush()
	}
	panic(http.ErrAbortHandler)
}

func (s *stream) encode(ev frame) []byte {
	data, err := json.Marshal(ev.data)
	if err != nil {
		panic(err) // frames are made of plain values
	}
	if s.named {
		return fmt.Appendf(nil, "event: %s\ndata: %s\n\n", ev.name, data)
	}
	return fmt.Appendf(nil, "data: %s\n\n", data)
}

func (s *stream) send(ev frame) {
	s.w.Write(s.encode(ev))
	s.flush()
}

func (s *stream) flush() { s.w.(http.Flusher).Flush() }

// pings sends nothing but pings for so long.
func (s *stream) pings(d time.Duration) bool {
	end := time.Now().Add(d)
	for left := d; left > 0; left = time.Until(end) {
		if s.named {
			s.send(frame{"ping", object{"type": "ping"}})
		} else {
			fmt.Fprint(s.w, ": ping\n\n")
			s.flush()
		}
		if !s.wait(min(left, time.Second)) {
			return false
		}
	}
	return true
}

func (s *stream) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.ctx.Done():
		return false
	}
}

// countTokens answers how long a prompt is, at four bytes a token.
func (f *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, err := read(r)
	if err != nil {
		f.refuse(w, Record{Path: r.URL.Path}, body, asRefused(err))
		return
	}
	writeJSON(w, http.StatusOK, object{"input_tokens": len(body) / 4})
}
