package search

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
)

// decodeText returns data as plain UTF-8 with plain line breaks, or nil if it is
// not text: text holds no zero byte.
func decodeText(data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, []byte("\xFF\xFE")):
		data = fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\xFE\xFF")):
		data = fromUTF16(data[2:], binary.BigEndian)
	default:
		data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil
	}
	if bytes.Contains(data, []byte("\r\n")) {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	}
	if data == nil {
		data = []byte{}
	}
	return data
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// scanner finds the matches in one file. Positions are offsets in data.
type scanner struct {
	q    Query
	p    *pattern
	data []byte
	file *File

	counted int // up to here,
	number  int // so many line breaks were counted
	shown   int // lines before here have been given, or passed over for good
	after   int // lines of context still to give
}

// lines searches line by line: matches do not hold line breaks.
func (s *scanner) lines() {
	for at := 0; at < len(s.data); {
		start, end, ok := s.next(at)
		if !ok {
			break
		}
		at = end + 1
		s.file.Count++
		if s.q.Mode == Files {
			return
		}
		if s.q.Mode != Lines {
			continue
		}
		if s.q.OnlyMatch {
			s.matches(start, end)
		} else {
			s.give(start, end)
		}
		if s.enough() {
			return
		}
	}
	s.trail(len(s.data))
}

// enough reports that no further line of this file can be wanted.
func (s *scanner) enough() bool { return s.q.Limit > 0 && len(s.file.Lines) > s.q.Limit }

// next returns the first line at or after at that matches. at begins a line.
func (s *scanner) next(at int) (start, end int, ok bool) {
	for at < len(s.data) {
		var hit int
		if s.p.literal != "" {
			hit = bytes.Index(s.data[at:], []byte(s.p.literal))
		} else if loc := s.p.re.FindIndex(s.data[at:]); loc != nil {
			hit = loc[0]
		} else {
			hit = -1
		}
		if hit < 0 || at+hit == len(s.data) && s.data[at+hit-1] == '\n' {
			return 0, 0, false // an empty match after the last line is in no line
		}
		start, end = s.lineAt(at + hit)
		if s.p.literal == "" || s.p.exact || s.p.re.Match(s.data[start:end]) {
			return start, end, true
		}
		at = end + 1
	}
	return 0, 0, false
}

// lineAt returns the line that holds offset at, without its line break.
func (s *scanner) lineAt(at int) (start, end int) {
	start = bytes.LastIndexByte(s.data[:at], '\n') + 1
	end = len(s.data)
	if i := bytes.IndexByte(s.data[at:], '\n'); i >= 0 {
		end = at + i
	}
	return start, end
}

// spanning searches the file as one text.
func (s *scanner) spanning() {
	for _, loc := range s.p.re.FindAllIndex(s.data, -1) {
		if loc[0] == len(s.data) && (loc[0] == 0 || s.data[loc[0]-1] == '\n') {
			break // an empty match after the last line
		}
		s.file.Count++
		switch {
		case s.q.Mode == Files:
			return
		case s.q.Mode != Lines:
			continue
		case s.q.OnlyMatch:
			s.pieces(loc[0], loc[1])
		default:
			s.span(loc[0], loc[1])
		}
		if s.enough() {
			return
		}
	}
	s.trail(len(s.data))
}

// span gives every line that a match touches.
func (s *scanner) span(from, to int) {
	for at := max(from, s.shown); ; {
		start, end := s.lineAt(min(at, len(s.data)))
		if start >= s.shown && start <= len(s.data) && (start < len(s.data) || start == 0) {
			s.give(start, end)
		}
		if at = end + 1; at >= to || at >= len(s.data) {
			return
		}
	}
}

// matches gives the matches in a line instead of the line.
func (s *scanner) matches(start, end int) {
	for _, loc := range s.p.re.FindAllIndex(s.data[start:end], -1) {
		s.pieces(start+loc[0], start+loc[1])
	}
}

// pieces gives a match, line by line.
func (s *scanner) pieces(from, to int) {
	for from < to {
		end := to
		if i := bytes.IndexByte(s.data[from:to], '\n'); i >= 0 {
			end = from + i
		}
		s.put(from, end, false)
		from = end + 1
	}
}

// give puts a matching line into the result with the context around it.
func (s *scanner) give(start, end int) {
	s.trail(start)
	first := start
	for n := 0; n < s.q.Before && first > s.shown; n++ {
		first, _ = s.lineAt(first - 1)
	}
	for first < start {
		_, e := s.lineAt(first)
		s.put(first, e, true)
		first = e + 1
	}
	s.put(start, end, false)
	s.after = s.q.After
}

// trail gives the context after the last match, up to limit.
func (s *scanner) trail(limit int) {
	for s.after > 0 && s.shown < limit {
		_, end := s.lineAt(s.shown)
		s.put(s.shown, end, true)
		s.after--
	}
}

// put appends a line, or a piece of one.
func (s *scanner) put(start, end int, context bool) {
	s.number += bytes.Count(s.data[s.counted:start], []byte("\n"))
	s.counted = start
	gap := len(s.file.Lines) > 0 && start > s.shown && !s.q.OnlyMatch
	s.file.Lines = append(s.file.Lines, Line{
		Number: s.number + 1, Text: clean(string(s.data[start:min(end, start+2*lineWidth)])), Context: context, Gap: gap,
	})
	s.shown = end + 1
}
