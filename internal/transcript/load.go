package transcript

import (
	"bufio"
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

// entry is a line of the file. A message or a result is decoded only if it
// turns out to be live; the others are small.
type entry struct {
	line   line   // without its text
	kind   string // of a record that is not decoded
	record Record
}

// source is a file that can be read from the start and at any place.
type source interface {
	io.Reader
	io.ReaderAt
}

// load reads f once, and the live messages a second time, so that a long
// session needs no more memory than the part of it that is still sent.
func load(f source) (loaded, error) {
	var entries []entry
	var open boundary
	for lines := newLines(f); ; {
		l, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return loaded{}, err
		}
		if l.blank() {
			continue
		}
		// Whether a compaction took effect must not depend on a message that
		// cannot be decoded.
		e := l.entry(!open.pending())
		entries = append(entries, e)
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
	if err := decodeLive(f, entries); err != nil {
		return loaded{}, err
	}
	return finish(entries), nil
}

// entry decodes l. If lazy, it leaves out messages and results.
func (l line) entry(lazy bool) entry {
	e := entry{line: l}
	e.line.text = nil
	kind, err := typeOf(l.text)
	if lazy && err == nil && (kind == "message" || kind == "result") {
		e.kind = kind
	} else {
		e.record = l.record()
	}
	return e
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

// decodeLive decodes the entries that are not decoded yet.
func decodeLive(f io.ReaderAt, entries []entry) error {
	var r *bufio.Reader
	var pos int64
	var buf []byte
	for i, e := range entries {
		if e.record != nil {
			continue
		}
		l := e.line
		if r == nil {
			pos = l.offset
			r = bufio.NewReaderSize(io.NewSectionReader(f, pos, 1<<62), 64<<10)
		}
		if int64(cap(buf)) < l.size {
			buf = make([]byte, l.size)
		}
		l.text = buf[:l.size]
		_, err := r.Discard(int(l.offset - pos))
		if err == nil {
			_, err = io.ReadFull(r, l.text)
		}
		if err != nil {
			return fmt.Errorf("read transcript: %w", err)
		}
		pos = l.offset + l.size
		entries[i].record = l.record()
	}
	return nil
}

// finish collects the records and finds the end of the last valid line.
func finish(entries []entry) loaded {
	t := loaded{newline: true, records: make([]Record, len(entries))}
	for i, e := range entries {
		t.records[i] = e.record
		if _, damaged := e.record.(Damaged); damaged {
			continue
		}
		t.end, t.newline = e.line.offset+e.line.size, e.line.newline
		t.sum = t.sum.with(e.record)
	}
	return t
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
