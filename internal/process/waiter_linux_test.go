package process

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// startIn starts a command that w waits for. Without handle there is none.
func startIn(t *testing.T, w *waiter, script string, handle bool) *Process {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	s := shell(script)
	s.Stdout, s.Stderr = null, null
	child, err := s.fork(nil)
	if err != nil {
		t.Fatal(err)
	}
	leader, _ := look(child.pid)
	p := &Process{done: make(chan struct{}), tree: tree{
		leader: Identity{PID: child.pid, StartTime: leader.start, BootID: bootID()}, ours: true,
	}}
	if !handle {
		pidfd := child.handle // shows the collector of orphans that the exit is ours
		t.Cleanup(func() { release(pidfd) })
		child.handle = noHandle
	}
	w.watch(p, child.handle)
	return p
}

func (w *waiter) working() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.poller != nil
}

// The goroutine begins with the first process, ends with the last, and begins again.
func TestWaiterEndsWithTheLastProcess(t *testing.T) {
	t.Parallel()
	var w waiter
	for range 3 {
		var ps []*Process
		for range 5 {
			ps = append(ps, startIn(t, &w, "exec sleep 300", true))
		}
		for _, p := range ps {
			if !w.working() {
				t.Fatal("no goroutine although processes run")
			}
			if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != syscall.SIGKILL {
				t.Errorf("Wait = %v, %v", exit, err)
			}
		}
		eventually(t, "at rest", func() bool { return !w.working() })
	}
}

// Processes that come while the last one goes are not forgotten.
func TestWaiterBetweenLastAndFirst(t *testing.T) {
	t.Parallel()
	var w waiter
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 50 {
				p := startIn(t, &w, "exit "+strconv.Itoa(i), true)
				if exit, err := p.Wait(t.Context()); err != nil || exit.Code != i {
					t.Errorf("Wait = %v, %v, want %d", exit, err, i)
				}
			}
		})
	}
	all.Wait()
}

func TestExitWithoutAHandle(t *testing.T) {
	t.Parallel()
	var w waiter
	p := startIn(t, &w, "exit 4", false)
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 4 {
		t.Errorf("Wait = %v, %v", exit, err)
	}
	if w.working() {
		t.Error("the waiter waits for nobody")
	}
}

func TestExitsWhenThePollerBreaks(t *testing.T) {
	t.Parallel()
	var w waiter
	var ps []*Process
	for range 3 {
		ps = append(ps, startIn(t, &w, "exec sleep 300", true))
	}
	w.mu.Lock()
	w.poller.file.Close()
	w.mu.Unlock()
	eventually(t, "each waited for alone", func() bool { return !w.working() })
	ps = append(ps, startIn(t, &w, "exec sleep 300", true)) // with another poller
	for _, p := range ps {
		if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != syscall.SIGKILL {
			t.Errorf("Wait = %v, %v", exit, err)
		}
	}
}

// A command that nobody waits for is collected all the same.
func TestNobodyHasToWait(t *testing.T) {
	t.Parallel()
	p, err := Start(shell("exit 0"))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "collected", func() bool {
		_, ok := look(p.PID())
		return !ok
	})
}

// The kernel reports the death of a command that a debugger follows to the debugger
// first. Until that has heard of it, there is nothing to collect, and nothing to do.
func TestExitOfATracedCommand(t *testing.T) {
	if os.Getenv("TRACE") != "" {
		trace()
		return
	}
	t.Parallel()
	var w waiter
	p := startIn(t, &w, "exec sleep 300", true)
	defer func() { _ = syscall.Kill(p.PID(), syscall.SIGKILL) }() // also if the test fails
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tracer := exec.Command(self, "-test.run", "^TestExitOfATracedCommand$")
	tracer.Env = append(os.Environ(), "TRACE="+strconv.Itoa(p.PID()))
	hold, err := tracer.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := tracer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := tracer.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tracer.Wait() }()
	defer hold.Close()
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Skip("no process can be traced here: ", line)
	}
	if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a zombie", func() bool {
		leader, ok := look(p.PID())
		return ok && leader.zombie
	})
	// An exit that comes later is told meanwhile.
	if exit, err := startIn(t, &w, "exit 6", true).Wait(t.Context()); err != nil || exit.Code != 6 {
		t.Errorf("Wait for another = %v, %v", exit, err)
	}
	select {
	case <-p.Done():
		t.Error("done before the debugger has heard of it")
	default:
	}
	hold.Close()
	if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != syscall.SIGKILL {
		t.Errorf("Wait = %v, %v", exit, err)
	}
}

