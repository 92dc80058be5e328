package process

import (
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// BenchmarkExit is the time from the start of /bin/true to the news of its exit, and from
// the killing of a process to the news of that, compared to a bare wait4 on the same.
// The two take turns, because the machine may be busy; the difference of the medians is
// what counts.
func BenchmarkExit(b *testing.B) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	yes := Spec{Path: "/bin/true", Args: []string{"true"}, Stdout: null, Stderr: null}
	sleep := Spec{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Stdout: null, Stderr: null}
	bare := func(s Spec) (int, <-chan struct{}) {
		pidfd := noHandle // shows the collector of orphans that the exit is ours
		pid, _, err := syscall.StartProcess(s.Path, s.Args, &syscall.ProcAttr{
			Env: os.Environ(), Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
			Files: []uintptr{null.Fd(), null.Fd(), null.Fd()},
		})
		if err != nil {
			b.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer release(pidfd)
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
				b.Error(err)
			}
		}()
		return pid, done
	}
	ours := func(s Spec) (int, <-chan struct{}) {
		p, err := start(s, nil)
		if err != nil {
			b.Fatal(err)
		}
		return p.PID(), p.Done()
	}
	ways := []func(Spec) (int, <-chan struct{}){bare, ours}
	b.Run("start", func(b *testing.B) {
		compare(b, func(i int) time.Duration {
			begin := time.Now()
			_, done := ways[i](yes)
			<-done
			return time.Since(begin)
		})
	})
	b.Run("kill", func(b *testing.B) {
		compare(b, func(i int) time.Duration {
			pid, done := ways[i](sleep)
			for p, _ := look(pid); p.name != "sleep"; p, _ = look(pid) {
				runtime.Gosched() // it has yet to exec
			}
			begin := time.Now()
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				b.Fatal(err)
			}
			<-done
			return time.Since(begin)
		})
	})
}

// compare reports the medians of what took returns for the bare way, 0, and for ours, 1.
func compare(b *testing.B, took func(way int) time.Duration) {
	var all [2][]time.Duration
	for b.Loop() {
		for i := range all {
			all[i] = append(all[i], took(i))
		}
	}
	bare, ours := median(all[0]), median(all[1])
	b.ReportMetric(bare.Seconds()*1e3, "ms/wait4")
	b.ReportMetric(ours.Seconds()*1e3, "ms/Done")
	b.ReportMetric((ours-bare).Seconds()*1e3, "ms-more")
}

// BenchmarkWaiting is what a thousand sleeping commands cost this program.
func BenchmarkWaiting(b *testing.B) {
	const n = 1000
	type cost struct{ heap, stack, goroutines, threads, descriptors float64 }
	measure := func() cost {
		runtime.GC()
		runtime.GC() // finishes what the first has found
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		entries := func(dir string) float64 {
			list, err := os.ReadDir(dir)
			if err != nil {
				b.Fatal(err)
			}
			return float64(len(list))
		}
		return cost{
			float64(m.HeapAlloc), float64(m.StackInuse), float64(runtime.NumGoroutine()),
			entries("/proc/self/task"), entries("/proc/self/fd"),
		}
	}
	ps := make([]*Process, 0, n)
	for b.Loop() {
		before := measure()
		for range n {
			p, err := Start(Spec{Path: "/bin/sleep", Args: []string{"sleep", "300"}, Mark: "mark-of-the-benchmark"})
			if err != nil {
				b.Fatal(err)
			}
			ps = append(ps, p)
		}
		after := measure()
		b.ReportMetric((after.heap-before.heap)/n, "heap-B/process")
		b.ReportMetric((after.stack-before.stack)/n, "stack-B/process")
		b.ReportMetric(after.goroutines-before.goroutines, "goroutines/1000")
		b.ReportMetric(after.threads-before.threads, "threads/1000")
		b.ReportMetric((after.descriptors-before.descriptors)/n, "descriptors/process")
		for _, p := range ps {
			if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
				b.Error(err)
			}
		}
		for _, p := range ps {
			<-p.Done()
		}
		clear(ps) // for the next round, which starts without them
		ps = ps[:0]
	}
}
