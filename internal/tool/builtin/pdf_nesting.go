package builtin

import (
	"bytes"
	"compress/zlib"
	"context"
	"io"
)

const (
	nestingLimit = 20_000    // brackets open at once
	inflateLimit = 128 << 20 // bytes of all compressed parts together
)

// checkNesting refuses a PDF file whose brackets are nested so deeply that a
// recursive parser would use up its stack, which in Go ends the process and
// cannot be caught. It looks at the bytes of the file and of each compressed
// part, where a few thousand bytes may hold millions of brackets. Pictures are
// counted, too; their brackets are random and nearly cancel out. inflated is how
// many bytes the compressed parts may hold together.
func checkNesting(ctx context.Context, f io.ReaderAt, size, inflated int64) error {
	data := make([]byte, size)
	if n, err := f.ReadAt(data, 0); n < len(data) {
		return err
	}
	var raw nesting
	if err := raw.add(data); err != nil {
		return err
	}
	for rest := data; ; {
		i := bytes.Index(rest, []byte("stream"))
		if i < 0 {
			return nil
		}
		rest = rest[i+len("stream"):]
		zr, err := zlib.NewReader(bytes.NewReader(bytes.TrimLeft(rest, "\r\n ")))
		if err != nil {
			continue // not a compressed part
		}
		if err := inflate(ctx, zr, &inflated); err != nil {
			return err
		}
	}
}

// inflate follows the nesting in one compressed part.
func inflate(ctx context.Context, r io.Reader, left *int64) error {
	var n nesting
	buf := make([]byte, 64<<10)
	for {
		got, err := r.Read(buf)
		if *left -= int64(got); *left < 0 {
			return refuse("its compressed parts hold too much. Use a command such as pdftotext.")
		}
		if err := n.add(buf[:got]); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return nil // the end, or damage that the library will report
		}
	}
}

// nesting counts the brackets that are open.
type nesting int

func (n *nesting) add(data []byte) error {
	for _, c := range data {
		switch c {
		case '[', '<':
			if *n++; *n > nestingLimit {
				return errPDFDeep
			}
		case ']', '>':
			*n = max(*n-1, 0)
		}
	}
	return nil
}