// trace follows a process, as a debugger does, until standard input ends.
func trace() {
	runtime.LockOSThread()
	pid, err := strconv.Atoi(os.Getenv("TRACE"))
	if err == nil {
		err = unix.PtraceSeize(pid)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	_, _ = unix.Wait4(pid, nil, 0, nil)
}

// A thousand waiting commands cost no thread, no goroutine, and a descriptor each.
func TestWaitingCostsNoThreadAndNoGoroutine(t *testing.T) {
	const n = 300
	threads, goroutines := count(t, "/proc/self/task"), runtime.NumGoroutine()
	var ps []*Process
	for range n {
		p, err := Start(Spec{Path: "/bin/sleep", Args: []string{"sleep", "300"}})
		if err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	if grown := count(t, "/proc/self/task") - threads; grown > 10 {
		t.Errorf("%d commands took %d threads", n, grown)
	}
	if grown := runtime.NumGoroutine() - goroutines; grown > 2 { // the waiter, a sweep
		t.Errorf("%d commands took %d goroutines", n, grown)
	}
	var ended sync.WaitGroup
	for _, p := range ps {
		if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		ended.Go(func() {
			if exit, err := p.Wait(t.Context()); err != nil || exit.Signal != syscall.SIGKILL {
				t.Errorf("Wait = %v, %v", exit, err)
			}
		})
	}
	ended.Wait()
}

// Of what an earlier run of the program started, the end is heard of at once, whoever
// its parent is, and it is left to that to collect it.
func TestFoundProcessesAreWaitedForTogether(t *testing.T) {
	const n = 4
	goroutines := runtime.NumGoroutine()
	var found []*Process
	for i := range n {
		mark := fmt.Sprintf("found-%d-%d", os.Getpid(), i)
		id := crash(t, "sleep 300", mark)
		p, ok := Find(id, mark)
		if !ok {
			t.Fatalf("not found: %+v", id)
		}
		found = append(found, p)
	}
	if grown := runtime.NumGoroutine() - goroutines; grown > 2 {
		t.Errorf("%d found processes took %d goroutines", n, grown)
	}
	for _, p := range found {
		if m := p.Members(); len(m) == 0 || !strings.Contains(m[0].Command, "sleep 300") {
			t.Errorf("members = %v", m)
		}
		begin := time.Now()
		if err := syscall.Kill(p.PID(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if exit, err := p.Wait(t.Context()); exit != (Exit{}) || !errors.Is(err, ErrNoExit) {
			t.Errorf("Wait = %v, %v, want ErrNoExit", exit, err)
		}
		if took := time.Since(begin); took > lookForExit/2 {
			t.Errorf("heard of the end after %v, want at once", took)
		}
		if left, err := p.End(t.Context(), 0); err != nil {
			t.Errorf("End = %v, %v", left, err)
		}
	}
}

// Where the leader is gone and its number is another's, that one is left alone.
func TestFindSparesWhoGotTheNumber(t *testing.T) {
	t.Parallel()
	stranger := startIn(t, exits(), "exec sleep 300", true)
	mark := fmt.Sprintf("stranger-%d", os.Getpid())
	id := crash(t, "setsid sleep 300 & exit", mark)
	id.PID, id.Group = stranger.PID(), "" // as if the number had been given away
	var p *Process
	eventually(t, "found by its mark", func() (ok bool) {
		p, ok = Find(id, mark)
		return ok
	})
	if exit, err := p.Wait(t.Context()); exit != (Exit{}) || !errors.Is(err, ErrNoExit) {
		t.Errorf("Wait = %v, %v, want ErrNoExit: the leader is gone", exit, err)
	}
	if left, err := p.End(t.Context(), time.Second); err != nil {
		t.Errorf("End = %v, %v", left, err)
	}
	if !stranger.Identity().Alive() {
		t.Error("the stranger was ended")
	}
	if err := syscall.Kill(stranger.PID(), syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	<-stranger.Done()
}
