package sse

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// read returns the events of a stream as name=data, and how it ended.
func read(src io.Reader) (events []string, err error) {
	r := NewReader(src)
	for {
		ev, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, string(ev.Name)+"="+string(ev.Data))
	}
}

func TestReader(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
		err      error
	}{
		{"nothing", "", nil, io.EOF},
		{"one", "data: a\n\n", []string{"=a"}, io.EOF},
		{"named", "event: ping\ndata: {}\n\ndata: b\n\n", []string{"ping={}", "=b"}, io.EOF},
		{"CRLF", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []string{"x=a", "=b"}, io.EOF},
		{"CR", "event: x\rdata: a\r\rdata: b\r\r", []string{"x=a", "=b"}, io.EOF},
		{"mixed", "data: a\r\n\ndata: b\r\r\ndata: c\n\r", []string{"=a", "=b", "=c"}, io.EOF},
		{"no space", "data:a\ndata: b\ndata:  c\n\n", []string{"=a\nb\n c"}, io.EOF},
		{"empty data", "data\n\ndata:\n\ndata:\ndata\n\n", []string{"=", "=", "=\n"}, io.EOF},
		{"comments", ": hi\n\n:\ndata: a\n: between\ndata: b\n\n", []string{"=a\nb"}, io.EOF},
		{"BOM", "\xef\xbb\xbfdata: a\n\n", []string{"=a"}, io.EOF},
		{"BOM only at the beginning", "data: a\n\n\xef\xbb\xbfdata: b\n\n", []string{"=a"}, io.EOF},
		{"BOM alone", "\xef\xbb\xbf", nil, io.EOF},
		{"other fields", "id: 1\nretry: 10\nfoo\nevent: x\n\nid: 2\ndata: a\n\n", []string{"=a"}, io.EOF},
		{"blank lines", "\n\n\ndata: a\n\n\n\ndata: b\n\n", []string{"=a", "=b"}, io.EOF},
		{"colon in data", "data: {\"a\":1}: b\n\n", []string{"={\"a\":1}: b"}, io.EOF},
		{"no blank line", "data: a\n\ndata: b\n", []string{"=a"}, io.ErrUnexpectedEOF},
		{"no line end", "data: a\n\ndata: b", []string{"=a"}, io.ErrUnexpectedEOF},
		{"name only", "event: x\n", nil, io.ErrUnexpectedEOF},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, src := range map[string]io.Reader{
				"whole": strings.NewReader(c.in),
				"bytes": iotest.OneByteReader(strings.NewReader(c.in)),
				"last":  iotest.DataErrReader(strings.NewReader(c.in)),
			} {
				got, err := read(src)
				if d := cmp.Diff(c.want, got); d != "" || err != c.err {
					t.Errorf("%s: error %v, want %v; events (-want +got):\n%s", how, err, c.err, d)
				}
			}
		})
	}
}

func TestErrorComesAfterTheEventsBeforeIt(t *testing.T) {
	broken := errors.New("broken")
	got, err := read(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if err != broken || len(got) != 1 {
		t.Errorf("events %q, error %v", got, err)
	}
	if _, err := read(iotest.ErrReader(broken)); err != broken {
		t.Errorf("error %v", err)
	}
}

// A reader that gives nothing and no error does not make us spin.
func TestReaderWithoutProgress(t *testing.T) {
	if _, err := read(idle{}); err != io.ErrNoProgress {
		t.Errorf("error %v, want %v", err, io.ErrNoProgress)
	}
}

type idle struct{}

func (idle) Read([]byte) (int, error) { return 0, nil }

func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", MaxLine)
	got, err := read(strings.NewReader("data: " + long + "\n\ndata: b\n\n"))
	if err != io.EOF || len(got) != 2 || got[0] != "="+long || got[1] != "=b" {
		t.Errorf("%d events, error %v", len(got), err)
	}
	if _, err := read(io.MultiReader(strings.NewReader("data: "), endless(long))); err != ErrTooLong {
		t.Errorf("line without end: error %v, want %v", err, ErrTooLong)
	}
	for name, src := range map[string]io.Reader{
		"line":    io.MultiReader(strings.NewReader("data: "), endless("x")),
		"data":    endless("data: x\n"),
		"comment": io.MultiReader(strings.NewReader(": "), endless("x")),
		"name":    io.MultiReader(strings.NewReader("event: "), endless("x")),
	} {
		r := NewReader(src)
		r.max = 100_000
		if _, err := r.Next(); err != ErrTooLong {
			t.Errorf("%s without end: error %v, want %v", name, err, ErrTooLong)
		}
	}
}

type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e) <= len(p) {
		n += copy(p[n:], e)
	}
	if n == 0 {
		n = copy(p, e) // the rest of it is lost, which does not matter here
	}
	return n, nil
}

// Buffers grow to what is needed and are used again.
func TestMemoryIsLinear(t *testing.T) {
	used := func(size int) uint64 {
		line := []byte("data: " + strings.Repeat("x", size) + "\n\n")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := NewReader(io.MultiReader(bytes.NewReader(line), bytes.NewReader(line), bytes.NewReader(line)))
		for range 3 {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := used(1<<20), used(8<<20)
	if large > 12*small {
		t.Errorf("8 MB take %d bytes, 1 MB takes %d", large, small)
	}
}

func FuzzReader(f *testing.F) {
	for _, s := range []string{"data: a\n\n", "event: x\r\ndata:b\r\rdata\n\n", "\xef\xbb\xbf: c\n\ndata: a\ndata: b\n\n", "data: a"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := read(bytes.NewReader(in))
		pieces, perr := read(iotest.OneByteReader(bytes.NewReader(in)))
		if !slices.Equal(whole, pieces) || err != perr {
			t.Errorf("in one piece %q, %v, byte by byte %q, %v", whole, err, pieces, perr)
		}
		if err != io.EOF && err != io.ErrUnexpectedEOF {
			t.Errorf("error %v", err)
		}
		// A cut stream begins with the same events.
		cut, _ := read(bytes.NewReader(in[:len(in)/2]))
		if len(cut) > len(whole) || !slices.Equal(whole[:len(cut)], cut) {
			t.Errorf("cut: %q, whole: %q", cut, whole)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	const n = 1000
	stream := strings.Repeat("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" word\"}}\n\n", n)
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(strings.NewReader(stream))
		for range n {
			if _, err := r.Next(); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "events/s")
}
