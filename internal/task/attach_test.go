package task

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestForegroundMovesToBackgroundWhenItsBudgetIsOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		rt := newRuntime(t, Options{Notifier: rec})
		tk := start(t, rt, Spec{}, takes(10*time.Minute, nil))
		begin := time.Now()
		if got := tk.Attach(t.Context(), 2*time.Minute); got != Backgrounded {
			t.Fatalf("Attach = %v, want Backgrounded", got)
		}
		if d := time.Since(begin); d != 2*time.Minute {
			t.Errorf("waited %v", d)
		}
		<-tk.Done()
		if got := rec.got(); len(got) != 1 || got[0].Task.Status != Completed || got[0].Priority != Later {
			t.Fatalf("notifications = %+v", got)
		}
		if out, _ := os.ReadFile(tk.Snapshot().OutputFile); string(out) != "worked\n" {
			t.Errorf("output = %q", out)
		}
	})
}

func TestStartInTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		rt := newRuntime(t, Options{Notifier: rec})
		tk := start(t, rt, Spec{Background: true}, takes(0, nil)) // over before anyone could say so
		<-tk.Done()
		if len(rec.got()) != 1 {
			t.Errorf("told %d times, want once", len(rec.got()))
		}
		if got := tk.Attach(t.Context(), 0); got != Backgrounded {
			t.Errorf("Attach = %v, want Backgrounded", got)
		}
	})
}

func TestCancellingTheWaiterStopsTheTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		rt := newRuntime(t, Options{Notifier: rec})
		tk := start(t, rt, Spec{}, takes(ages, nil))
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("the user pressed Esc")) })
		if got := tk.Attach(ctx, 0); got != Finished {
			t.Errorf("Attach = %v, want Finished", got)
		}
		if s := tk.Snapshot(); s.Status != Killed || s.Reason != ReasonStoppedByUser || !strings.Contains(s.Error, "Esc") {
			t.Errorf("%s, %q, %q", s.Status, s.Reason, s.Error)
		}
		if len(rec.got()) != 0 {
			t.Error("the waiter knows, and was notified too")
		}
	})
}

// A task that went to the background is not the waiter's to end.
func TestCancellingAfterBackgroundStopsNothing(t *testing.T) {
	t.Parallel()
	for range 50 { // select picks at random
		synctest.Test(t, func(t *testing.T) {
			rt := newRuntime(t, Options{})
			tk := start(t, rt, Spec{}, takes(ages, nil))
			ctx, cancel := context.WithCancel(t.Context())
			synctest.Wait()
			tk.Background()
			cancel()
			if got := tk.Attach(ctx, 0); got != Backgrounded {
				t.Fatalf("Attach = %v, want Backgrounded", got)
			}
			synctest.Wait()
			if s := tk.Snapshot(); s.Status != Running {
				t.Fatalf("the task is %s", s.Status)
			}
		})
	}
}

// However ending and backgrounding interleave, the owner hears of the end
// exactly once: from Attach or from a notification, never both, never neither.
func TestEndIsToldExactlyOnce(t *testing.T) {
	t.Parallel()
	told := map[Outcome]int{}
	for range 300 {
		synctest.Test(t, func(t *testing.T) {
			rec := &recorder{}
			rt := newRuntime(t, Options{Notifier: rec})
			tk := start(t, rt, Spec{}, takes(time.Second, nil))
			time.AfterFunc(time.Second, tk.Background)
			out := tk.Attach(t.Context(), time.Second)
			<-tk.Done()
			told[out]++
			if got, want := len(rec.got()), int(out); got != want {
				t.Fatalf("outcome %v with %d notifications", out, got)
			}
			for _, n := range rec.got() {
				rt.Delivered(n.ID())
			}
			if !tk.Snapshot().Told {
				t.Fatal("nobody was told")
			}
		})
	}
	if told[Finished] == 0 || told[Backgrounded] == 0 {
		t.Errorf("outcomes %v: the race did not happen", told)
	}
}

