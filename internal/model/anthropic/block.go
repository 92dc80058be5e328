package anthropic

import (
	"bytes"
	"encoding/json"

	"heddle/internal/message"
)

const (
	textDelta      = "text_delta"
	thinkingDelta  = "thinking_delta"
	signatureDelta = "signature_delta"
	inputDelta     = "input_json_delta"
)

// block is a content block that grows.
type block struct {
	index  int
	kind   string
	closed bool

	text      []byte // of text and thinking
	signature []byte
	id, name  string // of a tool call
	input     []byte // JSON text, in pieces as it came
	raw       json.RawMessage
}

func newBlock(index int, raw json.RawMessage) (*block, error) {
	var s struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	b := &block{index: index, kind: s.Type, raw: raw, id: s.ID, name: s.Name, signature: []byte(s.Signature)}
	switch s.Type {
	case "text":
		b.text = []byte(s.Text)
	case "thinking":
		b.text = []byte(s.Thinking)
	}
	return b, nil
}

// content returns the finished block, or nil for one that the API would not
// take back: text of nothing but white space.
func (b *block) content() message.Block {
	switch b.kind {
	case "text":
		if len(bytes.TrimSpace(b.text)) == 0 {
			return nil
		}
		return message.Text{Text: string(b.text)}
	case "thinking":
		return message.Thinking{Text: string(b.text), Signature: string(b.signature)}
	case "tool_use":
		return b.toolUse()
	}
	raw := b.raw
	if len(b.input) > 0 {
		input, _ := message.CleanInput(b.input)
		raw = replaceMember(raw, "input", input)
	}
	block, err := message.DecodeBlock(raw)
	if err != nil {
		return nil
	}
	return block
}

// toolUse returns the call. Its input came in pieces, or else with its beginning.
func (b *block) toolUse() message.ToolUse {
	raw := b.input
	if len(raw) == 0 {
		raw = member(b.raw, "input")
	}
	input, ok := message.CleanInput(raw)
	return message.ToolUse{ID: b.id, Name: b.name, Input: input, Malformed: !ok}
}

// member returns the value of a member of a JSON object.
func member(object json.RawMessage, name string) json.RawMessage {
	from, to := find(object, name)
	return object[from:to]
}

// replaceMember returns object with another value of the member, which all else
// stays around as it is. Without such a member it returns object.
func replaceMember(object json.RawMessage, name string, value []byte) json.RawMessage {
	from, to := find(object, name)
	if from == to {
		return object
	}
	out := append(json.RawMessage(nil), object[:from]...)
	out = append(out, value...)
	return append(out, object[to:]...)
}

// find returns where the value of a member lies in a valid JSON object.
func find(object json.RawMessage, name string) (from, to int) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return 0, 0
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return 0, 0
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return 0, 0
		}
		if key == name {
			to = int(dec.InputOffset())
			return to - len(value), to
		}
	}
	return 0, 0
}
