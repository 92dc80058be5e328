package openai

import (
	"bytes"
	"encoding/json"
)

// template is the last chunk that carried one piece of text, with a slot where
// that text was. The chunks of a stream mostly differ in nothing else, and one
// that fits the template need not be decoded again, which is most of the work.
type template struct {
	chunk      chunk
	slot       *json.RawMessage // in chunk
	head, tail []byte           // of the event, around the slot
}

// learn makes c, decoded from data, the template, if it is such a chunk. It keeps c.
func (t *template) learn(c chunk, data []byte) {
	t.slot = nil
	if len(c.Choices) != 1 || c.Choices[0].Index != 0 || c.Choices[0].Finish != "" || c.Usage != nil || c.Timings != nil {
		return
	}
	t.chunk = c
	d := &t.chunk.Choices[0].Delta
	var key string
	switch {
	case len(d.ToolCalls) == 1 && d.ToolCalls[0].Function.Name == "":
		key, t.slot = `"arguments":`, &d.ToolCalls[0].Function.Arguments
	case len(d.ToolCalls) > 0:
		return
	case textOf(d.Content) != "":
		key, t.slot = `"content":`, &d.Content
	case textOf(d.ReasoningContent) != "":
		key, t.slot = `"reasoning_content":`, &d.ReasoningContent
	default:
		return
	}
	// In a string its quotes would be escaped, so what is found is the member.
	before, after, found := bytes.Cut(data, []byte(key))
	literal := *t.slot
	if !found || len(literal) == 0 || literal[0] != '"' || !bytes.HasPrefix(after, literal) || bytes.Contains(after, []byte(key)) {
		t.slot = nil
		return
	}
	t.head = append(append(t.head[:0], before...), key...)
	t.tail = append(t.tail[:0], after[len(literal):]...)
}

// fit returns the choice in data if data is the template with another text. The
// choice is good until data changes.
func (t *template) fit(data []byte) (*choice, bool) {
	if t.slot == nil {
		return nil, false
	}
	rest, ok := bytes.CutPrefix(data, t.head)
	if !ok {
		return nil, false
	}
	literal, ok := bytes.CutSuffix(rest, t.tail)
	if !ok || len(literal) == 0 || literal[0] != '"' || !json.Valid(literal) {
		return nil, false
	}
	*t.slot = literal
	return &t.chunk.Choices[0], true
}
