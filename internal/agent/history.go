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
	encoder Model    // nil until the first request
	prefix  []byte   // of prompt, for encoder
	shared           // what it begins with and others have, too
	entries []entry  // the rest
	wire    [][]byte // of entries, for encoder
	sent    int      // messages in the newest request
	marks   []int    // messages after which a cache breakpoint stands

	calls map[string]bool // ids of the tool calls in entries
}

// shared is the beginning of a history that was forked: see [History.Fork]. Nobody changes
// it.
type shared struct {
	first     []entry
	firstWire [][]byte // of first, for encoder
}

type entry struct {
	message message.Message
	origin  Origin
	size    int // bytes of wire, for estimates
	blocks  int // blocks in all messages up to and with this one
}

// NewHistory returns an empty history that begins with prompt.
func NewHistory(prompt model.Prompt) *History { return &History{prompt: prompt} }

// Fork returns a history that goes on from the first n messages of this one. Both share
// what they have in common, down to the bytes of requests; what becomes of one does not
// concern the other. It takes the same time whatever n is.
func (h *History) Fork(n int) *History {
	f := &History{prompt: h.prompt, encoder: h.encoder, prefix: h.prefix}
	if len(h.first) > 0 {
		h.own() // one beginning is enough
	}
	f.first = h.entries[:n:n]
	if h.encoder != nil {
		f.firstWire = h.wire[:n:n]
	}
	f.sent = min(h.sent, n)
	f.marks = slices.DeleteFunc(slices.Clone(h.marks), func(i int) bool { return i >= n })
	return f
}

// own makes the history one that shares nothing it could change.
func (h *History) own() {
	if h.encoder != nil {
		h.wire = slices.Concat(h.firstWire, h.wire)
	}
	h.entries = slices.Concat(h.first, h.entries)
	for _, e := range h.first {
		h.note(e.message)
	}
	h.shared = shared{}
}

// Len is the number of messages.
func (h *History) Len() int { return len(h.first) + len(h.entries) }

// at returns entry i, which nobody may change.
func (h *History) at(i int) *entry {
	if i < len(h.first) {
		return &h.first[i]
	}
	return &h.entries[i-len(h.first)]
}

// upTo returns the bytes of the first n messages, with room for nothing more.
func (h *History) upTo(n int) [][]byte {
	if len(h.first) == 0 {
		return h.wire[:n:n]
	}
	if n <= len(h.first) {
		return h.firstWire[:n:n]
	}
	return slices.Concat(h.firstWire, h.wire[:n-len(h.first)])
}

// Message returns message i and where it came from.
func (h *History) Message(i int) (message.Message, Origin) {
	e := h.at(i)
	return e.message, e.origin
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
	if n := h.Len(); n > 0 {
		e.blocks += h.at(n - 1).blocks
	}
	if h.encoder != nil {
		w := h.encoder.EncodeMessage(m.Sendable())
		e.size = len(w)
		h.wire = append(h.wire, w)
	}
	h.entries = append(h.entries, e)
	h.note(m)
}

// note remembers the ids of the calls in a message.
func (h *History) note(m message.Message) {
	for _, u := range m.ToolUses() {
		if h.calls == nil {
			h.calls = map[string]bool{}
		}
		h.calls[u.ID] = true
	}
}

// used reports whether a call had that id.
func (h *History) used(id string) bool {
	return h.calls[id] || slices.ContainsFunc(h.first, func(e entry) bool {
		return slices.ContainsFunc(e.message.Content, func(b message.Block) bool {
			u, ok := b.(message.ToolUse)
			return ok && u.ID == id
		})
	})
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
		for n := 2; id == "" || h.used(id) || taken[id]; n++ {
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
	if n < len(h.first) {
		h.own()
	}
	n -= len(h.first)
	h.entries = slices.Clip(h.entries[:n])
	if h.encoder != nil {
		h.wire = slices.Clip(h.wire[:n])
	}
	n += len(h.first)
	h.sent = min(h.sent, n)
	h.marks = slices.DeleteFunc(h.marks, func(i int) bool { return i >= n })
}

// reset begins anew with no messages.
func (h *History) reset() {
	h.shared, h.entries, h.wire, h.sent, h.marks = shared{}, nil, nil, 0, nil
}

// use makes m the provider that messages are encoded for.
func (h *History) use(m Model) {
	if h.encoder == m {
		return
	}
	h.encoder = nil // what there is of wire is for another
	h.own()
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
	h.own()
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
	h.sent = h.Len()
	return h.prefix, h.upTo(h.sent), marks
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
	if last >= 0 && h.at(h.Len()-1).blocks-h.at(last).blocks >= lookBack {
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
	for ; i < h.Len(); i++ {
		n += h.at(i).size
	}
	return n
}
