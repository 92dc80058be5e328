package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"heddle/internal/message"
	"heddle/internal/model"
)

// call is what a block knows that is a call.
type call struct {
	id     string
	given  string // the id as the server gave it, perhaps none
	number *int   // the index as the server gave it, perhaps none
	name   string
}

// callDelta takes in a piece of a call.
func (d *decoder) callDelta(c *callDelta) {
	b := d.openCall(c)
	if b == nil {
		b = d.open(toolCall)
		b.call = call{given: c.ID, number: c.Index, name: cleanName(c.Function.Name)}
		b.id = d.callID(b)
		d.emit(model.ToolStarted{Index: b.index, ID: b.id, Name: b.name})
	}
	if b.given == "" {
		b.given = c.ID
	}
	if b.name == "" {
		b.name = cleanName(c.Function.Name)
	}
	if s := c.arguments(); s != "" {
		b.text = append(b.text, s...)
		d.received += int64(len(s))
		d.emit(model.InputDelta{Index: b.index, JSON: s})
	}
}

// openCall returns the call that a piece belongs to, or nil if it begins one.
// Not all servers number calls, and some give all of them the same number.
func (d *decoder) openCall(c *callDelta) *block {
	b := d.numbered(c.Index)
	switch {
	case b == nil:
		return nil
	case c.ID != "" && c.ID == b.given:
		return b
	case c.ID != "" && b.given != "":
		return nil
	case c.Function.Name != "" && json.Valid(b.text):
		return nil // the call is whole, and here is another name
	}
	return b
}

// numbered returns the newest call with this index, or the newest one without.
func (d *decoder) numbered(index *int) *block {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		b := d.blocks[i]
		if b.kind == toolCall && (index == nil || b.number != nil && *b.number == *index) {
			return b
		}
	}
	return nil
}

// callID returns the id of a new call: the server's, unless it gave none, or
// one that another call of the conversation has.
func (d *decoder) callID(b *block) string {
	if b.given != "" && !d.taken(b) {
		return b.given
	}
	// The number of messages only grows, so that no two answers of a
	// conversation give the same, whatever the server calls them.
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", d.id, len(d.request.Messages))
	return "call_" + strconv.FormatUint(h.Sum64(), 36) + "_" + strconv.Itoa(b.index)
}

// taken reports whether the id that the server gave b is that of an earlier call.
func (d *decoder) taken(b *block) bool {
	for _, other := range d.blocks {
		if other != b && other.kind == toolCall && other.id == b.given {
			return true
		}
	}
	sent := message.AppendString([]byte(`"tool_call_id":`), b.given)
	for _, m := range d.request.Messages {
		if bytes.Contains(m, sent) {
			return true
		}
	}
	return false
}

// toolUse returns the call as it is when the stream has ended.
func (b *block) toolUse() (message.ToolUse, error) {
	if b.name == "" {
		return message.ToolUse{}, malformed("a tool call has no name")
	}
	input, ok := message.CleanInput(b.text)
	return message.ToolUse{ID: b.id, Name: b.name, Input: input, Malformed: !ok}, nil
}

// cleanName makes a name that a later request may carry. One that a model
// garbled is not that of a tool anyway, but the call stays in the history.
func cleanName(name string) string {
	const longest = 64
	name = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, strings.TrimSpace(name))
	return name[:min(len(name), longest)]
}
