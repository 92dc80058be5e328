package model

import (
	"bytes"
	"slices"
	"sync"
)

// prefixes remembers what prompts were serialised to: agents of one kind begin alike, and
// all of them hold the same bytes. It is safe for use by many goroutines.
type prefixes struct {
	mu    sync.Mutex
	known []known // the newest last
}

type known struct {
	prompt Prompt
	bytes  []byte
}

// keptPrefixes is how many are remembered: a session has few kinds of agents.
const keptPrefixes = 16

// of returns the bytes of a prompt, which nobody may change.
func (p *prefixes) of(prompt Prompt, encode func(Prompt) []byte) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.known {
		if k.prompt.equal(prompt) {
			return k.bytes
		}
	}
	k := known{Prompt{slices.Clone(prompt.System), slices.Clone(prompt.Tools)}, slices.Clip(encode(prompt))}
	if p.known = append(p.known, k); len(p.known) > keptPrefixes {
		p.known = slices.Delete(p.known, 0, 1)
	}
	return k.bytes
}

// equal compares two prompts. Their texts are mostly the same bytes of memory, which takes
// no time to see.
func (p Prompt) equal(o Prompt) bool {
	return slices.Equal(p.System, o.System) && slices.EqualFunc(p.Tools, o.Tools, func(a, b Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
	})
}
