package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/sse"
)

// decoder puts a response together from the chunks of a stream and passes on
// what may be shown of it meanwhile.
type decoder struct {
	yield   func(model.Event, error) bool
	request *model.Request
	left    bool // the consumer stopped listening
	over    bool // left, or the end mark came

	started   bool
	id, model string
	finish    string
	refusal   strings.Builder
	usage     *message.Usage
	blocks    []*block // in the order in which they began
	think     *thinkTags
	template  template
	received  int64 // bytes of the answer's text and calls
}

// block is a piece of the answer that grows: text, thinking or a call.
type block struct {
	index int
	kind  kind
	text  []byte // of a call: its arguments
	call
}

type kind int

const (
	text kind = iota
	thinking
	toolCall
)

func newDecoder(yield func(model.Event, error) bool, r *model.Request, p Profile) *decoder {
	d := &decoder{yield: yield, request: r}
	if p.ThinkTags {
		d.think = &thinkTags{}
	}
	return d
}

func (d *decoder) emit(e model.Event) {
	if !d.left && !d.yield(e, nil) {
		d.left, d.over = true, true
	}
}

// event takes in one event.
func (d *decoder) event(ev sse.Event) error {
	if string(ev.Data) == "[DONE]" {
		if d.finish == "" {
			return malformed("it ended without a finish reason")
		}
		d.over = true
		return nil
	}
	if c, ok := d.template.fit(ev.Data); ok && len(ev.Name) == 0 {
		d.choice(c)
		return nil
	}
	var c chunk
	if err := json.Unmarshal(ev.Data, &c); err != nil {
		return malformed("it holds data that is not JSON as expected: %v", err)
	}
	if string(ev.Name) == "error" || c.Object == "error" || len(c.Error) > 0 && string(c.Error) != "null" {
		return inStream(ev.Data)
	}
	d.begin(&c)
	switch {
	case c.Usage != nil:
		u := c.Usage.normal()
		d.usage = &u
	case c.Timings != nil && d.usage == nil:
		u := c.Timings.normal()
		d.usage = &u
	}
	for i := range c.Choices {
		if c.Choices[i].Index == 0 { // one was asked for
			d.choice(&c.Choices[i])
		}
	}
	d.template.learn(c, ev.Data)
	return nil
}

func (d *decoder) begin(c *chunk) {
	if d.id == "" {
		d.id = c.ID
	}
	if d.model == "" {
		d.model = c.Model
	}
	if !d.started {
		d.started = true
		d.emit(model.Started{ID: d.id, Model: d.model})
	}
}

func (d *decoder) choice(c *choice) {
	if s := c.Delta.thinking(); s != "" {
		d.add(thinking, s)
	}
	if s := textOf(c.Delta.Content); s != "" {
		if d.think == nil {
			d.add(text, s)
		} else {
			d.think.split(s, d.add)
		}
	}
	if s := c.Delta.Refusal; s != "" {
		d.refusal.WriteString(s)
		d.add(text, s)
	}
	for i := range c.Delta.ToolCalls {
		d.callDelta(&c.Delta.ToolCalls[i])
	}
	if c.Finish != "" {
		d.finish = c.Finish
	}
}

// add appends to the newest block, or begins one of the other kind.
func (d *decoder) add(k kind, s string) {
	if s == "" {
		return
	}
	d.received += int64(len(s))
	b := d.newest(k)
	if b == nil {
		b = d.open(k)
	}
	b.text = append(b.text, s...)
	if k == thinking {
		d.emit(model.ThinkingDelta{Index: b.index, Text: s})
	} else {
		d.emit(model.TextDelta{Index: b.index, Text: s})
	}
}

// newest returns the newest block of text or thinking if it is of kind k.
func (d *decoder) newest(k kind) *block {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		switch d.blocks[i].kind {
		case k:
			return d.blocks[i]
		case toolCall:
		default:
			return nil
		}
	}
	return nil
}

func (d *decoder) open(k kind) *block {
	b := &block{index: len(d.blocks), kind: k}
	d.blocks = append(d.blocks, b)
	return b
}

// response returns the whole answer. prompt is the number of bytes that were sent.
func (d *decoder) response(prompt int64) (model.Response, error) {
	if d.think != nil {
		d.think.end(d.add)
	}
	r := model.Response{ID: d.id, Model: d.model, Stop: d.stop()}
	r.Message.Role = message.Assistant
	for i, b := range d.blocks {
		switch b.kind {
		case text:
			if strings.TrimSpace(string(b.text)) != "" {
				r.Message.Content = append(r.Message.Content, message.Text{Text: string(b.text)})
			}
		case thinking:
			r.Message.Content = append(r.Message.Content, message.Thinking{Text: string(b.text)})
		case toolCall:
			use, err := b.toolUse()
			if err != nil {
				return model.Response{}, err
			}
			// The limit may have cut the last call even where it looks whole.
			if r.Stop == message.MaxTokens && (i == len(d.blocks)-1 || use.Malformed) {
				r.Partial = &use
				continue
			}
			r.Message.Content = append(r.Message.Content, use)
		}
	}
	if r.Stop == message.Refusal {
		r.Refusal = &model.RefusalDetails{Category: d.finish, Explanation: d.refusal.String()}
	}
	if d.usage != nil {
		r.Usage = *d.usage
	} else {
		r.Usage = estimate(prompt, d.received)
	}
	return r, nil
}

// stop maps the finish reason. Servers have said stop where there were calls,
// so calls decide.
func (d *decoder) stop() message.StopReason {
	calls := false
	for _, b := range d.blocks {
		calls = calls || b.kind == toolCall
	}
	switch {
	case d.finish == "length":
		return message.MaxTokens
	case d.finish == "content_filter" || d.refusal.Len() > 0:
		return message.Refusal
	case calls:
		return message.StopToolUse
	}
	switch d.finish {
	case "stop", "tool_calls", "function_call", "eos":
		return message.EndTurn
	}
	return message.StopReason(d.finish)
}

// malformed is the error for a stream that breaks the protocol. What was cut
// off or garbled on its way may come whole the next time.
func malformed(format string, args ...any) error {
	return &model.Error{Class: model.Cut, Status: http.StatusOK, Message: "the stream is malformed: " + fmt.Sprintf(format, args...)}
}
