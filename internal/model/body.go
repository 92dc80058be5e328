package model

import (
	"io"
	"net/http"
)

// Body is the body of a request. It is put together while it is read, and
// nothing of the history, or of what stands before it, is copied.
type Body struct {
	Head     [3][]byte // one behind the other
	Messages [][]byte  // with a comma between any two
	Tail     []byte
	Splices  []Splice // in rising order, at most one in a message
}

// Splice is text that stands within a message in this request only.
type Splice struct {
	Message int // index
	Offset  int // in the message
	Text    string
}

// Len is the number of bytes.
func (b *Body) Len() int64 {
	n := max(0, len(b.Messages)-1) + len(b.Tail)
	for _, h := range b.Head {
		n += len(h)
	}
	for _, m := range b.Messages {
		n += len(m)
	}
	for _, s := range b.Splices {
		n += len(s.Text)
	}
	return int64(n)
}

// Attach makes b the body of req, such that the transport knows its length and
// can send it again.
func (b *Body) Attach(req *http.Request) {
	req.ContentLength = b.Len()
	req.Body = b.reader()
	req.GetBody = func() (io.ReadCloser, error) { return b.reader(), nil }
}

func (b *Body) reader() *bodyReader {
	return &bodyReader{body: b, splices: b.Splices, pieces: [4][]byte{b.Head[0], b.Head[1], b.Head[2]}}
}

var comma = []byte{','}

type bodyReader struct {
	body    *Body
	pieces  [4][]byte // to be read next, in order
	message int       // the next one
	splices []Splice  // that are still to come
	ended   bool
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		i := 0
		for i < len(r.pieces) && len(r.pieces[i]) == 0 {
			i++
		}
		if i == len(r.pieces) {
			if r.ended {
				break
			}
			r.advance()
			continue
		}
		c := copy(p[n:], r.pieces[i])
		n, r.pieces[i] = n+c, r.pieces[i][c:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// advance lines up the pieces of the next message, or the tail.
func (r *bodyReader) advance() {
	i := r.message
	if i == len(r.body.Messages) {
		r.pieces, r.ended = [4][]byte{r.body.Tail}, true
		return
	}
	m := r.body.Messages[i]
	r.pieces = [4][]byte{nil, m}
	if i > 0 {
		r.pieces[0] = comma
	}
	if len(r.splices) > 0 && r.splices[0].Message == i {
		s := r.splices[0]
		r.pieces[1], r.pieces[2], r.pieces[3] = m[:s.Offset], []byte(s.Text), m[s.Offset:]
		r.splices = r.splices[1:]
	}
	r.message++
}

func (r *bodyReader) Close() error { return nil }
