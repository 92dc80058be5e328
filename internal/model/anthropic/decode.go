package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"

	"heddle/internal/message"
	"heddle/internal/model"
)

// decoder puts a response together from the events of a stream and passes on
// what may be shown of it meanwhile.
type decoder struct {
	yield func(model.Event, error) bool
	left  bool // the consumer stopped listening
	over  bool // left, or the response is complete

	response model.Response
	blocks   []*block // in the order in which they began
}

// event is the union of what the events of a stream say.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message *struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Usage *usage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta delta           `json:"delta"`
	Usage *usage          `json:"usage"`
	Error *apiError       `json:"error"`

	RequestID string `json:"request_id"`
}

// delta is the union of the deltas of blocks and of the message.
type delta struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Thinking    string `json:"thinking"`
	Signature   string `json:"signature"`
	PartialJSON string `json:"partial_json"`

	StopReason   message.StopReason `json:"stop_reason"`
	StopSequence string             `json:"stop_sequence"`
	StopDetails  *struct {
		Category    string `json:"category"`
		Explanation string `json:"explanation"`
	} `json:"stop_details"`
}

// usage holds what the server says; later figures replace earlier ones.
type usage struct {
	Input      *int `json:"input_tokens"`
	CacheRead  *int `json:"cache_read_input_tokens"`
	CacheWrite *int `json:"cache_creation_input_tokens"` // for both lifetimes
	Lifetimes  *struct {
		Hour int `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
	Output *int `json:"output_tokens"`
}

func (u *usage) apply(to *message.Usage) {
	if u == nil {
		return
	}
	set := func(to *int, from *int) {
		if from != nil {
			*to = max(*from, 0)
		}
	}
	set(&to.Input, u.Input)
	set(&to.CacheRead, u.CacheRead)
	set(&to.Output, u.Output)
	if u.CacheWrite != nil {
		to.CacheWrite = max(*u.CacheWrite, 0)
		to.CacheWrite1h = 0
		if u.Lifetimes != nil {
			to.CacheWrite1h = min(max(u.Lifetimes.Hour, 0), to.CacheWrite)
			to.CacheWrite -= to.CacheWrite1h
		}
	}
}

// emit passes an event on.
func (d *decoder) emit(e model.Event) {
	if !d.left && !d.yield(e, nil) {
		d.left, d.over = true, true
	}
}

// event takes in the data of one event. Types that are not known are skipped.
func (d *decoder) event(data []byte) error {
	if index, kind, text, ok := plainDelta(data); ok {
		return d.delta(index, kind, text)
	}
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return &model.Error{Class: model.Cut, Status: http.StatusOK, Message: "the stream holds data that is not JSON as expected: " + err.Error(), Err: err}
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			d.response.ID, d.response.Model = e.Message.ID, e.Message.Model
			e.Message.Usage.apply(&d.response.Usage)
		}
		d.emit(model.Started{ID: d.response.ID, Model: d.response.Model, Usage: d.response.Usage})
	case "content_block_start":
		return d.start(e.Index, e.Block)
	case "content_block_delta":
		kind := e.Delta.Type
		return d.delta(e.Index, kind, e.Delta.of(kind))
	case "content_block_stop":
		b, err := d.block(e.Index)
		if err != nil {
			return err
		}
		b.closed = true
	case "message_delta":
		d.stop(e)
	case "message_stop":
		return d.complete()
	case "error":
		return inStream(e)
	}
	return nil
}

// of returns the text that a delta of this kind carries.
func (d *delta) of(kind string) string {
	switch kind {
	case textDelta:
		return d.Text
	case thinkingDelta:
		return d.Thinking
	case signatureDelta:
		return d.Signature
	case inputDelta:
		return d.PartialJSON
	}
	return ""
}

func (d *decoder) start(index int, raw json.RawMessage) error {
	if _, err := d.block(index); err == nil {
		return malformed("block %d begins twice", index)
	}
	b, err := newBlock(index, raw)
	if err != nil {
		return malformed("block %d: %v", index, err)
	}
	d.blocks = append(d.blocks, b)
	switch {
	case b.kind == "tool_use":
		d.emit(model.ToolStarted{Index: index, ID: b.id, Name: b.name})
	case len(b.text) > 0:
		d.show(b, string(b.text))
	}
	return nil
}

// show passes on text that a block gained.
func (d *decoder) show(b *block, text string) {
	switch b.kind {
	case "text":
		d.emit(model.TextDelta{Index: b.index, Text: text})
	case "thinking":
		d.emit(model.ThinkingDelta{Index: b.index, Text: text})
	}
}

func (d *decoder) delta(index int, kind, text string) error {
	b, err := d.block(index)
	if err != nil {
		return err
	}
	if b.closed {
		return malformed("a delta for block %d, which has ended", index)
	}
	if text == "" {
		return nil
	}
	switch kind {
	case textDelta, thinkingDelta:
		b.text = append(b.text, text...)
		d.show(b, text)
	case signatureDelta:
		b.signature = append(b.signature, text...)
	case inputDelta:
		b.input = append(b.input, text...)
		if b.kind == "tool_use" {
			d.emit(model.InputDelta{Index: index, JSON: text})
		}
	}
	return nil
}

// block returns the block with this index. It is nearly always the last.
func (d *decoder) block(index int) (*block, error) {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if d.blocks[i].index == index {
			return d.blocks[i], nil
		}
	}
	return nil, malformed("block %d has not begun", index)
}

func (d *decoder) stop(e event) {
	r := &d.response
	if e.Delta.StopReason != "" {
		r.Stop, r.StopSequence = e.Delta.StopReason, e.Delta.StopSequence
	}
	if s := e.Delta.StopDetails; s != nil {
		r.Refusal = &model.RefusalDetails{Category: s.Category, Explanation: s.Explanation}
	}
	e.Usage.apply(&r.Usage)
}

// complete ends the response, if it is one.
func (d *decoder) complete() error {
	r := &d.response
	if r.Stop == "" {
		return malformed("it ended without a stop reason")
	}
	cut := r.Stop == message.MaxTokens || r.Stop == message.ContextExceeded
	r.Message.Role = message.Assistant
	for i, b := range d.blocks {
		last := i == len(d.blocks)-1
		if !b.closed && !cut && r.Stop != message.Refusal {
			return malformed("block %d never ended", b.index)
		}
		switch {
		case b.kind == "tool_use" && cut && (last || !b.closed):
			use := b.toolUse()
			r.Partial = &use
		case !b.closed && b.kind != "text":
			// Half a thought cannot be sent back, and half a call must not run.
		default:
			if c := b.content(); c != nil {
				r.Message.Content = append(r.Message.Content, c)
			}
		}
	}
	d.over = true
	return nil
}

// malformed is the error for a stream that breaks the protocol. What was cut
// off or garbled on its way may come whole the next time.
func malformed(format string, args ...any) error {
	return &model.Error{Class: model.Cut, Status: http.StatusOK, Message: "the stream is malformed: " + fmt.Sprintf(format, args...)}
}
