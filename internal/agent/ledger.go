package agent

import (
	"sync"

	"heddle/internal/message"
)

// Spending is what requests have cost, or may cost.
type Spending struct {
	USD float64
	// Tokens are those that a model read or wrote, without those that came from a cache.
	Tokens int
}

// spending is what one answer cost.
func spending(u message.Usage, usd float64) Spending {
	return Spending{USD: usd, Tokens: u.Prompt() - u.CacheRead + u.Output}
}

// Ledger adds up what an agent and all that work for it have cost. Whoever starts an agent
// gives it a ledger below its own, so that no budget is spent twice. It is safe for use by
// several goroutines; a nil ledger is one without a limit that nobody reads.
type Ledger struct {
	above *Ledger
	limit Spending // what is 0 has no limit of its own

	mu    sync.Mutex
	spent Spending
}

// NewLedger returns the ledger of an agent without anyone above it. What is 0 in limit has
// none.
func NewLedger(limit Spending) *Ledger { return &Ledger{limit: limit} }

// Below returns a ledger whose costs count here, too. Its limit can only narrow what is
// left here.
func (l *Ledger) Below(limit Spending) *Ledger { return &Ledger{above: l, limit: limit} }

// Add writes down a cost, here and above.
func (l *Ledger) Add(s Spending) {
	for ; l != nil; l = l.above {
		l.mu.Lock()
		l.spent.USD += s.USD
		l.spent.Tokens += s.Tokens
		l.mu.Unlock()
	}
}

// Spent is what was written down.
func (l *Ledger) Spent() Spending {
	if l == nil {
		return Spending{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// Used is the share of the limit that is spent, here or, where that is more, above: 1 and
// more is all of it.
func (l *Ledger) Used() float64 {
	used := 0.0
	for ; l != nil; l = l.above {
		s := l.Spent()
		if l.limit.USD > 0 {
			used = max(used, s.USD/l.limit.USD)
		}
		if l.limit.Tokens > 0 {
			used = max(used, float64(s.Tokens)/float64(l.limit.Tokens))
		}
	}
	return used
}

// Exhausted reports whether nothing is left, here or anywhere above.
func (l *Ledger) Exhausted() bool { return l.Used() >= 1 }
