package fakeapi

import (
	"crypto/sha256"
	"time"
)

// cache simulates a provider's cache of prefixes. Rules and figures are those of
// Anthropic's documentation: a write happens only at a breakpoint, a read looks back
// from each breakpoint over 20 positions, and an entry lives for five minutes or an
// hour from its last use. Prefixes that a provider finds too short are cached too.
type cache struct {
	entries map[[sha256.Size]byte]time.Time // when the entry ends
}

// position is a place in a prompt where a breakpoint can stand: after the system
// prompt, and after each block.
type position struct {
	hash   [sha256.Size]byte // of all that stands before
	tokens int               // of all that stands before
	mark   time.Duration     // lifetime of the breakpoint here; 0: none
}

// lookBack is how many positions a read looks at, the breakpoint included.
const lookBack = 20

// use reads from and writes to the cache as a request with these positions does.
func (c cache) use(at []position, now time.Time) CacheUse {
	read, last := 0, 0
	for i, p := range at {
		if p.mark == 0 {
			continue
		}
		last = p.tokens
		for j := i; j >= 0 && j > i-lookBack; j-- {
			if end, ok := c.entries[at[j].hash]; ok && now.Before(end) {
				read = max(read, at[j].tokens)
				break
			}
		}
	}
	for _, p := range at {
		if p.mark > 0 {
			c.entries[p.hash] = now.Add(p.mark)
		}
	}
	total := 0
	if len(at) > 0 {
		total = at[len(at)-1].tokens
	}
	return CacheUse{Read: read, Write: max(last-read, 0), Input: total - max(last, read)}
}
