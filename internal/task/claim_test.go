package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// queue is a [Notifier] whose owner reads now and then.
type queue struct {
	mu   sync.Mutex
	held []Notification
	read []string // ids of ends, in the order in which they were read
}

func (q *queue) Notify(n Notification) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held = append(q.held, n)
}

func (q *queue) Withdraw(id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.held, func(n Notification) bool { return n.ID() == id })
	if i < 0 {
		return false
	}
	q.held = slices.Delete(q.held, i, i+1)
	return true
}

// empty reads all that is held.
func (q *queue) empty(r *Runtime) {
	q.mu.Lock()
	held := q.held
	q.held = nil
	for _, n := range held {
		q.read = append(q.read, n.ID())
	}
	q.mu.Unlock()
	for _, n := range held {
		r.Delivered(n.ID())
	}
}

// claims takes the claim of a call that lasts for d, and returns the ends that it tells.
func claims(r *Runtime, id ID, carrier string, d time.Duration, during func()) (ends []string) {
	c, err := r.Claim([]ID{id}, carrier)
	if err != nil {
		return nil // it is over, told and forgotten
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	during()
	_, _ = r.Wait(ctx, []ID{id}, Condition{}) // it may not end in time
	for _, s := range c.Take() {
		if s.Status.Terminal() && s.Carrier == carrier {
			ends = append(ends, string(s.ID))
		}
	}
	r.Delivered(carrier)
	return ends
}

func TestClaimedEndHasNoNotification(t *testing.T) {
	t.Parallel()
	for name, held := range map[string]bool{"the end comes while it waits": false, "the end waits to be read": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &queue{}
				rt := newRuntime(t, Options{Notifier: q})
				tk := start(t, rt, Spec{Background: true}, takes(time.Second, nil))
				if held {
					<-tk.Done()
				}
				if got := claims(rt, tk.ID, "toolu_2", time.Hour, func() {}); len(got) != 1 {
					t.Errorf("the call tells %q, want the end", got)
				}
				q.empty(rt)
				if s := tk.Snapshot(); len(q.read) != 0 || !s.Told || s.Carrier != "toolu_2" {
					t.Errorf("notifications %q besides; %+v", q.read, s)
				}
			})
		})
	}
}

// A call that gives up before the end must not keep the end from being told.
func TestClaimGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		rt := newRuntime(t, Options{Notifier: q})
		tk := start(t, rt, Spec{Background: true}, takes(time.Minute, nil))
		if got := claims(rt, tk.ID, "toolu_2", time.Second, func() {}); got != nil {
			t.Errorf("the call tells %q before the end", got)
		}
		<-tk.Done()
		q.empty(rt)
		if len(q.read) != 1 {
			t.Errorf("read %q, want the end", q.read)
		}
	})
}

func TestModelKnowsOfTheEndThatItAskedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		rt := newRuntime(t, Options{Notifier: q})
		tk := start(t, rt, Spec{Background: true}, takes(ages, nil))
		synctest.Wait()
		got := claims(rt, tk.ID, "toolu_2", time.Hour, func() {
			if err := rt.Kill(tk.ID, ErrStopped); err != nil {
				t.Error(err)
			}
		})
		q.empty(rt)
		if s := tk.Snapshot(); len(got) != 1 || len(q.read) != 0 || s.Reason != ReasonStoppedByModel || !s.Told {
			t.Errorf("the call tells %q, notifications %q, %+v", got, q.read, s)
		}
	})
}

func TestClaimOfAnUnknownTask(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, Options{})
	if _, err := rt.Claim([]ID{"b00000000"}, "x"); !errors.Is(err, ErrNotRunning) || !strings.Contains(fmt.Sprint(err), "b00000000") {
		t.Errorf("Claim = %v", err)
	}
}

// Whatever happens to a task at whatever moment, exactly one party tells its end: the
// call that started it, a call that claimed it, or a notification.
func TestEndIsToldExactlyOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		moment := rapid.IntRange(0, 4)
		at := map[string]int{}
		for _, what := range []string{"lasts", "budget", "background", "cancel", "kill", "stop", "claim", "claim 2", "read", "read 2"} {
			at[what] = moment.Draw(rt, what)
		}
		claimLasts := rapid.IntRange(1, 3).Draw(rt, "claim lasts")
		synctest.Test(t, func(t *testing.T) {
			q := &queue{}
			r := newRuntime(t, Options{Notifier: q})
			seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
			tk := start(t, r, Spec{ToolUseID: "toolu_1"}, takes(seconds(at["lasts"]), nil))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var calls sync.WaitGroup
			told := make(chan []string, 10)
			claim := func(carrier string, during func()) func() {
				return func() {
					calls.Go(func() { told <- claims(r, tk.ID, carrier, seconds(claimLasts), during) })
				}
			}
			for what, do := range map[string]func(){
				"background": tk.Background,
				"cancel":     cancel,
				"kill":       func() { _ = r.Kill(tk.ID, ErrKilled) }, // it may be over
				"stop":       claim("stop", func() { _ = r.Kill(tk.ID, ErrStopped) }),
				"claim":      claim("claim", func() {}),
				"claim 2":    claim("claim2", func() {}),
				"read":       func() { q.empty(r) },
				"read 2":     func() { q.empty(r) },
			} {
				if at[what] > 0 {
					time.AfterFunc(seconds(at[what]), do)
				}
			}
			knows := 0
			if tk.Attach(ctx, seconds(at["budget"])) == Finished {
				knows++
				r.Delivered("toolu_1")
			}
			<-tk.Done()
			time.Sleep(10 * time.Second)
			calls.Wait()
			close(told)
			for ends := range told {
				knows += len(ends)
			}
			q.empty(r)
			knows += len(q.read)
			if s := tk.Snapshot(); knows != 1 || !s.Told {
				rt.Fatalf("told %d times; %+v", knows, s)
			}
		})
	})
}
