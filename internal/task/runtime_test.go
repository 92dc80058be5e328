package task

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[bartwmd][0-9a-z]{8}$`)
	count := map[rune]int{}
	const n = 20_000
	for range n {
		id := newID(Workflow)
		if !form.MatchString(string(id)) || id[0] != 'w' {
			t.Fatalf("newID(Workflow) = %q", id)
		}
		for _, c := range id[1:] {
			count[c]++
		}
	}
	// Each character is equally likely; without the rejection, four of them are
	// more so by a seventh.
	want := float64(n*8) / 36
	for c, k := range count {
		if f := float64(k) / want; f < 0.93 || f > 1.07 {
			t.Errorf("%q came %.2f times as often as expected", c, f)
		}
	}
}

func TestUnknownKindAndRelativeFolder(t *testing.T) {
	t.Parallel()
	if _, err := NewRuntime(Options{Dir: "tasks"}); err == nil {
		t.Error("a relative folder was accepted")
	}
	rt := newRuntime(t, Options{})
	if _, err := rt.Start(Spec{Kind: "cronjob"}, takes(0, nil)); err == nil || !strings.Contains(err.Error(), "cronjob") {
		t.Errorf("Start of an unknown kind: %v", err)
	}
}

// Every end has a status and a reason, and none is taken for another.
func TestEnds(t *testing.T) {
	t.Parallel()
	bad := errors.New("bad luck")
	tests := []struct {
		name   string
		run    RunnerFunc
		stop   error // after a second
		status Status
		reason Reason
		err    string
	}{
		{"work done", takes(0, nil), nil, Completed, "", ""},
		{"failed", takes(0, bad), nil, Failed, "", "bad luck"},
		{"failed with a reason", takes(0, &EndError{ReasonExit, errors.New("exit code 3")}), nil, Failed, ReasonExit, "exit code 3"},
		{"panic", func(context.Context, *Task) error { panic("boom") }, nil, Failed, ReasonPanic, "panic: boom"},
		{"goroutine ended", func(context.Context, *Task) error { runtime.Goexit(); return nil }, nil, Failed, ReasonPanic, "goroutine"},
		{"stopped by a person", takes(ages, nil), ErrKilled, Killed, ReasonStoppedByUser, "killed"},
		{"stopped for whatever cause", takes(ages, nil), errors.New("escape key"), Killed, ReasonStoppedByUser, "escape key"},
		{"stopped by the model", takes(ages, nil), ErrStopped, Killed, ReasonStoppedByModel, "stopped by the model"},
		{"timed out", takes(ages, nil), ErrTimeout, Killed, ReasonTimeout, "timed out"},
		{"work done although stopped", func(ctx context.Context, _ *Task) error { <-ctx.Done(); return nil }, ErrKilled, Completed, "", ""},
		{"exit of its own although stopped", func(ctx context.Context, _ *Task) error {
			<-ctx.Done()
			return &EndError{ReasonExit, errors.New("exit code 3")}
		}, ErrTimeout, Failed, ReasonExit, "exit code 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := newRuntime(t, Options{})
				tk := start(t, rt, Spec{}, tt.run)
				if tt.stop != nil {
					time.AfterFunc(time.Second, func() { tk.Stop(tt.stop) })
				}
				if out := tk.Attach(t.Context(), 0); out != Finished {
					t.Errorf("Attach = %v, want Finished", out)
				}
				s := tk.Snapshot()
				if s.Status != tt.status || s.Reason != tt.reason || !strings.Contains(s.Error, tt.err) {
					t.Errorf("end = %s, %q, %q; want %s, %q, %q", s.Status, s.Reason, s.Error, tt.status, tt.reason, tt.err)
				}
				if s.EndedAt.IsZero() || !s.Told {
					t.Errorf("EndedAt = %v, Told = %v after Attach", s.EndedAt, s.Told)
				}
			})
		})
	}
}

func TestStackOfAPanicIsInTheOutput(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, Options{})
	tk := start(t, rt, Spec{}, RunnerFunc(func(context.Context, *Task) error { panic("boom") }))
	<-tk.Done()
	out, err := os.ReadFile(tk.Snapshot().OutputFile)
	if err != nil || !strings.Contains(string(out), "panic: boom") || !strings.Contains(string(out), "runtime_test.go") {
		t.Errorf("output = %q, %v", out, err)
	}
}

// A runner that ignores its context is waited for only for a while; that it
// returns later changes nothing any more.
func TestDeafRunnerIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		rt, err := NewRuntime(Options{Dir: t.TempDir(), Notifier: rec})
		if err != nil {
			t.Fatal(err)
		}
		deaf := RunnerFunc(func(_ context.Context, tk *Task) error {
			time.Sleep(time.Hour)
			tk.Update(func(s *Snapshot) { s.Description = "late" })
			tk.Notify("late", "", Next)
			return nil
		})
		tk := start(t, rt, Spec{Description: "deaf", Background: true}, deaf)
		synctest.Wait()
		begin := time.Now()
		err = rt.Kill(tk.ID, ErrKilled)
		if took := time.Since(begin); took != defaultPatience {
			t.Errorf("Kill took %v, want %v", took, defaultPatience)
		}
		if err == nil || !strings.Contains(err.Error(), "may have leaked") {
			t.Errorf("Kill = %v, want that it may have leaked", err)
		}
		if err := rt.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "deaf") {
			t.Errorf("Close = %v, want the name of what leaked", err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		s := tk.Snapshot()
		if s.Status != Failed || s.Reason != ReasonLeaked || s.Description != "deaf" {
			t.Errorf("record = %+v", s)
		}
		if len(rec.got()) != 1 {
			t.Errorf("told %d times, want once", len(rec.got()))
		}
	})
}

func TestOwnership(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		end    func(rt *Runtime, owner *Task)
		reason Reason // of what is owned
	}{
		{"owner done", func(rt *Runtime, owner *Task) {}, ReasonOwnerEnded},
		{"owner killed", func(rt *Runtime, owner *Task) { owner.Stop(ErrKilled) }, ReasonOwnerEnded},
		{"owner timed out", func(rt *Runtime, owner *Task) { owner.Stop(ErrTimeout) }, ReasonOwnerEnded},
		{"session closed", func(rt *Runtime, owner *Task) { rt.Close(context.Background()) }, ReasonSessionClosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rt := newRuntime(t, Options{})
				owner := start(t, rt, Spec{Kind: LocalAgent}, takes(time.Minute, nil))
				child := start(t, rt, Spec{Kind: LocalAgent, Owner: owner.ID}, takes(ages, nil))
				grandchild := start(t, rt, Spec{Owner: child.ID}, takes(ages, nil))
				mate := start(t, rt, Spec{Kind: Teammate}, takes(ages, nil))
				synctest.Wait()
				tt.end(rt, owner)
				<-owner.Done()
				<-child.Done()
				<-grandchild.Done()
				for _, tk := range []*Task{child, grandchild} {
					if s := tk.Snapshot(); s.Status != Killed || s.Reason != tt.reason {
						t.Errorf("%s: %s, %q; want killed, %q", s.Kind, s.Status, s.Reason, tt.reason)
					}
				}
				if running := mate.Snapshot().Status == Running; running == (tt.reason == ReasonSessionClosed) {
					t.Errorf("teammate running: %v", running)
				}
			})
		})
	}
}

func TestEndedOwnerCannotStartWork(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, Options{})
	owner := start(t, rt, Spec{Kind: LocalAgent}, takes(0, nil))
	<-owner.Done()
	for _, id := range []ID{owner.ID, "a00000000"} {
		if _, err := rt.Start(Spec{Kind: LocalBash, Owner: id}, takes(0, nil)); !errors.Is(err, ErrNotRunning) {
			t.Errorf("Start for owner %s: %v, want ErrNotRunning", id, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(owner.Snapshot().OutputFile), "b*.output"))
	if err != nil || len(left) != 0 {
		t.Errorf("output files of tasks that never were: %v, %v", left, err)
	}
}

func TestKillCoversWhatIsOwned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		owner := start(t, rt, Spec{Kind: LocalAgent}, takes(ages, nil))
		slow := RunnerFunc(func(ctx context.Context, _ *Task) error {
			<-ctx.Done()
			time.Sleep(3 * time.Second) // tidies up
			return context.Cause(ctx)
		})
		child := start(t, rt, Spec{Owner: owner.ID}, slow)
		synctest.Wait()
		if err := rt.Kill(owner.ID, ErrKilled); err != nil {
			t.Error(err)
		}
		if s := child.Snapshot(); s.Status != Killed {
			t.Errorf("when Kill returned, what the task owned was %s", s.Status)
		}
		if err := rt.Kill(owner.ID, ErrKilled); !errors.Is(err, ErrNotRunning) {
			t.Errorf("second Kill = %v, want ErrNotRunning", err)
		}
	})
}

// What a task leaves behind ends with the owner of the task, not with the task.
func TestLeftoversEndWithTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt, err := NewRuntime(Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		ends := map[string]int{}
		leftover := func(name string, err error) RunnerFunc {
			return func(_ context.Context, tk *Task) error {
				tk.Leave(func() error {
					mu.Lock()
					defer mu.Unlock()
					ends[name]++
					return err
				})
				return nil
			}
		}
		ended := func() map[string]int {
			mu.Lock()
			defer mu.Unlock()
			return maps.Clone(ends)
		}
		owner := start(t, rt, Spec{Kind: LocalAgent}, takes(time.Minute, nil))
		ofAgent := start(t, rt, Spec{Owner: owner.ID}, leftover("agent's", nil))
		ofSession := start(t, rt, Spec{}, leftover("session's", errors.New("still alive: 7 daemon")))
		<-ofAgent.Done()
		<-ofSession.Done()
		synctest.Wait()
		if len(ended()) != 0 {
			t.Errorf("ended with their tasks: %v", ended())
		}
		<-owner.Done()
		synctest.Wait()
		if e := ended(); e["agent's"] != 1 || e["session's"] != 0 {
			t.Errorf("after the agent: %v", e)
		}
		err = rt.Close(t.Context())
		if err == nil || !strings.Contains(err.Error(), "still alive: 7 daemon") || !strings.Contains(err.Error(), string(ofSession.ID)) {
			t.Errorf("Close = %v, want who is still alive", err)
		}
		if e := ended(); e["agent's"] != 1 || e["session's"] != 1 {
			t.Errorf("after Close: %v", e)
		}
	})
}

func TestEndBeforeTheRunnerRan(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, Options{})
	owner := start(t, rt, Spec{Kind: LocalAgent}, RunnerFunc(func(ctx context.Context, self *Task) error {
		self.Stop(ErrKilled)
		<-ctx.Done()
		child, err := rt.Start(Spec{Kind: LocalBash, Owner: self.ID}, RunnerFunc(func(context.Context, *Task) error {
			return errors.New("the runner of a task that was ended already ran")
		}))
		if err != nil {
			return err
		}
		<-child.Done()
		if s := child.Snapshot(); s.Status != Killed || s.Reason != ReasonOwnerEnded {
			t.Errorf("child is %s, %q, %q", s.Status, s.Reason, s.Error)
		}
		return context.Cause(ctx)
	}))
	<-owner.Done()
}

func TestCloseEndsAllAndRefusesMore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		var tasks []*Task
		for range 20 {
			tasks = append(tasks, start(t, rt, Spec{}, takes(ages, nil)))
		}
		if err := rt.Close(t.Context()); err != nil {
			t.Error(err)
		}
		for _, tk := range tasks {
			if s := tk.Snapshot(); s.Status != Killed || s.Reason != ReasonSessionClosed {
				t.Errorf("%s, %q", s.Status, s.Reason)
			}
		}
		if _, err := rt.Start(Spec{Kind: LocalBash}, takes(0, nil)); !errors.Is(err, ErrShutdown) {
			t.Errorf("Start after Close = %v, want ErrShutdown", err)
		}
	})
}

func TestCloseDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt, err := NewRuntime(Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		tk := start(t, rt, Spec{Description: "slow one"}, RunnerFunc(func(context.Context, *Task) error {
			time.Sleep(5 * time.Second)
			return nil
		}))
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		err = rt.Close(ctx)
		if took := time.Since(begin); took != time.Second {
			t.Errorf("Close took %v, want 1s", took)
		}
		if err == nil || !strings.Contains(err.Error(), "slow one") {
			t.Errorf("Close = %v, want the name of what still runs", err)
		}
		<-tk.Done()
	})
}

// A thousand sleeping tasks must cost little: one goroutine each, whatever watches
// over them. It runs alone, since it counts.
func TestOneGoroutinePerTask(t *testing.T) {
	rt := newRuntime(t, Options{})
	before := runtime.NumGoroutine()
	const n = 100
	began := make(chan struct{})
	for range n {
		start(t, rt, Spec{Background: true}, RunnerFunc(func(ctx context.Context, _ *Task) error {
			began <- struct{}{}
			<-ctx.Done()
			return context.Cause(ctx)
		}))
	}
	for range n {
		<-began
	}
	if more := runtime.NumGoroutine() - before; more > n+1 { // one may look at their output just now
		t.Errorf("%d tasks take %d goroutines", n, more)
	}
}

// TestMoves tries all moves from all states: none outside the table happens.
func TestMoves(t *testing.T) {
	t.Parallel()
	all := []Status{Pending, Running, Completed, Failed, Killed}
	legal := map[[2]Status]bool{
		{Pending, Running}: true, {Pending, Failed}: true, {Pending, Killed}: true,
		{Running, Completed}: true, {Running, Failed}: true, {Running, Killed}: true,
	}
	rapid.Check(t, func(t *rapid.T) {
		rt, err := NewRuntime(Options{Dir: os.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		rt.journal.closed = true // nothing is written
		tk := &Task{ID: "b00000000", rt: rt, snap: Snapshot{Status: Pending}}
		for _, to := range rapid.SliceOf(rapid.SampledFrom(all)).Draw(t, "moves") {
			from := tk.snap.Status
			rt.move(tk, to)
			want := from
			if legal[[2]Status{from, to}] {
				want = to
			}
			if tk.snap.Status != want {
				t.Fatalf("from %s to %s gives %s", from, to, tk.snap.Status)
			}
		}
	})
}
