package fakeapi

import (
	"fmt"
	"net/http"
	"time"

	"heddle/internal/message"
	"heddle/internal/model/scripted"
)

// chat answers a request of Chat Completions.
func (f *Server) chat(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	body, err := read(r)
	rec := newRecord(r, body)
	var p *chatPrompt
	var a scripted.Answer
	if f.script.Quirks == (scripted.Quirks{}) { // a local server asks for no key
		if e := authorize(r); err == nil {
			err = e
		}
	}
	if err == nil {
		p, err = parseChat(body)
	}
	if err == nil {
		rec.Messages, rec.Conversation = len(p.Messages), conversation(agentOf(r), p.messages)
		err = f.tooLong(p.size / bytesPerToken)
	}
	if err == nil {
		a, err = f.engine.Next(scripted.Conversation{Agent: agentOf(r), System: p.system, Messages: p.messages})
	}
	if err != nil {
		e := refusalOf(err)
		rec.Status, rec.Error = e.status, e.message
		f.note(rec, nil)
		writeJSON(w, e.status, chatError(e))
		return
	}
	rec.Status = http.StatusOK
	if a.Fail != nil {
		rec.Status, _, _ = a.Fail.Words()
		rec.Error = a.Fail.String()
	}
	if rec.Status < 300 {
		f.mu.Lock()
		rec.Cache = f.cache.look(automatic(p.positions), began)
		f.mu.Unlock()
	}
	f.note(rec, frontOf(body, p.Messages))
	answer := &chatAnswer{
		server: f, prompt: p, answer: a, cache: rec.Cache, began: began, quirks: f.script.Quirks,
		events: stream{w: w}, call: map[int]int{},
	}
	if p.Stream {
		answer.play(r)
	} else {
		answer.playWhole(w, r)
	}
}

func chatError(e refusal) object {
	var code any
	if e.code != "" {
		code = e.code
	}
	return object{"error": object{"message": e.message, "type": e.kind, "param": nil, "code": code}}
}

// chatRefusal is a failure with the code that goes with its status.
func chatRefusal(f *scripted.Failure) refusal {
	e := refusalFrom(f)
	if e.code == "" {
		switch e.status {
		case http.StatusUnauthorized:
			e.code = "invalid_api_key"
		case http.StatusNotFound:
			e.code = "model_not_found"
		case http.StatusTooManyRequests:
			e.code = "rate_limit_exceeded"
		}
	}
	return e
}

// chatAnswer is an answer on its way.
type chatAnswer struct {
	server *Server
	prompt *chatPrompt
	answer scripted.Answer
	cache  CacheUse
	began  time.Time
	quirks scripted.Quirks
	events stream
	call   map[int]int // the number of the call, by index of its block
}

// play streams the answer.
func (c *chatAnswer) play(r *http.Request) {
	for step, err := range c.answer.Steps(r.Context()) {
		if err != nil {
			return // the client left
		}
		c.step(step)
	}
}

func (c *chatAnswer) step(step scripted.Step) {
	switch step := step.(type) {
	case scripted.Begin:
		c.store()
		c.events.begin()
		c.chunk(object{"role": "assistant", "content": ""}, nil)
	case scripted.Open:
		if u, ok := step.Block.(message.ToolUse); ok {
			c.call[step.Index] = len(c.call)
			if !c.quirks.WholeCalls {
				c.calls(step.Index, c.opening(u, ""))
			}
		}
	case scripted.Piece:
		c.piece(step)
	case scripted.Close:
		if u, ok := step.Block.(message.ToolUse); ok && c.quirks.WholeCalls {
			c.calls(step.Index, c.opening(u, string(u.Input)))
		}
	case scripted.Ping:
		c.events.raw(": keep-alive\n\n")
	case scripted.Stray:
		c.chunk(object{"tool_calls": []object{{"index": step.Index, "function": object{"arguments": "stray"}}}}, nil)
	case scripted.End:
		c.end()
	case scripted.Broken:
		c.broken(step.Failure)
	default:
		panic(fmt.Sprintf("step %T", step))
	}
}

func (c *chatAnswer) piece(p scripted.Piece) {
	switch p.Block.(type) {
	case message.Thinking:
		c.chunk(object{c.reasoning(): p.Text}, nil)
	case message.ToolUse:
		if !c.quirks.WholeCalls {
			c.calls(p.Index, object{"function": object{"arguments": p.Text}})
		}
	default:
		c.chunk(object{"content": p.Text}, nil)
	}
}

