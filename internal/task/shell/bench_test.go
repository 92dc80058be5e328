package shell

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/task"
)

var (
	benchSleepers = flag.Int("bench.sleepers", 1000, "how many commands sleep beside each other in BenchmarkSleepers")
	benchBytes    = flag.Int64("bench.bytes", 500e6, "how much a command prints in BenchmarkOutput")
)

// BenchmarkSleepers is what a command in the background costs that does nothing, and
// how long it takes to end them all.
func BenchmarkSleepers(b *testing.B) {
	n := *benchSleepers
	for b.Loop() {
		rt := benchRuntime(b, nil)
		before := use(b)
		begin := time.Now()
		for range n {
			benchStart(b, rt, "sleep 600")
		}
		for list := range rt.Watch(b.Context()) {
			if !slices.ContainsFunc(list, func(s task.Snapshot) bool { return pid(s) == 0 }) {
				break
			}
		}
		started := time.Since(begin)
		after := use(b)
		begin = time.Now()
		_ = rt.Close(context.Background()) // who could not be ended in time is counted
		ended := time.Since(begin)
		late := killLate(rt)
		each := func(f func(usage) int) float64 { return float64(f(after)-f(before)) / float64(n) }
		b.ReportMetric(each(func(u usage) int { return u.heap })/1024, "KiB-heap/task")
		b.ReportMetric(each(func(u usage) int { return u.stack })/1024, "KiB-stack/task")
		b.ReportMetric(each(func(u usage) int { return u.resident })/1024, "KiB-resident/task")
		b.ReportMetric(each(func(u usage) int { return u.goroutines }), "goroutines/task")
		b.ReportMetric(each(func(u usage) int { return u.files }), "files/task")
		b.ReportMetric(float64(before.threads), "threads-before")
		b.ReportMetric(float64(after.threads), "threads-after")
		b.ReportMetric(started.Seconds()*1e3/float64(n), "ms-to-start/task")
		b.ReportMetric(ended.Seconds()*1e3/float64(n), "ms-to-end/task")
		b.ReportMetric(float64(late), "given-up")
	}
}

// killLate kills the commands that the runtime gave up, and returns how many there are.
func killLate(rt *task.Runtime) (late int) {
	for _, s := range rt.List() {
		if s.Reason == task.ReasonLeaked {
			late++
			_ = syscall.Kill(-pid(s), syscall.SIGKILL) // it may be gone meanwhile
		}
	}
	return late
}

// usage is what this program uses, without its children.
type usage struct{ heap, stack, resident, goroutines, threads, files int }

func use(b *testing.B) usage {
	b.Helper()
	for range 5 { // each also halves the stacks that are much too large
		debug.FreeOSMemory()
	}
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		b.Skip("this system does not tell what a program uses")
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		b.Fatal(err)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return usage{
		heap: int(m.HeapAlloc), stack: int(m.StackInuse), resident: pages * os.Getpagesize(),
		goroutines: runtime.NumGoroutine(), threads: entries(b, "/proc/self/task"), files: entries(b, "/proc/self/fd"),
	}
}

func entries(b *testing.B, dir string) int {
	b.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		b.Fatal(err)
	}
	return len(list)
}

// BenchmarkExit is how long after the exit of a command its end is told. To know when it
// exits, it is killed. The control waits for the same process in the plainest way; they
// take turns.
func BenchmarkExit(b *testing.B) {
	told := make(bell, 1)
	rt := benchRuntime(b, told)
	defer benchClose(b, rt)
	var ours, bare []time.Duration
	for b.Loop() {
		t := benchStart(b, rt, "sleep 600")
		for list := range rt.Watch(b.Context()) {
			if !slices.ContainsFunc(list, func(s task.Snapshot) bool { return s.ID == t.ID && pid(s) == 0 }) {
				break
			}
		}
		begin := time.Now()
		if err := syscall.Kill(-pid(t.Snapshot()), syscall.SIGKILL); err != nil { // its whole group
			b.Fatal(err)
		}
		ours = append(ours, (<-told).Sub(begin))

		child := fork(b, "sleep 600")
		begin = time.Now()
		if err := syscall.Kill(-child, syscall.SIGKILL); err != nil {
			b.Fatal(err)
		}
		bare = append(bare, await(b, child).Sub(begin))
	}
	report(b, ours, bare)
}

// BenchmarkCommand is a whole `true`, from the start to the notification; the control
// starts and waits in the plainest way.
func BenchmarkCommand(b *testing.B) {
	told := make(bell, 1)
	rt := benchRuntime(b, told)
	defer benchClose(b, rt)
	var ours, bare []time.Duration
	for b.Loop() {
		begin := time.Now()
		benchStart(b, rt, "true")
		ours = append(ours, (<-told).Sub(begin))
		begin = time.Now()
		bare = append(bare, await(b, fork(b, "true")).Sub(begin))
	}
	report(b, ours, bare)
}

