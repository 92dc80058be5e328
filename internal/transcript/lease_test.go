package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func TestSecondWriterIsRefused(t *testing.T) {
	path := newSession(t, user("hi"))
	owner, _ := startOwner(t, path)
	check := func(state string) {
		t.Helper()
		_, _, err := Open(path)
		var used *InUseError
		if !errors.As(err, &used) || !errors.Is(err, ErrInUse) || used.Owner.PID != owner.Process.Pid {
			t.Fatalf("%s owner: Open: %v, want that process %d has it", state, err, owner.Process.Pid)
		}
		if text := err.Error(); !strings.Contains(text, fmt.Sprintf("process %d since ", owner.Process.Pid)) || !strings.Contains(text, "--fork-session") {
			t.Errorf("%s owner: %s: want the process and advice", state, text)
		}
		if s := Summarize(path); s.State != Live || s.Owner != owner.Process.Pid {
			t.Errorf("%s owner: state %s of process %d, want live", state, s.State, s.Owner)
		}
	}
	check("running")

	// A stopped owner may go on at any time, with the old end of the file in mind.
	if err := owner.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	waitStopped(t, owner.Process.Pid)
	check("stopped")

	// A dead owner's lease is taken over at once.
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	owner.Wait()
	if s := Summarize(path); s.State != Idle {
		t.Errorf("dead owner: state %s, want idle", s.State)
	}
	w, _ := openWriter(t, path)
	closeWriter(t, w)
}

// waitStopped returns when the child pid has stopped.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("wait for process %d to stop: %v, status %v", pid, err, status)
	}
}

func TestSecondWriterInOneProcessIsRefused(t *testing.T) {
	path := newSession(t)
	w, _ := openWriter(t, path)
	if _, _, err := Open(path); !errors.Is(err, ErrInUse) {
		t.Errorf("Open: %v, want %v", err, ErrInUse)
	}
	if got := read(t, path); len(got) != 1 {
		t.Errorf("Read of a session in use = %#v", got)
	}
	closeWriter(t, w)
	w, _ = openWriter(t, path)
	closeWriter(t, w)
}

// A child that was started while the session was open does not hold it.
func TestChildrenDoNotInheritTheLease(t *testing.T) {
	path, other := newSession(t), newSession(t)
	w, _ := openWriter(t, path)
	startOwner(t, other) // it inherits what can be inherited
	closeWriter(t, w)
	w, _ = openWriter(t, path)
	closeWriter(t, w)
}

func TestOnlyOneOfManyHasTheLease(t *testing.T) {
	path := newSession(t)
	var holders, won atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				l, err := takeLease(path)
				if errors.Is(err, ErrInUse) {
					continue
				}
				if err != nil {
					t.Errorf("takeLease: %v", err)
					return
				}
				won.Add(1)
				if n := holders.Add(1); n != 1 {
					t.Errorf("%d hold the lease at once", n)
				}
				holders.Add(-1)
				if err := l.release(); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	all.Wait()
	if won.Load() == 0 {
		t.Error("nobody ever had the lease")
	}
}

func TestOwner(t *testing.T) {
	host, _ := os.Hostname()
	started, ok := processStart(os.Getpid())
	if !ok || started == "" {
		t.Fatalf("processStart of this process = %q, %v", started, ok)
	}
	tests := []struct {
		name  string
		owner Owner
		want  bool
	}{
		{"this process", Owner{PID: os.Getpid(), Started: started, Host: host}, true},
		{"the number was given to another process", Owner{PID: os.Getpid(), Started: "1", Host: host}, false},
		{"no such process", Owner{PID: 1 << 30, Started: started, Host: host}, false},
		{"nobody", Owner{}, false},
		{"on another host", Owner{PID: 1 << 30, Host: host + "x"}, true},
	}
	for _, tt := range tests {
		if got := tt.owner.alive(); got != tt.want {
			t.Errorf("%s: alive = %v, want %v", tt.name, got, tt.want)
		}
	}
	text := (&InUseError{Owner: Owner{PID: 7, Host: "elsewhere", Since: time.Now()}}).Error()
	if !strings.Contains(text, "process 7 on elsewhere") {
		t.Errorf("InUseError of another host = %s", text)
	}
	if text := (&InUseError{}).Error(); !strings.Contains(text, "another process;") {
		t.Errorf("InUseError of nobody = %s", text)
	}
}

// What a killed process left in the lock file is no obstacle.
func TestLeftoverLockFile(t *testing.T) {
	stale, err := json.Marshal(Owner{PID: 1 << 30, Started: "1", Host: "here"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "garbage", string(stale), strings.Repeat("x", 9000)} {
		path := newSession(t, user("hi"))
		writeFile(t, lockPath(path), text)
		w, _ := openWriter(t, path)
		if o, live := holder(path); !live || o.PID != os.Getpid() {
			t.Errorf("%.10q: the holder is %+v", text, o)
		}
		closeWriter(t, w)
	}
	path := newSession(t)
	if err := os.Symlink(path, lockPath(path)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(path); err == nil {
		t.Error("Open wrote its lease through a link")
	}
}
