package process

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Adopt makes this program the parent of the orphans of its commands, so that a
// process which leaves its session and loses its parent is still found, and
// collects them when they die. It is called once, before the first Start; release
// undoes it.
//
// An orphan is a dead child in a session other than ours to which no pidfd in
// this program refers. Commands started by this package and by os/exec have such
// a descriptor until they were waited for, so nobody's exit is taken.
func Adopt() (release func(), err error) {
	// Without pidfds the test above would not hold.
	pidfd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return nil, fmt.Errorf("adopt orphans: open a pidfd: %w", err)
	}
	unix.Close(pidfd)
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("adopt orphans: become their reaper: %w", err)
	}
	died := make(chan os.Signal, 1)
	signal.Notify(died, syscall.SIGCHLD)
	quit := make(chan struct{})
	var reaper sync.WaitGroup
	reaper.Go(func() { reapOrphans(died, quit) })
	return sync.OnceFunc(func() {
		signal.Stop(died)
		close(quit)
		reaper.Wait()
		// The last orphans are left to the parent of this program.
		_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
		removeGroups(groupHome(), func(maker int) bool { return maker == os.Getpid() })
	}), nil
}

// adopting reports whether orphans come to us.
func adopting() bool {
	var set int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&set)), 0, 0, 0)
	return err == nil && set == 1
}

const (
	settle = 50 * time.Millisecond // lets the waiters collect what is theirs
	again  = time.Second           // until a look at zombies that had an owner
)

// reapOrphans collects dead orphans, a moment after a child has died.
func reapOrphans(died <-chan os.Signal, quit <-chan struct{}) {
	timer := time.NewTimer(settle) // some may have died before us
	defer timer.Stop()
	for {
		select {
		case <-died:
			timer.Reset(settle)
		case <-timer.C:
			if reap() > 0 {
				timer.Reset(again)
			}
		case <-quit:
			reap()
			return
		}
	}
}

// reap collects the orphans that are dead, and returns how many zombies it left
// because somebody owns them.
func reap() (left int) {
	self, ok := look(os.Getpid())
	if !ok {
		return 0
	}
	pids, _ := children(self.pid)
	var owned map[int]bool
	for _, p := range lookAll(pids) {
		if !p.zombie || p.sid == self.sid || p.ppid != self.pid {
			continue
		}
		if owned == nil {
			owned = pidfdTargets()
		}
		if owned[p.pid] {
			left++
			continue
		}
		// Nobody waits for it, so its id is not given to another before this.
		_, _, _ = collect(p.pid, unix.WNOHANG)
	}
	return left
}

// pidfdTargets returns the processes to which a pidfd of this program refers.
func pidfdTargets() map[int]bool {
	targets := map[int]bool{}
	infos, _ := filepath.Glob("/proc/self/fdinfo/*") // the pattern is good
	for _, info := range infos {
		text, _ := os.ReadFile(info) // closed in the meantime
		if pid, ok := parsePidfd(text); ok {
			targets[pid] = true
		}
	}
	return targets
}

// parsePidfd reads the process id from the description of a descriptor. Only that
// of a pidfd has one.
func parsePidfd(info []byte) (int, bool) {
	for line := range bytes.Lines(info) {
		if rest, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
			pid, err := strconv.Atoi(string(bytes.TrimSpace(rest)))
			return pid, err == nil && pid > 0
		}
	}
	return 0, false
}
