package transcript

import (
	"slices"

	"heddle/internal/message"
)

// What stands in a history where something is missing.
const (
	interruptedText = "interrupted: the program ended before this call returned. " +
		"What it did until then may have taken effect; check before you repeat it."
	lostText = "(The beginning of this conversation was lost.)"
)

// History returns the conversation that goes on after records, as a model API
// accepts it: it begins with a user, and every tool call has exactly one
// result, right after the call and in the order of the calls.
//
// What a crash left open at the end is decided here once: append repairs
// before anything else, and the next resume finds the decision in the file.
// What is missing in the middle, because a line of the file is damaged, is
// bridged in the same way each time.
func History(records []Record) (messages []Message, repairs []Record) {
	said, repairs := live(once(records))
	h := history{items: said, called: map[string]bool{}}
	for h.next < len(h.items) {
		h.take()
	}
	if h.tail != nil {
		repairs = append(repairs, *h.tail)
	}
	return h.out, repairs
}

// once leaves out records that stand there before, under the same id: whoever copies a
// line by accident must not break the session.
func once(records []Record) []Record {
	seen := make(map[string]bool, len(records))
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool {
		id := r.Stamp().ID
		twice := id != "" && seen[id]
		seen[id] = true
		return twice
	})
}

// live returns the messages, results and rewinds that count: those after the
// last compaction that took effect.
func live(records []Record) (said, repairs []Record) {
	var open boundary
	for _, r := range records {
		switch r := r.(type) {
		case Message:
			said = append(said, r)
			if open.message() {
				said = said[open.at:]
			}
		case Result, Rewind:
			said = append(said, r)
		case Compaction:
			open.begin(r, len(said))
		case Restored:
			if open.restore(r) {
				said = said[:open.at]
			}
		}
	}
	if open.pending() {
		said = said[:open.at]
		repairs = append(repairs, Restored{Boundary: open.id})
	}
	return said, repairs
}

// history puts messages in order, from left to right. What it makes of a
// record depends on nothing after the next assistant message, so that a
// history only ever grows at its end.
type history struct {
	items []Record // of type Message, Result or Rewind
	next  int
	out   []Message
	tail  *Message // the results that are missing at the very end

	called map[string]bool // ids of the calls so far
}

// take takes the next item, and with a message that calls tools the results.
func (h *history) take() {
	item := h.items[h.next]
	h.next++
	switch r := item.(type) {
	case Result:
		// Of a call that is not there.
	case Rewind:
		h.out = h.out[:min(max(r.Keep, 0), len(h.out))]
		h.answer()
	case Message:
		if r.Message.Role == message.User {
			h.add(withContent(r, withoutResults(r.Message.Content)))
			return
		}
		if len(h.out) == 0 && len(r.Message.Content) > 0 {
			h.add(Message{Message: message.FromUser(lostText), Origin: "system"})
		}
		h.add(withContent(r, h.uniqueCalls(r.Message.Content)))
		h.answer()
	}
}

// add appends m, unless it is empty, which no API accepts.
func (h *history) add(m Message) {
	if len(m.Message.Content) > 0 {
		h.out = append(h.out, m)
	}
}

// answer, if the last message calls tools, takes everything up to the next
// assistant message and makes it begin with the results.
func (h *history) answer() {
	if len(h.out) == 0 {
		return
	}
	calls := h.out[len(h.out)-1].Message.ToolUses()
	if len(calls) == 0 {
		return
	}
	turn, recorded := h.takeTurn()
	given := map[string]message.ToolResult{}
	for _, m := range turn {
		for _, r := range results(m) {
			if _, twice := given[r.ToolUseID]; !twice {
				given[r.ToolUseID] = r
			}
		}
	}
	var all, missing []message.Block
	for _, c := range calls {
		r, ok := given[c.ID]
		if !ok {
			if r, ok = recorded[c.ID]; !ok {
				r = interrupted(c)
			}
			missing = append(missing, r)
		}
		all = append(all, r)
	}
	if len(missing) > 0 && h.next == len(h.items) {
		h.tail = &Message{Message: message.Message{Role: message.User, Content: missing}, Origin: "tools"}
	}
	if len(turn) == 0 {
		turn = []Message{{Message: message.Message{Role: message.User}, Origin: "tools"}}
	}
	for i, m := range turn {
		content := withoutResults(m.Message.Content)
		if i == 0 {
			content = append(all, content...)
		}
		h.add(withContent(m, content))
	}
}

// takeTurn takes the user messages before the next assistant message, and the
// results that were recorded one by one.
func (h *history) takeTurn() (turn []Message, recorded map[string]message.ToolResult) {
	recorded = map[string]message.ToolResult{}
	for ; h.next < len(h.items); h.next++ {
		switch r := h.items[h.next].(type) {
		case Rewind:
			return turn, recorded
		case Result:
			recorded[r.Result.ToolUseID] = r.Result
		case Message:
			if r.Message.Role == message.Assistant && len(r.Message.Content) > 0 {
				return turn, recorded
			}
			if r.Message.Role == message.User {
				turn = append(turn, r)
			}
		}
	}
	return turn, recorded
}

func interrupted(c message.ToolUse) message.ToolResult {
	return message.ToolResult{
		ToolUseID: c.ID,
		Content:   []message.Block{message.Text{Text: interruptedText}},
		IsError:   true,
	}
}

func results(m Message) []message.ToolResult {
	var out []message.ToolResult
	for _, b := range m.Message.Content {
		if r, ok := b.(message.ToolResult); ok {
			out = append(out, r)
		}
	}
	return out
}

func withoutResults(blocks []message.Block) []message.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b message.Block) bool {
		_, ok := b.(message.ToolResult)
		return ok
	})
}

// uniqueCalls drops a call whose id is taken by an earlier one: there is no way to
// answer both, and no API takes an id twice.
func (h *history) uniqueCalls(blocks []message.Block) []message.Block {
	return slices.DeleteFunc(slices.Clone(blocks), func(b message.Block) bool {
		c, ok := b.(message.ToolUse)
		twice := ok && h.called[c.ID]
		if ok {
			h.called[c.ID] = true
		}
		return twice
	})
}

func withContent(m Message, blocks []message.Block) Message {
	m.Message.Content = blocks
	return m
}

// Arrived returns what has reached the conversation: the ids of tool calls that have
// their own result, and those that senders gave to messages. A result that was made up
// because the real one is lost does not count.
func Arrived(records []Record) map[string]bool {
	in := map[string]bool{}
	result := func(r message.ToolResult) {
		if len(r.Content) == 1 && r.Content[0] == (message.Text{Text: interruptedText}) {
			return
		}
		in[r.ToolUseID] = true
	}
	for _, r := range records {
		switch r := r.(type) {
		case Result:
			result(r.Result)
		case Message:
			if r.InputID != "" {
				in[r.InputID] = true
			}
			for _, b := range results(r) {
				result(b)
			}
		}
	}
	return in
}
