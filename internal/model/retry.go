package model

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"time"

	"heddle/internal/message"
)

// Policy says how often and how long a [Client] tries. The zero value is for a
// person who waits.
type Policy struct {
	// Tries is the number of attempts in all. 0 means 8.
	Tries int
	// Patience is how long after the first failure an attempt may still start,
	// and how long a request waits for a provider that asked for a pause before.
	// 0 means three minutes; less than 0, any time.
	Patience time.Duration
	// Resends is how many attempts may follow ones that broke off after
	// something of the answer had been delivered. 0 means one; less than 0, none.
	Resends int
}

const (
	defaultTries    = 8
	defaultPatience = 3 * time.Minute
	defaultResends  = 1

	firstDelay   = time.Second // doubled with each failure
	longestDelay = 32 * time.Second
)

func (p Policy) withDefaults() Policy {
	if p.Tries == 0 {
		p.Tries = defaultTries
	}
	if p.Patience == 0 {
		p.Patience = defaultPatience
	}
	if p.Resends == 0 {
		p.Resends = defaultResends
	}
	return p
}

// Client is a [Provider] that tries again when an attempt failed in a way that
// passes. A stream of it has at most one [Response].
type Client struct {
	provider Provider
	gate     *Gate
	policy   Policy
	prefixes prefixes
}

// NewClient returns a client of p. Clients of one provider share a gate; nil
// means one of its own.
func NewClient(p Provider, g *Gate, policy Policy) *Client {
	if g == nil {
		g = NewGate(0)
	}
	return &Client{provider: p, gate: g, policy: policy.withDefaults()}
}

// Name is the name of the provider.
func (c *Client) Name() string { return c.provider.Name() }

// EncodePrefix serialises what stands before the messages. Conversations that begin alike
// share the bytes, so nobody may change them.
func (c *Client) EncodePrefix(p Prompt) []byte { return c.prefixes.of(p, c.provider.EncodePrefix) }

// EncodeMessage serialises one message.
func (c *Client) EncodeMessage(m message.Message) []byte { return c.provider.EncodeMessage(m) }

// Stream asks until there is an answer, or trying again is pointless, or the
// policy says that it is enough. Before each further attempt it yields [Retrying].
func (c *Client) Stream(ctx context.Context, r *Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if d, cause := c.gate.Closed(); c.policy.Patience >= 0 && d > c.policy.Patience && cause != nil {
			yield(nil, cause)
			return
		}
		s := stream{Client: c, yield: yield}
		for n := 1; ; n++ {
			err := s.attempt(ctx, r)
			if s.over {
				return
			}
			again, ok := s.another(n, err)
			if ctx.Err() != nil {
				err, ok = context.Cause(ctx), false
			}
			if !ok {
				yield(nil, err)
				return
			}
			if !yield(again, nil) {
				return
			}
			if err := s.rest(ctx, again); err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// stream is one call of [Client.Stream].
type stream struct {
	*Client
	yield func(Event, error) bool
	over  bool // the response was delivered, or the consumer left

	delivered bool // deltas, in this attempt
	resends   int
	giveUp    time.Time // no attempt starts later; zero before the first failure
}

// attempt makes one attempt and passes on what it brings. It returns why it failed.
func (s *stream) attempt(ctx context.Context, r *Request) error {
	leave, err := s.gate.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s.delivered = false
	for ev, err := range s.provider.Stream(ctx, r) {
		if err != nil {
			return err
		}
		switch ev.(type) {
		case Started:
		case Response:
			s.over = true
		default:
			s.delivered = true
		}
		if !s.yield(ev, nil) {
			s.over = true
		}
		if s.over {
			return nil
		}
	}
	return &Error{Provider: s.Name(), Class: Cut, Message: "the stream ended without a response"}
}

// another decides whether attempt n, which failed with err, is followed by another.
func (s *stream) another(n int, err error) (Retrying, bool) {
	var e *Error
	if !errors.As(err, &e) {
		return Retrying{}, false
	}
	if s.closesGate(e) {
		s.gate.Close(e.RetryAfter, e)
	}
	if !e.Temporary() || n >= s.policy.Tries {
		return Retrying{}, false
	}
	if s.delivered {
		if s.resends++; s.resends > s.policy.Resends {
			return Retrying{}, false
		}
	}
	delay := e.RetryAfter
	if delay <= 0 {
		delay = backoff(n)
	}
	now := time.Now()
	if s.giveUp.IsZero() {
		s.giveUp = now.Add(s.policy.Patience)
	}
	if s.policy.Patience >= 0 && now.Add(delay).After(s.giveUp) {
		return Retrying{}, false
	}
	return Retrying{Attempt: n, Max: s.policy.Tries, Delay: delay, Err: e, Discard: s.delivered}, true
}

// closesGate reports whether e concerns every request to the provider.
func (s *stream) closesGate(e *Error) bool {
	return e.RetryAfter > 0 && (e.Class == RateLimited || e.Class == Overloaded)
}

// rest waits before the attempt that again announces. Where the gate is closed,
// it does the waiting, in its own order.
func (s *stream) rest(ctx context.Context, again Retrying) error {
	if s.closesGate(again.Err) {
		return nil
	}
	return pause(ctx, again.Delay)
}

// backoff is how long to wait after failure n: a random part of a time that
// doubles, so that those who failed together do not return together.
func backoff(n int) time.Duration {
	limit := longestDelay
	if n < 6 {
		limit = firstDelay << (n - 1)
	}
	return rand.N(limit)
}
