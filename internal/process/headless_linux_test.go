package process

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel calls a process a zombie whose first thread has ended, though it runs on in
// its others.
func TestEndOfAProcessWithoutItsFirstThread(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			c := run(t, w, helperVariable+"=headless exec "+self+" FOREVER")
			t.Cleanup(func() {
				if t.Failed() { // End may not see it
					_ = syscall.Kill(c.PID(), syscall.SIGKILL)
				}
			})
			eventually(t, "without its first thread", func() bool { return threadState(c.PID(), c.PID()) == "Z" })
			if len(c.Members()) != 1 || !c.Identity().Alive() {
				t.Errorf("members = %v, alive %v, want the process", c.Members(), c.Identity().Alive())
			}
			if left, err := c.End(t.Context(), 0); err != nil {
				t.Errorf("End = %v, %v", left, err)
			}
			threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", c.PID())) // the pattern is good
			if len(threads) > 1 {
				t.Errorf("%d threads run after End", len(threads)-1)
			}
		})
	}
}

// threadState returns the letter that the kernel has for the state of a thread.
func threadState(pid, thread int) (state string) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", pid, thread))
	if err != nil {
		return ""
	}
	var number int
	var name string
	_, _ = fmt.Sscan(string(stat), &number, &name, &state) // the name has no space in it
	return state
}

// endFirstThread ends the first thread of this program, and nothing else of it. The first
// goroutine is mostly still in it when the tests begin; if not, the program begins anew.
func endFirstThread() {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		fmt.Println("ready")
		go func() { select {} }()
		unix.RawSyscall(unix.SYS_EXIT, 0, 0, 0)
	}
	self, err := os.Executable()
	if err == nil {
		err = syscall.Exec(self, os.Args, os.Environ())
	}
	fmt.Println("not in the first thread:", err)
}
