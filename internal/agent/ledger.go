package agent

import "sync"

// Ledger adds up what an agent and all that work for it have cost. Whoever starts an agent
// gives it a ledger below its own, so that no budget is spent twice. It is safe for use by
// several goroutines; a nil ledger is one without a limit that nobody reads.
type Ledger struct {
	above *Ledger
	limit float64 // US dollars; 0: none of its own

	mu    sync.Mutex
	spent float64
}

// NewLedger returns the ledger of an agent without anyone above it. A limit of 0 is none.
func NewLedger(limit float64) *Ledger { return &Ledger{limit: limit} }

// Below returns a ledger whose costs count here, too. Its limit can only narrow what is
// left here.
func (l *Ledger) Below(limit float64) *Ledger { return &Ledger{above: l, limit: limit} }

// Add writes down a cost, here and above.
func (l *Ledger) Add(usd float64) {
	for ; l != nil; l = l.above {
		l.mu.Lock()
		l.spent += usd
		l.mu.Unlock()
	}
}

// Spent is what was written down.
func (l *Ledger) Spent() float64 {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.spent
}

// Exhausted reports whether nothing is left, here or anywhere above.
func (l *Ledger) Exhausted() bool {
	for ; l != nil; l = l.above {
		if l.limit > 0 && l.Spent() >= l.limit {
			return true
		}
	}
	return false
}