func (c *chatAnswer) reasoning() string {
	if c.quirks.Reasoning {
		return "reasoning"
	}
	return "reasoning_content"
}

// opening is the first delta of a call.
func (c *chatAnswer) opening(u message.ToolUse, arguments string) object {
	o := object{"type": "function", "function": object{"name": u.Name, "arguments": arguments}}
	if !c.quirks.NoIDs {
		o["id"] = u.ID
	}
	return o
}

// calls sends a delta of a call.
func (c *chatAnswer) calls(block int, delta object) {
	delta["index"] = c.call[block]
	if c.quirks.ZeroIndex {
		delta["index"] = 0
	}
	c.chunk(object{"tool_calls": []object{delta}}, nil)
}

func (c *chatAnswer) chunk(delta object, finish any) {
	o := c.frame([]object{{"index": 0, "delta": delta, "finish_reason": finish}})
	if c.prompt.usageWanted() {
		o["usage"] = nil
	}
	c.events.send("", o)
}

func (c *chatAnswer) frame(choices []object) object {
	return object{
		"id": "chat" + c.answer.ID, "object": "chat.completion.chunk", "created": c.began.Unix(), "model": c.prompt.Model,
		"choices": choices,
	}
}

func (c *chatAnswer) end() {
	c.chunk(object{}, c.finish())
	if c.prompt.usageWanted() && !c.quirks.NoUsage {
		o := c.frame([]object{})
		o["usage"] = c.usage()
		c.events.send("", o)
	}
	if !c.quirks.NoDone {
		c.events.raw("data: [DONE]\n\n")
	}
}

func (c *chatAnswer) finish() string {
	switch c.answer.Stop {
	case message.StopToolUse:
		if c.quirks.StopOnCall {
			return "stop"
		}
		return "tool_calls"
	case message.MaxTokens, message.ContextExceeded:
		return "length"
	case message.Refusal:
		return "content_filter"
	}
	return "stop"
}

func (c *chatAnswer) broken(f *scripted.Failure) {
	switch {
	case f.Status != 0 || f.HTML != 0:
		failHead(c.events.w, f, chatError(chatRefusal(f)))
	case f.ErrorEvent != "":
		c.events.send("", chatError(chatRefusal(f)))
	default:
		c.events.cut(f, func() { c.chunk(object{"content": "the half of this that comes is not JSON"}, nil) })
	}
}

func (c *chatAnswer) store() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.server.cache.store(automatic(c.prompt.positions), c.began)
}

func (c *chatAnswer) usage() object {
	u := message.Usage{Input: c.cache.prompt() - c.cache.Read, CacheRead: c.cache.Read, Output: outputTokens(c.answer)}
	if c.answer.Usage != nil {
		u = *c.answer.Usage
	}
	return object{
		"prompt_tokens": u.Prompt(), "completion_tokens": u.Output, "total_tokens": u.Prompt() + u.Output,
		"prompt_tokens_details": object{"cached_tokens": u.CacheRead},
	}
}

// outputTokens derives how long an answer is.
func outputTokens(a scripted.Answer) int {
	return max(1, len(a.Message.AppendJSON(nil))/bytesPerToken)
}

// playWhole answers without a stream. A connection that would have been cut is cut
// before anything comes.
func (c *chatAnswer) playWhole(w http.ResponseWriter, r *http.Request) {
	for step, err := range c.answer.Steps(r.Context()) {
		switch step := step.(type) {
		case scripted.Broken:
			f := step.Failure
			switch e := chatError(chatRefusal(f)); {
			case f.Status != 0 || f.HTML != 0:
				failHead(w, f, e)
			case f.ErrorEvent != "":
				writeJSON(w, http.StatusInternalServerError, e)
			default:
				panic(http.ErrAbortHandler)
			}
			return
		case scripted.End:
			c.store()
			out := c.frame([]object{{"index": 0, "message": c.whole(), "finish_reason": c.finish()}})
			out["object"], out["usage"] = "chat.completion", c.usage()
			writeJSON(w, http.StatusOK, out)
		}
		if err != nil {
			return
		}
	}
}

// whole is the message at once.
func (c *chatAnswer) whole() object {
	m := object{"role": "assistant", "content": nil}
	var calls []object
	for _, b := range c.answer.Message.Content {
		switch b := b.(type) {
		case message.Text:
			m["content"] = b.Text
		case message.Thinking:
			m[c.reasoning()] = b.Text
		case message.ToolUse:
			calls = append(calls, c.opening(b, string(b.Input)))
		}
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	return m
}
