package anthropic

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/modeltest"
)

// longStream is a stream of n text deltas, as code looks in it.
func longStream(n int) string {
	return strings.Join(wire{}.Stream(modeltest.Answer{ID: "r", Text: strings.Repeat("\tif x { f(1)\n", 1+n*9/13), Stop: message.EndTurn}), "")
}

func stream(b testing.TB, body string) {
	server := &modeltest.Server{Answer: func(int, modeltest.Request) modeltest.Reply { return modeltest.Send(body) }}
	p := New(Options{BaseURL: "http://model.test", HTTPClient: server.Client()})
	last := false
	for ev, err := range p.Stream(b.Context(), modeltest.NewRequest(p)) {
		if err != nil {
			b.Fatal(err)
		}
		_, last = ev.(model.Response)
	}
	if !last {
		b.Fatal("no response")
	}
}

// BenchmarkStream decodes whole answers, from the bytes of the body to the
// response, and reports events per second of processor time.
func BenchmarkStream(b *testing.B) {
	const n = 5000
	body := longStream(n)
	b.ReportAllocs()
	begin := modeltest.CPU(b)
	for b.Loop() {
		stream(b, body)
	}
	b.ReportMetric(float64(b.N*n)/(modeltest.CPU(b)-begin).Seconds(), "events/cpu-s")
}

// What a message costs grows with its length, not with the square of it.
func TestMemoryIsLinearInTheMessage(t *testing.T) {
	used := func(n int) uint64 {
		body := longStream(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		stream(t, body)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	small, large := used(2000), used(16000)
	if large > 12*small {
		t.Errorf("16,000 events take %d bytes, 2,000 take %d", large, small)
	}
}

// What stands before the messages is the same in all requests of all agents of a kind, and
// is there once.
func TestPrefixIsNotCopied(t *testing.T) {
	r := modeltest.NewRequest(New(Options{}))
	if head := body(r).Head[1]; &head[0] != &r.Prefix[0] {
		t.Error("the body holds a copy of the prefix")
	}
}

// The next request of a long conversation allocates what is new in it.
func BenchmarkNextRequest(b *testing.B) {
	for _, n := range []int{1, 50, 500} {
		b.Run(fmt.Sprintf("%dkB", 2*n), func(b *testing.B) {
			p := New(Options{})
			r := modeltest.NewRequest(p)
			for range n {
				r.Messages = append(r.Messages, p.EncodeMessage(message.FromUser(strings.Repeat("x", 2000))))
			}
			r.Marks = []int{0}
			fresh := message.FromUser("and now this")
			b.ReportAllocs()
			for b.Loop() {
				r.Messages[n] = p.EncodeMessage(fresh)
				if body(r).Len() == 0 {
					b.Fatal("no body")
				}
			}
		})
	}
}
