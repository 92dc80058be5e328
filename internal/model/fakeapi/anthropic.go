package fakeapi

import (
	"fmt"
	"net/http"
	"time"

	"heddle/internal/message"
	"heddle/internal/model/scripted"
)

// messages answers a request of the Messages API.
func (f *Server) messages(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	body, err := read(r)
	rec := newRecord(r, body)
	var p *prompt
	var a scripted.Answer
	if err == nil {
		err = authorize(r)
	}
	if err == nil {
		p, err = f.parse(r.Header, body)
	}
	if err == nil {
		rec.Messages, rec.Conversation = len(p.messages), p.conversation(agentOf(r))
		err = f.tooLong(p.tokens())
	}
	if err == nil {
		a, err = f.engine.Next(scripted.Conversation{Agent: agentOf(r), System: p.system, Messages: p.messages})
	}
	if err != nil {
		f.refuseMessages(w, rec, err)
		return
	}
	rec.Status = http.StatusOK
	if a.Fail != nil {
		rec.Status, _, _ = a.Fail.Words()
		rec.Error = a.Fail.String()
	}
	if rec.Status < 300 {
		f.mu.Lock()
		rec.Cache = f.cache.look(p.positions, began)
		f.mu.Unlock()
	}
	f.note(rec, frontOf(body, p.Messages))
	answer := &messagesAnswer{server: f, prompt: p, answer: a, cache: rec.Cache, began: began, events: stream{w: w, named: true}}
	if p.Stream {
		answer.play(r)
	} else {
		answer.playWhole(w, r)
	}
}

// refuseMessages answers an error in the words of the Messages API.
func (f *Server) refuseMessages(w http.ResponseWriter, rec Record, err error) {
	e := refusalOf(err)
	rec.Status, rec.Error = e.status, e.message
	f.note(rec, nil)
	w.Header().Set("Request-Id", "req_fake")
	writeJSON(w, e.status, anthropicError(e))
}

func anthropicError(e refusal) object {
	inner := object{"type": e.kind, "message": e.message}
	if e.code != "" {
		inner["details"] = object{"error_code": e.code}
	}
	return object{"type": "error", "error": inner, "request_id": "req_fake"}
}

func refusalFrom(f *scripted.Failure) refusal {
	status, kind, text := f.Words()
	return refusal{status: status, kind: kind, code: f.Code, message: text}
}

// messagesAnswer is an answer on its way.
type messagesAnswer struct {
	server *Server
	prompt *prompt
	answer scripted.Answer
	cache  CacheUse
	began  time.Time
	events stream
}

// play streams the answer.
func (m *messagesAnswer) play(r *http.Request) {
	for step, err := range m.answer.Steps(r.Context()) {
		if err != nil {
			return // the client left
		}
		m.step(step)
	}
}

func (m *messagesAnswer) step(step scripted.Step) {
	s := &m.events
	switch step := step.(type) {
	case scripted.Begin:
		m.store()
		s.begin()
		s.send("message_start", object{"type": "message_start", "message": m.skeleton()})
	case scripted.Open:
		s.send("content_block_start", object{"type": "content_block_start", "index": step.Index, "content_block": blockStart(step.Block)})
	case scripted.Piece:
		m.delta(step.Index, pieceDelta(step))
	case scripted.Close:
		if t, ok := step.Block.(message.Thinking); ok {
			m.delta(step.Index, object{"type": "signature_delta", "signature": m.prompt.sign(t)})
		}
		s.send("content_block_stop", object{"type": "content_block_stop", "index": step.Index})
	case scripted.Ping:
		s.send("ping", object{"type": "ping"})
	case scripted.Stray:
		m.delta(step.Index, object{"type": "text_delta", "text": "stray"})
	case scripted.End:
		m.end()
		s.send("message_delta", object{"type": "message_delta", "delta": m.stop(), "usage": object{"output_tokens": m.usage()["output_tokens"]}})
		s.send("message_stop", object{"type": "message_stop"})
	case scripted.Broken:
		m.broken(step.Failure)
	default:
		panic(fmt.Sprintf("step %T", step))
	}
}

func (m *messagesAnswer) broken(f *scripted.Failure) {
	s := &m.events
	switch {
	case f.Status != 0 || f.HTML != 0:
		s.w.Header().Set("Request-Id", "req_fake")
		failHead(s.w, f, anthropicError(refusalFrom(f)))
	case f.ErrorEvent != "":
		s.send("error", anthropicError(refusalFrom(f)))
	default:
		s.cut(f, func() { m.delta(0, object{"type": "text_delta", "text": "the half of this that comes is not JSON"}) })
	}
}

func (m *messagesAnswer) delta(index int, d object) {
	m.events.send("content_block_delta", object{"type": "content_block_delta", "index": index, "delta": d})
}

