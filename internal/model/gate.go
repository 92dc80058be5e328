package model

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// Gate lets the requests of all agents through to one provider. It limits how
// many are open at once, and when the provider asks for a pause it holds back
// all of them, then lets them start one after another. It is safe for use by
// many goroutines.
type Gate struct {
	mu      sync.Mutex
	limit   int // of open requests; 0: none
	open    int
	waiting []chan struct{} // for a place, the first in line first; closed when given one

	closedUntil time.Time // no request starts before
	cause       *Error    // why it is closed
	calmFrom    time.Time // from here on, starts are not spread any more
	next        time.Time // the earliest start that is not taken yet, while starts are spread
}

const (
	// spread is the least time between two starts after a pause. Each is followed
	// by up to as much again at random, so that processes that share a key
	// do not keep step either.
	spread = 25 * time.Millisecond
	// calm is how long after a pause starts are spread.
	calm = time.Second
	// longestPause bounds what one answer of a provider can do to all agents.
	longestPause = time.Hour
)

// NewGate returns an open gate that lets limit requests be open at once, or any
// number if limit is 0.
func NewGate(limit int) *Gate { return &Gate{limit: limit} }

// SetLimit changes how many requests may be open at once; 0 means any number.
// What is open stays open.
func (g *Gate) SetLimit(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
	g.admit()
}

// Enter waits until a request may start, or ctx is done. The caller calls leave
// when the request is over; further calls of it do nothing.
func (g *Gate) Enter(ctx context.Context) (leave func(), err error) {
	if err := g.takePlace(ctx); err != nil {
		return nil, err
	}
	for {
		wait := g.untilStart()
		if wait <= 0 {
			return sync.OnceFunc(g.leave), nil
		}
		// Meanwhile the gate may be closed anew, so it is asked again.
		if err := pause(ctx, wait); err != nil {
			g.leave()
			return nil, err
		}
		if g.passable() {
			return sync.OnceFunc(g.leave), nil
		}
	}
}

// Close lets no request start for d, because of err.
func (g *Gate) Close(d time.Duration, err *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	until := time.Now().Add(min(d, longestPause))
	if !until.After(g.closedUntil) {
		return
	}
	g.closedUntil, g.cause = until, err
	g.calmFrom = until.Add(calm)
	if first := until.Add(rand.N(spread)); first.After(g.next) {
		g.next = first
	}
}

// Closed reports how long no request may start, and why.
func (g *Gate) Closed() (time.Duration, *Error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := time.Until(g.closedUntil)
	if d <= 0 {
		return 0, nil
	}
	return d, g.cause
}

func (g *Gate) takePlace(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g.mu.Lock()
	if len(g.waiting) == 0 && (g.limit <= 0 || g.open < g.limit) {
		g.open++
		g.mu.Unlock()
		return nil
	}
	place := make(chan struct{})
	g.waiting = append(g.waiting, place)
	g.mu.Unlock()
	select {
	case <-place:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, place); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else { // given a place at the same moment
		g.open--
		g.admit()
	}
	return context.Cause(ctx)
}

func (g *Gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	g.admit()
}

// admit gives free places to those who wait. The caller holds mu.
func (g *Gate) admit() {
	for len(g.waiting) > 0 && (g.limit <= 0 || g.open < g.limit) {
		g.open++
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
	}
}

// untilStart takes the next start and returns how far off it is.
func (g *Gate) untilStart() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	start := now
	if g.next.After(now) {
		start = g.next
	} else if !now.Before(g.calmFrom) {
		return 0
	}
	g.next = start.Add(spread + rand.N(spread))
	return start.Sub(now)
}

func (g *Gate) passable() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !time.Now().Before(g.closedUntil)
}

// pause waits for d. It returns the cause when ctx is done before.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
