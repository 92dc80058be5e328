package subagent

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/tool"
)

// benchBed is a session without limits whose model keeps nothing.
func benchBed(b testing.TB, r reply) *bed {
	bed := newBed(b, b.TempDir(), r, func(o *Options) { o.Limits.Running, o.Limits.Total = 1<<30, 1<<30 })
	bed.model.forgets = true
	return bed
}

// BenchmarkSpawn starts agents one after the other, without and with a conversation that
// they go on from. One operation is all of an agent that answers at once; µs/request is the
// median time from the call to its first request. Neither they nor the memory grow with the
// conversation.
func BenchmarkSpawn(b *testing.B) {
	b.Run("plain", func(b *testing.B) { benchmarkSpawn(b, "plain", 0) })
	for _, kB := range []int{1, 100, 1000, 4000} {
		b.Run(fmt.Sprintf("fork/%dkB", kB), func(b *testing.B) { benchmarkSpawn(b, "fork", kB*1000) })
	}
}

func benchmarkSpawn(b *testing.B, name string, history int) {
	bed := benchBed(b, func(context.Context, int, *model.Request) (model.Response, error) { return says("done"), nil })
	bed.window = 10_000_000
	for i := 0; i < history; i += 1000 {
		m := message.FromUser(strings.Repeat("x", 950))
		if i%2000 == 1000 {
			m.Role = message.Assistant
		}
		bed.main.History.Append(m, agent.Human)
	}
	asked := make(chan time.Time, 1)
	bed.model.begin = func(*model.Request) { asked <- time.Now() }
	var took []time.Duration
	bed.call(1, func(ctx context.Context, c tool.Call) {
		b.ReportAllocs()
		for b.Loop() {
			begin := time.Now()
			t, err := bed.Spawn(ctx, c, Request{Agent: name, Prompt: "work", Background: true})
			if err != nil {
				b.Fatal(err)
			}
			took = append(took, (<-asked).Sub(begin))
			<-t.Done()
			bed.inbox.TakeAll()
		}
	})
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1000, "µs/request")
}

// BenchmarkWaiting lets agents wait for the answer to their first request, and reports what
// each of them holds: of the heap, and of stacks.
func BenchmarkWaiting(b *testing.B) {
	const agents = 1000
	for b.Loop() {
		answer, asked := make(chan struct{}), make(chan struct{})
		bed := benchBed(b, func(context.Context, int, *model.Request) (model.Response, error) {
			asked <- struct{}{}
			<-answer
			return says("done"), nil
		})
		bed.call(1, func(ctx context.Context, c tool.Call) {
			before := held()
			for range agents {
				if _, err := bed.Spawn(ctx, c, Request{Agent: "plain", Prompt: "work", Background: true}); err != nil {
					b.Fatal(err)
				}
			}
			for range agents {
				<-asked
			}
			after := held()
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/agents, "heap-B/agent")
			b.ReportMetric(float64(after.StackInuse-before.StackInuse)/agents, "stack-B/agent")
			close(answer)
		})
	}
}

// held is the memory that is in use.
func held() runtime.MemStats {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one has found to be finalised
	runtime.ReadMemStats(&m)
	return m
}