func TestManyKillsMakeOneEnd(t *testing.T) {
	t.Parallel()
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			rec := &recorder{}
			rt := newRuntime(t, Options{Notifier: rec})
			tk := start(t, rt, Spec{Background: true}, takes(time.Second, nil))
			var kills sync.WaitGroup
			time.Sleep(time.Second) // they meet the end
			for range 4 {
				kills.Go(func() {
					if err := rt.Kill(tk.ID, ErrKilled); err != nil && !errors.Is(err, ErrNotRunning) {
						t.Error(err)
					}
				})
			}
			kills.Wait()
			<-tk.Done()
			if len(rec.got()) != 1 {
				t.Fatalf("told %d times", len(rec.got()))
			}
		})
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		var ids []ID
		for _, d := range []time.Duration{1, 2, 3, 4} {
			ids = append(ids, start(t, rt, Spec{Background: true}, takes(d*time.Second, nil)).ID)
		}
		begin := time.Now()
		for _, tt := range []struct {
			count int
			at    time.Duration
		}{{1, 1 * time.Second}, {3, 3 * time.Second}, {0, 4 * time.Second}, {99, 4 * time.Second}} {
			snaps, err := rt.Wait(t.Context(), ids, Condition{Count: tt.count})
			if err != nil || len(snaps) != 4 || time.Since(begin) != tt.at {
				t.Errorf("Wait for %d: %d snapshots after %v, %v; want 4 after %v", tt.count, len(snaps), time.Since(begin), err, tt.at)
			}
		}
	})
}

func TestWaitGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		tk := start(t, rt, Spec{}, takes(ages, nil))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		snaps, err := rt.Wait(ctx, []ID{tk.ID}, Condition{})
		if !errors.Is(err, context.DeadlineExceeded) || len(snaps) != 1 || snaps[0].Status != Running {
			t.Errorf("Wait = %v, %v", snaps, err)
		}
		if _, err := rt.Wait(t.Context(), []ID{tk.ID, "b00000000"}, Condition{}); !errors.Is(err, ErrNotRunning) {
			t.Errorf("Wait for an unknown task = %v, want ErrNotRunning", err)
		}
		if len(tk.waiting) != 0 {
			t.Error("nobody waits any more, and the task does not know")
		}
	})
}

// A task that is forgotten while somebody waits for others too still counts.
func TestWaitOutlastsEviction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		short := start(t, rt, Spec{Background: true}, takes(time.Second, nil))
		long := start(t, rt, Spec{Background: true}, takes(time.Hour, nil))
		snaps, err := rt.Wait(t.Context(), []ID{short.ID, long.ID}, Condition{})
		if err != nil || snaps[0].Status != Completed || snaps[1].Status != Completed {
			t.Errorf("Wait = %+v, %v", snaps, err)
		}
		if _, ok := rt.Get(short.ID); ok {
			t.Error("the test proves nothing: the short task is still listed")
		}
	})
}

func TestBackgroundByID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		a, b := start(t, rt, Spec{}, takes(time.Hour, nil)), start(t, rt, Spec{Background: true}, takes(time.Hour, nil))
		outcome := make(chan Outcome, 1)
		go func() { outcome <- a.Attach(t.Context(), 0) }()
		synctest.Wait()
		if _, err := rt.Background(b.ID); !errors.Is(err, ErrNotRunning) {
			t.Errorf("a task that nobody waits for: %v", err)
		}
		moved, err := rt.Background("")
		if err != nil || len(moved) != 1 || moved[0].ID != a.ID || !moved[0].Backgrounded || <-outcome != Backgrounded {
			t.Errorf("Background = %+v, %v", moved, err)
		}
		if moved, err := rt.Background(""); err != nil || len(moved) != 0 {
			t.Errorf("again: %+v, %v", moved, err)
		}
	})
}
