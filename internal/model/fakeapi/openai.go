package fakeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"

	"heddle/internal/message"
	"heddle/internal/model/scripted"
)

// chatRequest is a request of Chat Completions, as far as a script cares.
type chatRequest struct {
	Model         string            `json:"model"`
	Messages      []json.RawMessage `json:"messages"`
	Tools         []json.RawMessage `json:"tools"`
	Stream        bool              `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID string `json:"tool_call_id"`
}

// chat answers a request of Chat Completions.
func (f *Server) chat(w http.ResponseWriter, r *http.Request) {
	rec := Record{Path: r.URL.Path, Agent: agentOf(r).Type, Status: http.StatusOK}
	body, err := read(r)
	var req chatRequest
	var c scripted.Conversation
	if err == nil {
		req, c, err = parseChat(body)
	}
	if err != nil {
		f.refuseChat(w, rec, body, asRefused(err))
		return
	}
	c.Agent = agentOf(r)
	rec.Messages = len(req.Messages)
	rec.Conversation = conversation(rec.Agent, c.Messages)
	a, err := f.engine.Next(c)
	if err != nil {
		f.refuseChat(w, rec, body, asRefused(err))
		return
	}
	if a.Fail != nil && a.Fail.Status != 0 {
		rec.Status, rec.Error = a.Fail.Status, a.Fail.Type
		f.note(rec, body, comparable(body, req.Messages))
		fail(w, a.Fail, object{"error": object{"message": a.Fail.Message, "type": errorType(a.Fail), "code": a.Fail.Type}})
		return
	}
	rec = f.note(rec, body, comparable(body, req.Messages))
	s := &stream{w: w, ctx: r.Context(), a: a}
	s.play(chatEvents(rec, req, a, f.quirks))
	if (a.Fail == nil || a.Fail.Pings > 0) && !f.quirks.NoDone {
		fmt.Fprint(w, "data: [DONE]\n\n")
	}
}

func (f *Server) refuseChat(w http.ResponseWriter, rec Record, body []byte, r refused) {
	rec.Status, rec.Error = r.status, r.message
	f.note(rec, body, sent{})
	writeJSON(w, r.status, object{"error": object{"message": r.message, "type": r.kind, "param": nil, "code": nil}})
}

// parseChat reads a request and refuses it as the API would.
func parseChat(body []byte) (chatRequest, scripted.Conversation, error) {
	var req chatRequest
	var c scripted.Conversation
	if !utf8.Valid(body) {
		return req, c, invalid("the request body is not valid UTF-8")
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return req, c, invalid("the request body is not valid JSON: %v", err)
	}
	if req.Model == "" || len(req.Messages) == 0 {
		return req, c, invalid("model and messages are required")
	}
	if !req.Stream {
		return req, c, invalid("this server only streams; send \"stream\": true")
	}
	var open []string
	for i, raw := range req.Messages {
		var m chatMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return req, c, invalid("messages[%d]: %v", i, err)
		}
		if m.Role != "tool" && len(open) > 0 {
			return req, c, invalid("messages[%d]: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': %v", i, open)
		}
		var err error
		if open, err = addChat(&c, m, open); err != nil {
			return req, c, invalid("messages[%d]: %v", i, err)
		}
	}
	if len(open) > 0 {
		return req, c, invalid("messages: no tool message responds to %v", open)
	}
	if len(c.Messages) == 0 || c.Messages[len(c.Messages)-1].Role != message.User {
		return req, c, invalid("messages: the last message must be a user's or a tool's")
	}
	return req, c, nil
}

// addChat adds a message of the wire to a conversation and returns which calls still wait
// for their result.
func addChat(c *scripted.Conversation, m chatMessage, open []string) ([]string, error) {
	text, err := chatText(m.Content)
	if err != nil {
		return nil, err
	}
	switch m.Role {
	case "system", "developer":
		c.System += text
	case "user":
		c.Messages = append(c.Messages, message.FromUser(text))
	case "assistant":
		out := message.Message{Role: message.Assistant}
		if text != "" {
			out.Content = append(out.Content, message.Text{Text: text})
		}
		for _, call := range m.ToolCalls {
			if call.ID == "" || call.Function.Name == "" {
				return nil, fmt.Errorf("a tool call without id or name")
			}
			if !json.Valid([]byte(call.Function.Arguments)) {
				return nil, fmt.Errorf("the arguments of %s are not JSON", call.ID)
			}
			open = append(open, call.ID)
			out.Content = append(out.Content, message.ToolUse{ID: call.ID, Name: call.Function.Name, Input: json.RawMessage(call.Function.Arguments)})
		}
		if len(out.Content) == 0 {
			return nil, fmt.Errorf("an assistant message needs content or tool_calls")
		}
		c.Messages = append(c.Messages, out)
	case "tool":
		at := slices.Index(open, m.ToolCallID)
		if at < 0 {
			return nil, fmt.Errorf("tool_call_id %q answers no call", m.ToolCallID)
		}
		open = slices.Delete(slices.Clone(open), at, at+1)
		result := message.ToolResult{ToolUseID: m.ToolCallID, Content: []message.Block{message.Text{Text: text}}}
		if n := len(c.Messages); c.Messages[n-1].Role == message.User {
			c.Messages[n-1].Content = append(c.Messages[n-1].Content, result)
		} else {
			c.Messages = append(c.Messages, message.Message{Role: message.User, Content: []message.Block{result}})
		}
	default:
		return nil, fmt.Errorf("role %q is not known", m.Role)
	}
	return open, nil
}

// chatText reads content: a string, parts, or null.
func chatText(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	var parts []struct{ Type, Text string }
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", err
	}
	text := ""
	for _, p := range parts {
		text += p.Text
	}
	return text, nil
}

// chatEvents are the chunks of an answer.
func chatEvents(rec Record, req chatRequest, a scripted.Answer, q scripted.Quirks) []frame {
	id := fmt.Sprintf("chatcmpl-%d", rec.N)
	chunk := func(delta object, finish any) frame {
		return frame{data: object{"id": id, "object": "chat.completion.chunk", "model": req.Model, "choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}}}
	}
	events := []frame{chunk(object{"role": "assistant", "content": ""}, nil)}
	calls := 0
	for _, b := range a.Message.Content {
		switch b := b.(type) {
		case message.Thinking:
			for _, s := range scripted.Pieces(b.Text, a.Turn.Chunk) {
				events = append(events, chunk(object{"reasoning": s}, nil))
			}
		case message.Text:
			for _, s := range scripted.Pieces(b.Text, a.Turn.Chunk) {
				events = append(events, chunk(object{"content": s}, nil))
			}
		case message.ToolUse:
			for _, d := range callDeltas(b, calls, a.Turn.Chunk, q) {
				events = append(events, chunk(object{"tool_calls": []object{d}}, nil))
			}
			calls++
		}
	}
	events = append(events, chunk(object{}, finishReason(a, calls, q)))
	if req.StreamOptions != nil && req.StreamOptions.IncludeUsage && !q.NoUsage {
		prompt, output := rec.Bytes/4, len(a.Message.AppendJSON(nil))/4
		if u := a.Usage; u != nil {
			prompt, output = u.Input+u.CacheRead+u.CacheWrite, u.Output
		}
		events = append(events, frame{data: object{"id": id, "object": "chat.completion.chunk", "model": req.Model, "choices": []object{}, "usage": object{
			"prompt_tokens": prompt, "completion_tokens": output, "prompt_tokens_details": object{"cached_tokens": min(rec.CommonPrefix/4, prompt)},
		}}})
	}
	return events
}

// callDeltas are the pieces of a tool call.
func callDeltas(u message.ToolUse, index, chunk int, q scripted.Quirks) []object {
	first := object{"index": index, "id": u.ID, "type": "function", "function": object{"name": u.Name, "arguments": ""}}
	if q.ZeroIndex {
		first["index"] = 0
	}
	if q.NoIDs {
		delete(first, "id")
	}
	if q.WholeCalls {
		first["function"] = object{"name": u.Name, "arguments": string(u.Input)}
		return []object{first}
	}
	out := []object{first}
	for _, s := range scripted.Pieces(string(u.Input), chunk) {
		out = append(out, object{"index": first["index"], "function": object{"arguments": s}})
	}
	return out
}

func finishReason(a scripted.Answer, calls int, q scripted.Quirks) string {
	switch {
	case a.Stop == message.MaxTokens || a.Stop == message.ContextExceeded:
		return "length"
	case a.Stop == message.Refusal:
		return "content_filter"
	case calls > 0 && !q.StopOnCall:
		return "tool_calls"
	}
	return "stop"
}