// store writes to the cache: from now on others can read what this request sent.
func (m *messagesAnswer) store() {
	m.server.mu.Lock()
	defer m.server.mu.Unlock()
	m.server.cache.store(m.prompt.positions, m.began)
}

// end remembers an answer after which the client may come back with nothing new.
func (m *messagesAnswer) end() {
	if m.answer.Stop == message.PauseTurn {
		m.server.mu.Lock()
		defer m.server.mu.Unlock()
		m.server.paused[m.prompt.after(m.signed())] = true
	}
}

// signed is the message with signatures on its thoughts.
func (m *messagesAnswer) signed() message.Message {
	out := message.Message{Role: message.Assistant}
	for _, b := range m.answer.Message.Content {
		if t, ok := b.(message.Thinking); ok {
			t.Signature = m.prompt.sign(t)
			b = t
		}
		out.Content = append(out.Content, b)
	}
	return out
}

// skeleton is the message before anything of it is said.
func (m *messagesAnswer) skeleton() object {
	u := m.usage()
	u["output_tokens"] = 1
	return object{
		"id": m.answer.ID, "type": "message", "role": "assistant", "model": m.prompt.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": u,
	}
}

func (m *messagesAnswer) stop() object {
	o := object{"stop_reason": m.answer.Stop, "stop_sequence": nil}
	if r := m.answer.Refusal; r != nil {
		o["stop_details"] = object{"type": "refusal", "category": r.Category, "explanation": r.Explanation}
	}
	return o
}

func (m *messagesAnswer) usage() object {
	u := message.Usage{
		Input: m.cache.Input, CacheRead: m.cache.Read, CacheWrite: m.cache.Write, CacheWrite1h: m.cache.Write1h,
		Output: outputTokens(m.answer),
	}
	if m.answer.Usage != nil {
		u = *m.answer.Usage
	}
	return object{
		"input_tokens": u.Input, "cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite + u.CacheWrite1h,
		"cache_creation": object{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": u.CacheWrite1h},
		"output_tokens":  u.Output, "service_tier": "standard",
	}
}

// blockStart is a block before its first piece.
func blockStart(b message.Block) object {
	switch b := b.(type) {
	case message.Thinking:
		return object{"type": "thinking", "thinking": "", "signature": ""}
	case message.ToolUse:
		return object{"type": "tool_use", "id": b.ID, "name": b.Name, "input": object{}}
	}
	return object{"type": "text", "text": ""}
}

func pieceDelta(p scripted.Piece) object {
	switch p.Block.(type) {
	case message.Thinking:
		return object{"type": "thinking_delta", "thinking": p.Text}
	case message.ToolUse:
		return object{"type": "input_json_delta", "partial_json": p.Text}
	}
	return object{"type": "text_delta", "text": p.Text}
}

// playWhole answers without a stream. A connection that would have been cut is cut
// before anything comes.
func (m *messagesAnswer) playWhole(w http.ResponseWriter, r *http.Request) {
	for step, err := range m.answer.Steps(r.Context()) {
		switch step := step.(type) {
		case scripted.Broken:
			f := step.Failure
			if f.Status == 0 && f.HTML == 0 && f.ErrorEvent == "" {
				panic(http.ErrAbortHandler)
			}
			if e := refusalFrom(f); f.ErrorEvent != "" {
				writeJSON(w, http.StatusInternalServerError, anthropicError(e))
			} else {
				failHead(w, f, anthropicError(e))
			}
			return
		case scripted.End:
			m.store()
			m.end()
			out := m.skeleton()
			out["content"], out["usage"] = wholeBlocks(m.signed()), m.usage()
			for name, value := range m.stop() {
				out[name] = value
			}
			writeJSON(w, http.StatusOK, out)
		}
		if err != nil {
			return
		}
	}
}

// wholeBlocks are the blocks of a message as JSON. Without a stream, a provider only
// sends input that is valid.
func wholeBlocks(m message.Message) []rawJSON {
	out := []rawJSON{}
	for _, b := range m.Content {
		if u, ok := b.(message.ToolUse); ok {
			u.Input, _ = message.CleanInput(u.Input)
			b = u
		}
		out = append(out, rawJSON(b.AppendJSON(nil)))
	}
	return out
}

// countTokens says how long a prompt is.
func (f *Server) countTokens(w http.ResponseWriter, r *http.Request) {
	body, err := read(r)
	var p *prompt
	if err == nil {
		err = authorize(r)
	}
	if err == nil {
		p, err = f.parseCount(r.Header, body)
	}
	if err != nil {
		f.refuseMessages(w, newRecord(r, body), err)
		return
	}
	writeJSON(w, http.StatusOK, object{"input_tokens": p.tokens()})
}
