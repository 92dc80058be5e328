// Package sse speaks HTTP with answers that are streams of server-sent events:
// it posts a request, reads events as they come, and notices when none do.
package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLine is the longest line, and the longest data of one event, in bytes.
const MaxLine = 32 << 20

// ErrTooLong says that a line or an event is longer than [MaxLine].
var ErrTooLong = fmt.Errorf("server-sent event of more than %d MiB", MaxLine>>20)

// Event is one server-sent event.
type Event struct {
	Name []byte // empty if the server gave none
	Data []byte // lines of data, joined by newlines
}

// Reader reads events. Its buffers grow to the longest line and the longest
// event, and are used again.
type Reader struct {
	src io.Reader
	err error // of src, told when all before it is used up
	max int   // [MaxLine]

	buf     []byte
	start   int // of what is not used yet
	scanned int // up to here there is no end of line
	end     int
	begun   bool // the byte order mark has been looked for
	skipLF  bool // the last line ended with CR, and an LF may belong to it

	name []byte
	data []byte
}

// NewReader returns a reader of the events in src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src, max: MaxLine} }

// Next returns the next event that has data. Its slices are valid until the
// next call. At the end of the stream it returns [io.EOF], or
// [io.ErrUnexpectedEOF] when the stream ends within an event.
func (r *Reader) Next() (Event, error) {
	r.name, r.data = r.name[:0], r.data[:0]
	empty, partial := true, false
	for {
		line, err := r.line()
		if err != nil {
			if errors.Is(err, io.EOF) && (partial || r.end > r.start) {
				err = io.ErrUnexpectedEOF
			}
			return Event{}, err
		}
		if len(line) == 0 {
			if !empty {
				return Event{r.name, r.data}, nil
			}
			r.name, partial = r.name[:0], false
			continue
		}
		field, value := split(line)
		switch string(field) {
		case "data":
			if !empty {
				r.data = append(r.data, '\n')
			}
			if len(r.data)+len(value) > r.max {
				return Event{}, ErrTooLong
			}
			r.data = append(r.data, value...)
			empty, partial = false, true
		case "event":
			r.name = append(r.name[:0], value...)
			partial = true
		}
	}
}

// split takes a line apart at its first colon. One space after it does not count.
// A comment begins with the colon, and so has no field.
func split(line []byte) (field, value []byte) {
	field, value, _ = bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return field, value
}

// line returns the next line without its end: LF, CR LF or CR. A last line
// without an end is not one.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.start < r.end {
			r.skipLF = false
			if r.buf[r.start] == '\n' {
				r.start++
				r.scanned = max(r.scanned, r.start)
			}
		}
		if line, ok := r.cut(); ok {
			return line, nil
		}
		if r.err != nil {
			return nil, r.err
		}
		if err := r.fill(); err != nil {
			return nil, err
		}
	}
}

// cut takes a complete line from the buffer.
func (r *Reader) cut() ([]byte, bool) {
	if !r.begun {
		if r.end-r.start < 3 && r.err == nil {
			return nil, false
		}
		r.begun = true
		if bytes.HasPrefix(r.buf[r.start:r.end], []byte("\xef\xbb\xbf")) {
			r.start += 3
			r.scanned = r.start
		}
	}
	fresh := r.buf[r.scanned:r.end]
	n := bytes.IndexByte(fresh, '\n')
	if n >= 0 {
		fresh = fresh[:n]
	}
	if cr := bytes.IndexByte(fresh, '\r'); cr >= 0 {
		n, r.skipLF = cr, true
	}
	if n < 0 {
		r.scanned = r.end
		return nil, false
	}
	line := r.buf[r.start : r.scanned+n]
	r.start = r.scanned + n + 1
	r.scanned = r.start
	return line, true
}

// fill reads more into the buffer, which it makes larger only for a line that
// does not fit.
func (r *Reader) fill() error {
	const first = 8 << 10
	switch {
	case r.start > 0:
		copy(r.buf, r.buf[r.start:r.end])
		r.end -= r.start
		r.scanned -= r.start
		r.start = 0
	case r.end == len(r.buf):
		longest := r.max + len("data: \r\n")
		if r.end >= longest {
			return ErrTooLong
		}
		size := min(max(2*len(r.buf), first), longest)
		r.buf = append(make([]byte, 0, size), r.buf[:r.end]...)[:size]
	}
	// A reader may return nothing without an error, but not for ever.
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return nil
		}
	}
	return io.ErrNoProgress
}
