package headless

import (
	"encoding/json"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/model"
)

// partial passes on an answer while it is written, as the events of the
// Anthropic API, whatever the provider speaks.
type partial struct {
	w     *writer
	began bool
	open  int // index of the open block, from 1; 0: none
}

type streamEvent struct {
	envelope
	Event  any     `json:"event"`
	Parent *string `json:"parent_tool_use_id"`
}

// fields is a small JSON object. Key order does not matter to readers.
type fields map[string]any

func (p *partial) send(event fields) {
	p.w.write(streamEvent{p.w.head("stream_event", ""), event, nil})
}

func (p *partial) event(ev model.Event) {
	switch ev := ev.(type) {
	case model.Started:
		p.start(ev)
	case model.TextDelta:
		p.block(ev.Index, fields{"type": "text", "text": ""})
		p.delta(ev.Index, fields{"type": "text_delta", "text": ev.Text})
	case model.ThinkingDelta:
		p.block(ev.Index, fields{"type": "thinking", "thinking": "", "signature": ""})
		p.delta(ev.Index, fields{"type": "thinking_delta", "thinking": ev.Text})
	case model.ToolStarted:
		p.block(ev.Index, fields{"type": "tool_use", "id": ev.ID, "name": ev.Name, "input": json.RawMessage("{}")})
	case model.InputDelta:
		p.delta(ev.Index, fields{"type": "input_json_delta", "partial_json": ev.JSON})
	case model.Retrying:
		*p = partial{w: p.w} // what was streamed is void; the next attempt starts anew
	}
}

func (p *partial) start(ev model.Started) {
	p.began = true
	p.send(fields{"type": "message_start", "message": fields{
		"id": ev.ID, "type": "message", "role": message.Assistant, "model": ev.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": usageOf(ev.Usage),
	}})
}

// block opens the block at index, unless it is open.
func (p *partial) block(index int, content fields) {
	if p.open == index+1 {
		return
	}
	p.close()
	p.open = index + 1
	p.send(fields{"type": "content_block_start", "index": index, "content_block": content})
}

func (p *partial) delta(index int, delta fields) {
	p.send(fields{"type": "content_block_delta", "index": index, "delta": delta})
}

func (p *partial) close() {
	if p.open > 0 {
		p.send(fields{"type": "content_block_stop", "index": p.open - 1})
		p.open = 0
	}
}

// end closes the answer that a is.
func (p *partial) end(a agent.Added) {
	if !p.began {
		return
	}
	p.close()
	p.send(fields{
		"type": "message_delta", "delta": fields{"stop_reason": a.Stop, "stop_sequence": nil}, "usage": usageOf(a.Usage),
	})
	p.send(fields{"type": "message_stop"})
	p.began = false
}
