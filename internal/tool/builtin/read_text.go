package builtin

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
	"unicode/utf8"

	"heddle/internal/tool"
)

const (
	defaultLines = 2000
	lineLimit    = 2000      // characters of one line
	textLimit    = 256 << 10 // bytes of one result
	// editLimit is the size of the largest file that can be changed. Of a larger
	// one only what was asked for is read, and its version is not remembered.
	editLimit = 64 << 20
)

// readText streams a file and keeps the lines that were asked for.
func readText(ctx context.Context, s *tool.Scope, in readInput, r io.Reader, size int64) (tool.Result, error) {
	w := window{first: max(int(in.Offset), 1), limit: int(in.Limit), track: size <= editLimit, sum: sha256.New()}
	if w.limit == 0 {
		w.limit = defaultLines
	}
	err := w.scan(ctx, r)
	if err != nil {
		return tool.Result{}, inaccessible(s, in.path, err)
	}
	if w.ended {
		seen(s, in.path, tool.Version(w.sum.Sum(nil)))
	}
	if w.shown == 0 {
		return tool.Result{}, refuse("%s has only %s; there is no line %d.", show(in.path), plural(w.lines, "line"), w.first)
	}
	return tool.Text(w.text()), nil
}

// window is the part of a text that a call asks for.
type window struct {
	first, limit int
	track        bool // read to the end, for the version and the number of lines

	out   strings.Builder
	sum   hash.Hash // of everything read
	lines int       // seen so far
	shown int       // of them in out
	full  bool      // no more fits
	ended bool      // the end was reached
}

// scan reads lines until the window is filled, and on to the end if the file is
// tracked. It never holds more of a line than is shown.
func (w *window) scan(ctx context.Context, r io.Reader) error {
	br := bufio.NewReaderSize(r, 64<<10)
	var line []byte // the start of the line being read
	length := 0     // of it, in bytes
	for {
		chunk, err := br.ReadSlice('\n')
		w.sum.Write(chunk)
		if room := (lineLimit+1)*utf8.UTFMax - len(line); room > 0 && w.wants(w.lines+1) {
			line = append(line, chunk[:min(room, len(chunk))]...)
		}
		length += len(chunk)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			continue
		case err == io.EOF:
			if length > 0 {
				w.add(line, length)
			}
			w.ended = true
			return nil
		case err != nil:
			return err
		}
		w.add(line, length)
		line, length = line[:0], 0
		if w.filled() && !w.track {
			return nil
		}
		if w.lines%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// wants reports whether line n is shown.
func (w *window) wants(n int) bool { return n >= w.first && !w.filled() }

func (w *window) filled() bool { return w.full || w.shown >= w.limit }

// add ends a line of length bytes that begins with line.
func (w *window) add(line []byte, length int) {
	w.lines++
	if !w.wants(w.lines) {
		return
	}
	if w.lines == 1 {
		line = bytes.TrimPrefix(line, []byte(bom))
	}
	text := strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "\uFFFD")
	if cut, ok := cutLine(text); ok {
		text = fmt.Sprintf("%s… [line cut: it has %d bytes]", cut, length)
	}
	if w.shown > 0 && w.out.Len()+len(text) > textLimit {
		w.full = true
		return
	}
	fmt.Fprintf(&w.out, "%6d\t%s\n", w.lines, text)
	w.shown++
}

// cutLine returns the part of a line that is shown, and whether some is not.
func cutLine(text string) (string, bool) {
	if len(text) <= lineLimit {
		return text, false
	}
	n := 0
	for i := range text {
		if n == lineLimit {
			return text[:i], true
		}
		n++
	}
	return text, false
}

// text is the window with a note on how to go on, if there is more.
func (w *window) text() string {
	last := w.first + w.shown - 1
	switch {
	case w.ended && last == w.lines && w.first == 1:
	case w.ended && last == w.lines:
		fmt.Fprintf(&w.out, "[The end: %s in all.]\n", plural(w.lines, "line"))
	case w.ended:
		fmt.Fprintf(&w.out, "[Lines %d to %d of %d%s. To go on, read with offset %d.]\n", w.first, last, w.lines, w.why(), last+1)
	default:
		fmt.Fprintf(&w.out, "[Lines %d to %d of a very large file%s. To go on, read with offset %d; to find a place in it, use Grep.]\n",
			w.first, last, w.why(), last+1)
	}
	return w.out.String()
}

func (w *window) why() string {
	if w.full {
		return fmt.Sprintf("; one call gives at most %d KB", textLimit>>10)
	}
	return ""
}
