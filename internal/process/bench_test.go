package process

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkStartWait compares a whole `bash -c true`, with the question whether
// anything is left of it, to bare os/exec. The two take turns, because the machine
// may be busy; the medians and their ratio are what counts.
func BenchmarkStartWait(b *testing.B) {
	s := Spec{Path: "/bin/bash", Args: []string{"bash", "-c", "true"}, Mark: "mark-of-the-benchmark"}
	bare := func() {
		if err := exec.Command(s.Path, s.Args[1:]...).Run(); err != nil {
			b.Fatal(err)
		}
	}
	for _, w := range ways() {
		b.Run(w.name, func(b *testing.B) {
			ours := func() {
				p, err := start(s, w.group())
				if err != nil {
					b.Fatal(err)
				}
				if exit, err := p.Wait(b.Context()); err != nil || exit.Code != 0 {
					b.Fatal(exit, err)
				}
				if m := p.Members(); len(m) > 0 {
					b.Fatal(m)
				}
			}
			var took [2][]time.Duration
			for b.Loop() {
				for i, f := range []func(){bare, ours} {
					begin := time.Now()
					f()
					took[i] = append(took[i], time.Since(begin))
				}
			}
			exec, process := median(took[0]), median(took[1])
			b.ReportMetric(exec.Seconds()*1e3, "ms/exec")
			b.ReportMetric(process.Seconds()*1e3, "ms/process")
			b.ReportMetric(float64(process)/float64(exec), "ratio")
		})
	}
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}

// BenchmarkMembers is the question alone: with nothing left, and with one process
// left behind.
func BenchmarkMembers(b *testing.B) {
	for _, w := range ways() {
		for _, left := range []struct{ name, script string }{
			{"none", "echo ready # FOREVER"},
			{"one", "sleep FOREVER >/dev/null 2>&1 & echo ready"},
		} {
			b.Run(w.name+"/"+left.name, func(b *testing.B) {
				c := run(b, w, left.script)
				<-c.Done()
				for b.Loop() {
					c.Members()
				}
			})
		}
	}
}
