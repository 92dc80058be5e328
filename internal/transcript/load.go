package transcript

import (
	"encoding/json"
	"fmt"
	"io"
)

// loaded is what a file holds.
type loaded struct {
	records []Record
	end     int64 // of the last valid line
	newline bool  // that line has its end
	sum     Sum
}

// entry is a record, or the line of a message or a result that is decoded
// only if it turns out to be live.
type entry struct {
	record Record
	line   line   // without its text
	kind   string // of the record on the line
}

// source is a file that can be read from the start and at any place.
type source interface {
	io.Reader
	io.ReaderAt
}

// load reads f once, and the live messages a second time, so that a long
// session needs no more memory than the part of it that is still sent.
func load(f source) (loaded, error) {
	t := loaded{newline: true}
	var entries []entry
	var open boundary
	for lines := newLines(f); ; {
		l, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return t, err
		}
		if l.blank() {
			continue
		}
		// Whether a compaction took effect must not depend on a message that
		// cannot be decoded.
		e := l.entry(!open.pending())
		entries = append(entries, e)
		if _, damaged := e.record.(Damaged); damaged {
			continue
		}
		t.end, t.newline = l.offset+l.size, l.newline
		switch r := e.record.(type) {
		case Compaction:
			open.begin(r, len(entries))
		case Restored:
			open.restore(r)
		}
		if e.message() && open.message() {
			entries = dropMessages(entries, open.at)
		}
	}
	if err := t.decode(f, entries); err != nil {
		return t, err
	}
	for _, r := range t.records {
		t.sum = t.sum.with(r)
	}
	return t, nil
}

// entry decodes l. If lazy, it only makes sure of a message or a result that
// it is JSON.
func (l line) entry(lazy bool) entry {
	kind, err := typeOf(l.text)
	if lazy && err == nil && (kind == "message" || kind == "result") && json.Valid(l.text) {
		l.text = nil
		return entry{line: l, kind: kind}
	}
	return entry{record: l.record()}
}

func (e entry) message() bool {
	_, ok := e.record.(Message)
	return ok || e.kind == "message"
}

// dropMessages removes what a compaction replaced: messages and results among
// the first n entries.
func dropMessages(entries []entry, n int) []entry {
	kept := entries[:0]
	for i, e := range entries {
		if i >= n || !e.conversation() {
			kept = append(kept, e)
		}
	}
	clear(entries[len(kept):])
	return kept
}

func (e entry) conversation() bool {
	switch e.record.(type) {
	case nil, Message, Result, Rewind:
		return true
	}
	return false
}

// decode fills in the records from entries.
func (t *loaded) decode(f io.ReaderAt, entries []entry) error {
	t.records = make([]Record, len(entries))
	var buf []byte
	for i, e := range entries {
		if e.record == nil {
			l := e.line
			if int64(cap(buf)) < l.size {
				buf = make([]byte, l.size)
			}
			l.text = buf[:l.size]
			if _, err := f.ReadAt(l.text, l.offset); err != nil {
				return fmt.Errorf("read transcript: %w", err)
			}
			e.record = l.record()
		}
		t.records[i] = e.record
	}
	return nil
}

// with returns what the session comes to after r.
func (s Sum) with(r Record) Sum {
	switch r := r.(type) {
	case Message:
		// What it says counts also for the messages that were dropped.
		return r.Sum
	case Compaction:
		s.Cost += r.Cost
	case Title:
		s.Title = r.Title
	case Name:
		s.Name = r.Name
	}
	return s
}

// boundary follows one compaction until the messages of the new history are
// there. Until then the old history is the one that counts.
type boundary struct {
	id      string
	at      int // the place of what follows it
	missing int // messages of the new history
}

func (b *boundary) pending() bool { return b.missing > 0 }

func (b *boundary) begin(c Compaction, at int) {
	*b = boundary{id: c.ID, at: at, missing: max(1, c.Messages)}
}

// message counts a message. It reports whether the boundary takes effect with it.
func (b *boundary) message() bool {
	if b.missing == 0 {
		return false
	}
	b.missing--
	return b.missing == 0
}

// restore reports whether r revokes the pending boundary.
func (b *boundary) restore(r Restored) bool {
	if !b.pending() || r.Boundary != b.id {
		return false
	}
	b.missing = 0
	return true
}
