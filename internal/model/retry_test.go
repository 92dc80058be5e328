package model

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"heddle/internal/message"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// play is a provider whose attempts are written down: events, then an error.
type play struct {
	attempts []attempt // the last one is played for ever
	at       []time.Time
}

type attempt struct {
	events []Event
	err    error
	takes  time.Duration
}

func (p *play) Name() string                         { return "play" }
func (p *play) EncodePrefix(Prompt) []byte           { return []byte("prefix") }
func (p *play) EncodeMessage(message.Message) []byte { return []byte("message") }

func (p *play) Stream(ctx context.Context, _ *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		a := p.attempts[min(len(p.at), len(p.attempts)-1)]
		p.at = append(p.at, time.Now())
		if err := pause(ctx, a.takes); err != nil {
			yield(nil, err)
			return
		}
		for _, e := range a.events {
			if !yield(e, nil) {
				return
			}
		}
		if a.err != nil {
			yield(nil, a.err)
		}
	}
}

// collect reads a stream to its end.
func collect(ctx context.Context, p Provider) (retries []Retrying, responses int, err error) {
	for ev, e := range p.Stream(ctx, &Request{}) {
		err = e
		switch ev := ev.(type) {
		case Retrying:
			retries = append(retries, ev)
		case Response:
			responses++
		}
	}
	return retries, responses, err
}

var (
	fine     = attempt{events: []Event{Started{}, TextDelta{Text: "a"}, Response{}}}
	busy     = attempt{err: &Error{Provider: "play", Class: Overloaded, Status: 529}}
	cutShort = attempt{events: []Event{Started{}, TextDelta{Text: "a"}}, err: &Error{Class: Cut}}
)

func TestDelaysGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sums [8]time.Duration
		const rounds = 50
		for range rounds {
			p := &play{attempts: []attempt{busy}}
			retries, responses, err := collect(t.Context(), NewClient(p, nil, Policy{}))
			var e *Error
			if !errors.As(err, &e) || e.Class != Overloaded || responses != 0 {
				t.Fatalf("error %v, %d responses", err, responses)
			}
			if len(p.at) != 8 || len(retries) != 7 {
				t.Fatalf("%d attempts, %d announced, want 8 and 7", len(p.at), len(retries))
			}
			for i, r := range retries {
				limit := min(time.Second<<i, 32*time.Second)
				if r.Delay < 0 || r.Delay > limit || r.Attempt != i+1 || r.Max != 8 || r.Discard || p.at[i+1].Sub(p.at[i]) != r.Delay {
					t.Errorf("retry %+v, at most %v, and %v passed", r, limit, p.at[i+1].Sub(p.at[i]))
				}
				sums[i] += r.Delay
			}
		}
		if sums[5] < 4*sums[0] {
			t.Errorf("delays do not grow: %v", sums)
		}
	})
}

func TestRetryAfterIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, class := range []Class{RateLimited, ServerError} {
			p := &play{attempts: []attempt{{err: &Error{Class: class, RetryAfter: 7 * time.Second}}, fine}}
			if _, responses, err := collect(t.Context(), NewClient(p, nil, Policy{})); err != nil || responses != 1 {
				t.Fatalf("%d responses, error %v", responses, err)
			}
			if gap := p.at[1].Sub(p.at[0]); gap < 7*time.Second || gap > 7100*time.Millisecond {
				t.Errorf("%s: asked again after %v, want 7s", class, gap)
			}
		}
	})
}

// A provider that asks for more patience than there is gets no further
// attempt, and nobody waits in vain.
func TestPatienceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := attempt{err: &Error{Class: RateLimited, RetryAfter: time.Hour}}
		p, g := &play{attempts: []attempt{long, fine}}, NewGate(0)
		begin := time.Now()
		for range 2 { // the second finds the gate closed
			_, responses, err := collect(t.Context(), NewClient(p, g, Policy{}))
			var e *Error
			if !errors.As(err, &e) || e.RetryAfter != time.Hour || !strings.Contains(err.Error(), "asks to wait for 1h0m0s") || responses != 0 {
				t.Errorf("%d responses, error %v", responses, err)
			}
		}
		if len(p.at) != 1 || time.Since(begin) != 0 {
			t.Errorf("%d attempts in %v, want one and no waiting", len(p.at), time.Since(begin))
		}
		if _, responses, err := collect(t.Context(), NewClient(p, g, Policy{Patience: -1})); err != nil || responses != 1 {
			t.Errorf("without a limit: %d responses, error %v", responses, err)
		}
		if time.Since(begin) < time.Hour {
			t.Errorf("answered after %v, want an hour", time.Since(begin))
		}

		slow := &play{attempts: []attempt{{takes: 70 * time.Second, err: &Error{Class: Silent}}}}
		if _, _, err := collect(t.Context(), NewClient(slow, nil, Policy{})); err == nil {
			t.Error("no error")
		}
		if len(slow.at) != 3 && len(slow.at) != 4 {
			t.Errorf("%d attempts of 70s, want those that start within three minutes of the first failure", len(slow.at))
		}
	})
}