// BenchmarkOutput is a command that prints a lot, against the shell that sends the same
// to a file itself; they take turns, and the files are on the same disk.
//
//	go test ./internal/task/shell -run xxx -bench Output -bench.bytes 2000000000
func BenchmarkOutput(b *testing.B) {
	rt := benchRuntime(b, nil)
	defer benchClose(b, rt)
	command := fmt.Sprintf("head -c %d /dev/zero", *benchBytes)
	var ours, bare []time.Duration
	var cost, theirs time.Duration
	before := peak(b)
	for b.Loop() {
		cpu, children := cpuTime(b, syscall.RUSAGE_SELF), cpuTime(b, syscall.RUSAGE_CHILDREN)
		begin := time.Now()
		t := benchStart(b, rt, command)
		<-t.Done()
		ours = append(ours, time.Since(begin))
		cost += cpuTime(b, syscall.RUSAGE_SELF) - cpu
		theirs += cpuTime(b, syscall.RUSAGE_CHILDREN) - children
		benchRemove(b, t.Snapshot().OutputFile)

		file := filepath.Join(b.TempDir(), "out")
		begin = time.Now()
		await(b, fork(b, command+" > "+quote(file)))
		bare = append(bare, time.Since(begin))
		benchRemove(b, file)
	}
	b.SetBytes(*benchBytes)
	b.ReportMetric(float64(median(bare))/float64(median(ours)), "of-the-speed-of->file")
	b.ReportMetric(100*float64(cost)/float64(theirs), "%-of-its-CPU")
	b.ReportMetric(float64(peak(b)-before)/1e6, "MB-more")
}

// benchRemove removes a large file at once.
func benchRemove(b *testing.B, file string) {
	b.Helper()
	info, err := os.Stat(file)
	if err != nil || info.Size() != *benchBytes {
		b.Fatalf("%d bytes were written, %v", info.Size(), err)
	}
	if err := os.Remove(file); err != nil {
		b.Fatal(err)
	}
}

// peak is the most memory that was ever resident, in bytes.
func peak(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	if runtime.GOOS == "darwin" {
		return u.Maxrss
	}
	return u.Maxrss << 10
}

func cpuTime(b *testing.B, who int) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// bell is a [task.Notifier] that tells when it was called.
type bell chan time.Time

func (b bell) Notify(task.Notification) { b <- time.Now() }
func (b bell) Withdraw(string) bool     { return false }

func benchRuntime(b *testing.B, n task.Notifier) *task.Runtime {
	b.Helper()
	rt, err := task.NewRuntime(task.Options{Dir: b.TempDir(), Notifier: n})
	if err != nil {
		b.Fatal(err)
	}
	return rt
}

func benchClose(b *testing.B, rt *task.Runtime) {
	b.Helper()
	if err := rt.Close(context.Background()); err != nil {
		b.Error(err)
	}
}

// benchStart starts a command in the background, with an environment of its own as each has.
func benchStart(b *testing.B, rt *task.Runtime, command string) *task.Task {
	b.Helper()
	t, err := rt.Start(
		task.Spec{Kind: task.LocalBash, Background: true, Description: command},
		&Runner{Command: command, Dir: "/", Env: Environment(os.Environ(), nil, nil), Timeout: 24 * time.Hour},
	)
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// fork starts a command in a group of its own, as plainly as can be. In a session of its own,
// it would look like an orphan that nobody waits for.
func fork(b *testing.B, command string) (pid int) {
	b.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		b.Skip("there is no bash here")
	}
	pid, err = syscall.ForkExec(bash, []string{"bash", "-c", command}, &syscall.ProcAttr{
		Dir: "/", Env: Environment(os.Environ(), nil, nil), Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		b.Fatal(err)
	}
	return pid
}

// await waits for a process, and returns when it was over.
func await(b *testing.B, pid int) time.Time {
	b.Helper()
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &status, 0, nil)
		if err == nil {
			return time.Now()
		}
		if err != syscall.EINTR {
			b.Fatal(err)
		}
	}
}

func pid(s task.Snapshot) int {
	d, _ := s.Detail.(Detail) // none yet: it is about to start
	return d.PID
}

func report(b *testing.B, ours, bare []time.Duration) {
	b.Helper()
	o, c := median(ours), median(bare)
	b.ReportMetric(o.Seconds()*1e3, "ms/heddle")
	b.ReportMetric(c.Seconds()*1e3, "ms/bare")
	b.ReportMetric((o-c).Seconds()*1e3, "ms-more")
}

func median(ds []time.Duration) time.Duration {
	slices.Sort(ds)
	return ds[len(ds)/2]
}
