package model

import (
	"bytes"
	"io"
	"net/http"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// whole is what a body must read as.
func whole(b *Body) []byte {
	messages := make([][]byte, len(b.Messages))
	copy(messages, b.Messages)
	for _, s := range b.Splices {
		m := messages[s.Message]
		messages[s.Message] = []byte(string(m[:s.Offset]) + s.Text + string(m[s.Offset:]))
	}
	return append(append(bytes.Join(b.Head[:], nil), bytes.Join(messages, []byte(","))...), b.Tail...)
}

func TestBodyReadsAsOnePiece(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SliceOfN(rapid.Byte(), 0, 20)
		var head [3][]byte
		for i := range head {
			head[i] = piece.Draw(t, "head")
		}
		b := &Body{Head: head, Messages: rapid.SliceOfN(piece, 0, 5).Draw(t, "messages"), Tail: piece.Draw(t, "tail")}
		for i, m := range b.Messages {
			if rapid.Bool().Draw(t, "spliced") {
				b.Splices = append(b.Splices, Splice{i, rapid.IntRange(0, len(m)).Draw(t, "offset"), "<mark>"})
			}
		}
		want := whole(b)
		req, err := http.NewRequest(http.MethodPost, "http://model.test", nil)
		if err != nil {
			t.Fatal(err)
		}
		b.Attach(req)
		if req.ContentLength != int64(len(want)) {
			t.Fatalf("content length %d, want %d", req.ContentLength, len(want))
		}
		again, err := req.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []io.Reader{req.Body, iotest.OneByteReader(again)} {
			if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("read %q, %v, want %q", got, err, want)
			}
		}
	})
}

// What the next request costs is what is new in it: a history of a megabyte is
// read, and not copied.
func BenchmarkNextRequest(b *testing.B) {
	for name, n := range map[string]int{"1MB": 500, "2kB": 1} {
		b.Run(name, func(b *testing.B) {
			body := Body{Head: [3][]byte{make([]byte, 100)}, Tail: make([]byte, 100)}
			for range n {
				body.Messages = append(body.Messages, bytes.Repeat([]byte("x"), 2000))
			}
			buf := make([]byte, 32<<10)
			b.SetBytes(body.Len())
			b.ReportAllocs()
			for b.Loop() {
				r := body.reader()
				for {
					if _, err := r.Read(buf); err == io.EOF {
						break
					}
				}
			}
		})
	}
}
