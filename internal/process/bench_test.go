package process

import (
	"os/exec"
	"testing"
)

// BenchmarkStartWait compares a whole `bash -c true` through this package, with the
// question whether anything is left, to bare os/exec. Read it as a ratio: commands
// alternate, since the machine may be busy.
func BenchmarkStartWait(b *testing.B) {
	b.Run("exec", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/bash", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, w := range ways() {
		b.Run(w.name, func(b *testing.B) {
			s := Spec{Path: "/bin/bash", Args: []string{"bash", "-c", "true"}, Mark: "mark-of-the-benchmark"}
			for b.Loop() {
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
		})
	}
}

// BenchmarkMembers is the question alone: with nothing left and with one process
// left behind.
func BenchmarkMembers(b *testing.B) {
	for _, w := range ways() {
		for name, script := range map[string]string{
			"none": "echo ready # FOREVER",
			"one":  "sleep FOREVER >/dev/null 2>&1 & echo ready",
		} {
			b.Run(w.name+"/"+name, func(b *testing.B) {
				c := run(b, w, script)
				<-c.Done()
				for b.Loop() {
					c.Members()
				}
			})
		}
	}
}
