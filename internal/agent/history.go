package agent

import (
	"fmt"
	"slices"

	"heddle/internal/message"
	"heddle/internal/model"
)

// History is the conversation as it was sent and received. It only grows, except
// that a suffix may be dropped and that compaction begins a new one. Each
// message is encoded once, for the provider in use, when it is appended;
// requests share those bytes.
type History struct {
	prompt  model.Prompt
	encoder Model  // nil until the first request
	prefix  []byte // of prompt, for encoder
	entries []entry
	wire    [][]byte // of entries, for encoder
	sent    int      // messages in the newest request
	marks   []int    // messages after which a cache breakpoint stands

	calls map[string]bool // ids of all tool calls
}

type entry struct {
	message message.Message
	origin  Origin
	size    int // bytes of wire, for estimates
	blocks  int // blocks in all messages up to and with this one
}

// NewHistory returns an empty history that begins with prompt.
func NewHistory(prompt model.Prompt) *History { return &History{prompt: prompt} }

// Len is the number of messages.
func (h *History) Len() int { return len(h.entries) }

// Message returns message i and where it came from.
func (h *History) Message(i int) (message.Message, Origin) {
	return h.entries[i].message, h.entries[i].origin
}

// Prompt returns what the history begins with.
func (h *History) Prompt() model.Prompt { return h.prompt }

// SetPrompt replaces what the history begins with. Once a request was made, that costs
// what the provider remembers of it.
func (h *History) SetPrompt(p model.Prompt) {
	h.prompt = p
	h.encoder = nil
}

// Append adds m. An empty message is the caller's mistake: no API takes one.
func (h *History) Append(m message.Message, o Origin) {
	if len(m.Content) == 0 {
		panic("agent: an empty message")
	}
	e := entry{message: m, origin: o, blocks: len(m.Content)}
	if n := len(h.entries); n > 0 {
		e.blocks += h.entries[n-1].blocks
	}
	if h.encoder != nil {
		w := h.encoder.EncodeMessage(m.Sendable())
		e.size = len(w)
		h.wire = append(h.wire, w)
	}
	h.entries = append(h.entries, e)
	for _, u := range m.ToolUses() {
		if h.calls == nil {
			h.calls = map[string]bool{}
		}
		h.calls[u.ID] = true
	}
}

// withOwnIDs returns m with other ids for those tool calls whose id was used before.
// Some servers count from zero in each answer, and others refuse such a history.
func (h *History) withOwnIDs(m message.Message) message.Message {
	content, taken := m.Content, map[string]bool{}
	for i, b := range m.Content {
		u, ok := b.(message.ToolUse)
		if !ok {
			continue
		}
		id := u.ID
		for n := 2; id == "" || h.calls[id] || taken[id]; n++ {
			id = fmt.Sprintf("%s_%d", u.ID, n)
		}
		taken[id] = true
		if id == u.ID {
			continue
		}
		if &content[0] == &m.Content[0] {
			content = slices.Clone(content)
		}
		u.ID = id
		content[i] = u
	}
	m.Content = content
	return m
}

// Truncate drops all but the first n messages.
func (h *History) Truncate(n int) {
	h.entries = slices.Clip(h.entries[:n])
	if h.encoder != nil {
		h.wire = slices.Clip(h.wire[:n])
	}
	h.sent = min(h.sent, n)
	h.marks = slices.DeleteFunc(h.marks, func(i int) bool { return i >= n })
}

// reset begins anew with no messages.
func (h *History) reset() {
	h.entries, h.wire, h.sent, h.marks = nil, nil, 0, nil
}

// use makes m the provider that messages are encoded for.
func (h *History) use(m Model) {
	if h.encoder == m {
		return
	}
	h.encoder = m
	h.prefix = m.EncodePrefix(h.prompt)
	h.wire = make([][]byte, len(h.entries))
	for i := range h.entries {
		h.wire[i] = m.EncodeMessage(h.entries[i].message.Sendable())
		h.entries[i].size = len(h.wire[i])
	}
	h.sent, h.marks = 0, nil
}

// DropThinking removes reasoning from all messages. A model of another family
// cannot read it, and some of it may not stay behind: all goes, or none.
func (h *History) DropThinking() {
	for i, e := range h.entries {
		kept := slices.DeleteFunc(slices.Clone(e.message.Content), func(b message.Block) bool {
			switch b.(type) {
			case message.Thinking, message.RedactedThinking:
				return true
			}
			return false
		})
		if len(kept) == len(e.message.Content) {
			continue
		}
		if len(kept) == 0 {
			kept = []message.Block{message.Text{Text: "(reasoning left out)"}}
		}
		h.entries[i].message.Content = kept
	}
	h.encoder = nil
}

// request returns the bytes of the next request and notes that they are sent.
func (h *History) request() (prefix []byte, messages [][]byte, marks []int) {
	marks = h.mark()
	h.sent = len(h.wire)
	return h.prefix, slices.Clip(h.wire), marks
}

// lookBack is how many blocks before a breakpoint a provider searches for an
// earlier one, less room for its own count. Source: Anthropic's documentation of
// prompt caching (20 positions).
const lookBack = 18

// mark places a cache breakpoint where the last request ended, if more came since
// than a provider looks back over. The newest two stay, so that the bytes of a
// request change no more than they must.
func (h *History) mark() []int {
	last := h.sent - 1
	if last >= 0 && h.entries[len(h.entries)-1].blocks-h.entries[last].blocks >= lookBack {
		h.marks = append(h.marks, last)
		if len(h.marks) > 2 {
			h.marks = h.marks[1:]
		}
	}
	return slices.Clone(h.marks)
}

// size is the number of bytes from message i on.
func (h *History) size(i int) int {
	n := 0
	for _, e := range h.entries[i:] {
		n += e.size
	}
	return n
}