// An answer that breaks off after minutes is still asked for again.
func TestPatienceBeginsWithTheFirstFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long := cutShort
		long.takes = 10 * time.Minute
		p := &play{attempts: []attempt{long, fine}}
		retries, responses, err := collect(t.Context(), NewClient(p, nil, Policy{}))
		if err != nil || responses != 1 || len(retries) != 1 || !retries[0].Discard {
			t.Errorf("%d responses, error %v, retries %+v", responses, err, retries)
		}
	})
}

// What was shown is asked for once more, however many tries are left.
func TestDeliveredAnswerIsResentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for resends, want := range map[int]int{0: 2, 3: 4, -1: 1} {
			p := &play{attempts: []attempt{cutShort}}
			if _, responses, err := collect(t.Context(), NewClient(p, nil, Policy{Resends: resends})); err == nil || responses != 0 {
				t.Errorf("%d responses, error %v", responses, err)
			}
			if len(p.at) != want {
				t.Errorf("%d attempts with Resends %d, want %d", len(p.at), resends, want)
			}
		}
		// Failures before anything was shown do not count.
		p := &play{attempts: []attempt{busy, cutShort, busy, busy, fine}}
		if _, responses, err := collect(t.Context(), NewClient(p, nil, Policy{})); err != nil || responses != 1 {
			t.Errorf("%d responses, error %v", responses, err)
		}
	})
}

func TestNothingAfterTheResponse(t *testing.T) {
	p := &play{attempts: []attempt{{events: []Event{Response{}, Response{}, TextDelta{}}, err: &Error{Class: Cut}}}}
	retries, responses, err := collect(t.Context(), NewClient(p, nil, Policy{}))
	if responses != 1 || err != nil || len(retries) != 0 {
		t.Errorf("%d responses, error %v, retries %v", responses, err, retries)
	}
}

// A provider that ends without a word has failed.
func TestStreamWithoutAnEndIsCut(t *testing.T) {
	p := &play{attempts: []attempt{{events: []Event{Started{}}}}}
	_, _, err := collect(t.Context(), NewClient(p, nil, Policy{Tries: 1}))
	var e *Error
	if !errors.As(err, &e) || e.Class != Cut || e.Provider != "play" {
		t.Errorf("error %v", err)
	}
}

func TestPermanentErrorsAreTriedOnce(t *testing.T) {
	for _, err := range []error{
		&Error{Class: BadRequest},
		&Error{Class: QuotaExceeded, RetryAfter: time.Second},
		&Error{Class: Overloaded, NoRetry: true},
		errors.New("a bug"),
	} {
		p := &play{attempts: []attempt{{err: err}}}
		if _, _, got := collect(t.Context(), NewClient(p, nil, Policy{})); got != err || len(p.at) != 1 {
			t.Errorf("%d attempts, error %v, want one and %v", len(p.at), got, err)
		}
	}
	p := &play{attempts: []attempt{{err: &Error{Class: BadRequest, Retry: true, RetryAfter: 1}}, fine}}
	if _, responses, err := collect(t.Context(), NewClient(p, nil, Policy{})); responses != 1 || err != nil {
		t.Errorf("x-should-retry: %d responses, error %v", responses, err)
	}
}

func TestCancelEndsTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reason := errors.New("stopped")
		for _, a := range []attempt{
			{err: &Error{Class: RateLimited, RetryAfter: time.Minute}}, // at the gate
			{err: &Error{Class: ServerError, RetryAfter: time.Minute}}, // on its own
			{takes: time.Hour}, // within an attempt
		} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Second, func() { cancel(reason) })
			begin := time.Now()
			_, _, err := collect(ctx, NewClient(&play{attempts: []attempt{a}}, nil, Policy{}))
			if !errors.Is(err, reason) || time.Since(begin) != time.Second {
				t.Errorf("error %v after %v, want the cause after 1s", err, time.Since(begin))
			}
		}
	})
}

// The place at the gate is free again, however a stream ends.
func TestClientLeavesTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		c := NewClient(&play{attempts: []attempt{busy, cutShort, fine}}, g, Policy{})
		for range c.Stream(t.Context(), &Request{}) {
			break
		}
		if _, responses, err := collect(t.Context(), c); responses != 1 || err != nil {
			t.Errorf("%d responses, error %v", responses, err)
		}
		for ev := range c.Stream(t.Context(), &Request{}) {
			if _, ok := ev.(TextDelta); ok {
				break
			}
		}
		soon, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := g.Enter(soon); err != nil {
			t.Errorf("the gate is still taken: %v", err)
		}
	})
}

func TestClientIsAProvider(t *testing.T) {
	var p Provider = NewClient(&play{}, nil, Policy{})
	if p.Name() != "play" || string(p.EncodePrefix(Prompt{})) != "prefix" || string(p.EncodeMessage(message.Message{})) != "message" {
		t.Error("a client does not pass on what it does not do itself")
	}
}
