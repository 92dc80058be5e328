package fakeapi

import (
	"crypto/sha256"
	"time"
)

type digest = [sha256.Size]byte

// cache simulates a provider's cache of prefixes: what is written, by hash, and for
// how long. Prefixes that a provider finds too short are cached too.
//
// A write happens only at a breakpoint. A read looks back from each breakpoint over
// 20 positions. Time counts from the beginning of the request that wrote or read.
type cache map[digest]entry

type entry struct {
	life time.Duration
	end  time.Time
}

// position is a place in a prompt where a breakpoint can stand: after each tool,
// each block of the system prompt and each block of a message.
type position struct {
	hash   digest // of all up to here
	tokens int    // of all up to here
	life   time.Duration
}

// marked reports whether there is a breakpoint.
func (p position) marked() bool { return p.life > 0 }

const (
	shortLife = 5 * time.Minute
	longLife  = time.Hour
	// lookBack is how many positions a read looks at, the breakpoint included.
	lookBack = 20
)

// look says what a request reads and will write. Reading renews.
func (c cache) look(at []position, now time.Time) CacheUse {
	read := -1 // the position up to which it is read
	for i, p := range at {
		if !p.marked() {
			continue
		}
		for j := i; j >= 0 && j > i-lookBack; j-- {
			if e, ok := c[at[j].hash]; ok && now.Before(e.end) {
				read = max(read, j)
				break
			}
		}
	}
	var u CacheUse
	if read >= 0 {
		e := c[at[read].hash]
		c[at[read].hash] = entry{e.life, now.Add(e.life)}
		u.Read = at[read].tokens
	}
	done := u.Read
	for i, p := range at {
		if i <= read || !p.marked() {
			continue
		}
		if p.life == longLife {
			u.Write1h += p.tokens - done
		} else {
			u.Write += p.tokens - done
		}
		done = p.tokens
	}
	if len(at) > 0 {
		u.Input = at[len(at)-1].tokens - done
	}
	return u
}

// store writes what stands before each breakpoint. That can be read from when the
// answer begins, not sooner; began is when the request did.
func (c cache) store(at []position, began time.Time) {
	for _, p := range at {
		if !p.marked() {
			continue
		}
		if old, ok := c[p.hash]; !ok || began.Add(p.life).After(old.end) {
			c[p.hash] = entry{p.life, began.Add(p.life)}
		}
	}
}

// automatic puts a breakpoint at every position: some providers cache that way, and
// find any beginning again.
func automatic(at []position) []position {
	out := make([]position, len(at))
	for i, p := range at {
		p.life = 30 * time.Minute
		out[i] = p
	}
	return out
}
