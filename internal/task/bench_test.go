package task

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"
)

// BenchmarkWait is how long after an end those who wait for it know: from the moment on
// record to the return of Wait, and from the return of the runner, which includes putting
// the end on record, to both of the ways in which an end is told.
func BenchmarkWait(b *testing.B) {
	rec := &bell{rung: make(chan time.Time, 1)}
	rt := benchRuntime(b, Options{Notifier: rec, Grace: time.Millisecond})
	var woken, waited, notified []time.Duration
	for b.Loop() {
		release, returned := make(chan struct{}), make(chan time.Time, 1)
		t := benchStart(b, rt, RunnerFunc(func(context.Context, *Task) error {
			<-release
			returned <- time.Now()
			return nil
		}))
		type end struct {
			at   time.Time
			snap []Snapshot
		}
		ends := make(chan end)
		waits := make(chan struct{})
		go func() {
			close(waits)
			snaps, _ := rt.Wait(context.Background(), []ID{t.ID}, Condition{}) // nothing cancels it
			ends <- end{time.Now(), snaps}
		}()
		<-waits
		for !followed(t) { // until Wait sleeps
			runtime.Gosched()
		}
		close(release)
		e, rung, from := <-ends, <-rec.rung, <-returned
		woken = append(woken, e.at.Sub(e.snap[0].EndedAt))
		waited = append(waited, e.at.Sub(from))
		notified = append(notified, rung.Sub(from))
	}
	b.ReportMetric(micros(median(woken)), "µs/end-to-Wait")
	b.ReportMetric(micros(median(waited)), "µs/return-to-Wait")
	b.ReportMetric(micros(median(notified)), "µs/return-to-Notify")
}

// BenchmarkEnds starts tasks that end beside each other and are forgotten, and tells what
// of them is left: in memory and in goroutines. The first round fills maps and pools that
// are used again; what a later round adds is what a task leaves behind.
func BenchmarkEnds(b *testing.B) {
	const tasks, beside = 10_000, 1000
	rt := benchRuntime(b, Options{Grace: 10 * time.Millisecond})
	before := use()
	var first, last usage
	for b.Loop() {
		for range tasks / beside {
			release := make(chan struct{})
			all := make([]*Task, beside)
			for i := range all {
				all[i] = benchStart(b, rt, RunnerFunc(func(context.Context, *Task) error { <-release; return nil }))
			}
			close(release)
			for _, t := range all {
				<-t.Done()
			}
		}
		for list := range rt.Watch(b.Context()) {
			if len(list) == 0 {
				break
			}
		}
		last = use()
		if first.heap == 0 {
			first = last
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*tasks), "µs/task")
	b.ReportMetric(float64(first.heap-before.heap)/1024, "KiB-first-10000")
	if b.N > 1 { // -benchtime 4x
		b.ReportMetric(float64(last.heap-first.heap)/1024/float64(b.N-1), "KiB-each-next-10000")
	}
	b.ReportMetric(float64(last.goroutines-before.goroutines), "goroutines-left")
}

type usage struct{ heap, goroutines int }

// use is what is in use once garbage is gone.
func use() usage {
	runtime.GC()
	runtime.GC() // what the first one finalizes
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{int(m.HeapAlloc + m.StackInuse), runtime.NumGoroutine()}
}

// bell is a [Notifier] that tells when it was called.
type bell struct{ rung chan time.Time }

func (b *bell) Notify(Notification)  { b.rung <- time.Now() }
func (b *bell) Withdraw(string) bool { return false }

// followed reports whether somebody waits for the end of t.
func followed(t *Task) bool {
	t.rt.mu.Lock()
	defer t.rt.mu.Unlock()
	return len(t.waiting) > 0
}

func benchRuntime(b *testing.B, o Options) *Runtime {
	b.Helper()
	o.Dir = b.TempDir()
	rt, err := NewRuntime(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			b.Error(err)
		}
	})
	return rt
}

// benchStart starts a task that nobody waits for.
func benchStart(b *testing.B, rt *Runtime, run Runner) *Task {
	b.Helper()
	t, err := rt.Start(Spec{Kind: LocalBash, Background: true}, run)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }
