package model

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// starts lets n requests in at once and returns when each started. Each stays for d.
func starts(t *testing.T, g *Gate, n int, d time.Duration) []time.Time {
	var mu sync.Mutex
	var at []time.Time
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			leave, err := g.Enter(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			at = append(at, time.Now())
			mu.Unlock()
			<-time.After(d)
			leave()
			leave() // does nothing
		})
	}
	all.Wait()
	slices.SortFunc(at, time.Time.Compare)
	return at
}

func TestOpenGateHoldsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		for i, at := range starts(t, NewGate(0), 50, time.Second) {
			if !at.Equal(begin) {
				t.Errorf("request %d started %v late", i, at.Sub(begin))
			}
		}
	})
}

func TestGateLimitsOpenRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		g := NewGate(2)
		for i, at := range starts(t, g, 6, time.Second) {
			if want := begin.Add(time.Duration(i/2) * time.Second); !at.Equal(want) {
				t.Errorf("request %d started after %v, want %v", i, at.Sub(begin), want.Sub(begin))
			}
		}
		g.SetLimit(3)
		begin = time.Now()
		if at := starts(t, g, 6, time.Second); at[5].Sub(begin) != time.Second {
			t.Errorf("with a limit of three, six requests started within %v, want 1s", at[5].Sub(begin))
		}
	})
}

func TestRaisedLimitLetsWaitingIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		begin := time.Now()
		time.AfterFunc(100*time.Millisecond, func() { g.SetLimit(0) })
		if at := starts(t, g, 5, time.Hour); at[4].Sub(begin) != 100*time.Millisecond {
			t.Errorf("the last of five started after %v, want 100ms", at[4].Sub(begin))
		}
	})
}

func TestClosedGateOpensOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		begin := time.Now()
		g.Close(3*time.Second, &Error{Class: RateLimited})
		g.Close(time.Second, &Error{Class: Overloaded}) // does not shorten it
		if d, cause := g.Closed(); d != 3*time.Second || cause.Class != RateLimited {
			t.Errorf("Closed() = %v, %v", d, cause)
		}
		at := starts(t, g, 20, time.Second)
		if at[0].Before(begin.Add(3 * time.Second)) {
			t.Errorf("a request started after %v, want 3s", at[0].Sub(begin))
		}
		for i := 1; i < len(at); i++ {
			if gap := at[i].Sub(at[i-1]); gap < 20*time.Millisecond || gap > 60*time.Millisecond {
				t.Errorf("requests %d and %d are %v apart", i-1, i, gap)
			}
		}
		if d, cause := g.Closed(); d != 0 || cause != nil {
			t.Errorf("Closed() = %v, %v, want open", d, cause)
		}
	})
}

// Requests that come just after the pause do not start together either.
func TestLateComersAreSpreadToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		g.Close(time.Second, &Error{})
		<-time.After(1500 * time.Millisecond)
		at := starts(t, g, 5, 0)
		if gap := at[4].Sub(at[0]); gap < 80*time.Millisecond {
			t.Errorf("five requests half a second after a pause started within %v", gap)
		}
		<-time.After(time.Minute)
		at = starts(t, g, 5, 0)
		if gap := at[4].Sub(at[0]); gap != 0 {
			t.Errorf("five requests a minute after a pause started within %v, want at once", gap)
		}
	})
}

func TestGateClosedAnewHoldsThoseWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		begin := time.Now()
		g.Close(time.Second, &Error{})
		time.AfterFunc(900*time.Millisecond, func() { g.Close(5*time.Second, &Error{}) })
		for i, at := range starts(t, g, 10, 0) {
			if at.Sub(begin) < 5900*time.Millisecond {
				t.Errorf("request %d started after %v, want 5.9s", i, at.Sub(begin))
			}
		}
	})
}

func TestPauseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		g.Close(1000*time.Hour, &Error{})
		if d, _ := g.Closed(); d != time.Hour {
			t.Errorf("closed for %v, want an hour at most", d)
		}
	})
}

// Whoever stops waiting leaves no trace: neither a place taken nor a place lost.
func TestWaitingAtTheGateCanBeCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		leave, err := g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		reason := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := make(chan error)
		go func() {
			_, err := g.Enter(ctx)
			failed <- err
		}()
		synctest.Wait()
		cancel(reason)
		if err := <-failed; !errors.Is(err, reason) {
			t.Errorf("Enter = %v, want the cause", err)
		}
		leave()
		g.Close(time.Hour, &Error{})
		soon, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := g.Enter(soon); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Enter of a closed gate = %v", err)
		}
		<-time.After(2 * time.Hour)
		leave, err = g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leave()
		if _, err := g.Enter(ctx); !errors.Is(err, reason) {
			t.Errorf("Enter with a done context = %v", err)
		}
	})
}

// A place that is given at the moment of the cancellation goes to the next in line.
func TestPlaceGivenWhileCancelledIsPassedOn(t *testing.T) {
	for range 200 {
		g := NewGate(1)
		leave, err := g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var both sync.WaitGroup
		both.Go(func() {
			if leave, err := g.Enter(ctx); err == nil {
				leave()
			}
		})
		both.Go(cancel)
		leave()
		both.Wait()
		leave, err = g.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leave()
	}
}
