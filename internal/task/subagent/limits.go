package subagent

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/task"
)

// Limits bound the agents of a session. What is 0 has its default.
type Limits struct {
	Depth   int // of agents below the main conversation; 1
	Running int // at once; 20
	Total   int // of a session; 200
	// Silence is how long an agent may give no sign of life: no word of the model, no tool
	// that runs; 10 minutes.
	Silence time.Duration
	// Each bounds every agent; what is 0 in it has no limit.
	Each Budget
}

func (l Limits) withDefaults() Limits {
	l.Depth, l.Running, l.Total = cmp.Or(l.Depth, 1), cmp.Or(l.Running, 20), cmp.Or(l.Total, 200)
	l.Silence = cmp.Or(l.Silence, 10*time.Minute)
	return l
}

// Budget is how much one agent may use up, with all that work for it. What is 0 has no
// limit of its own: that of whoever sent it holds all the same.
type Budget struct {
	agent.Spending
	Turns int // answers of the model
	Time  time.Duration
}

// narrowed is the budget with fewer turns, if there may be no more.
func (b Budget) narrowed(turns int) Budget {
	if turns > 0 && (b.Turns == 0 || turns < b.Turns) {
		b.Turns = turns
	}
	return b
}

// near is the share of a budget from which on an agent should come to its end.
const near = 0.8

// remind tells the agent, once, that it nears the end of its budget.
func (n *run) remind(turns int) []agent.Input {
	if n.warned {
		return nil
	}
	why := n.nearing(n.turns + turns)
	if why == "" {
		return nil
	}
	n.warned = true
	text := "<budget>\n" + why + " Wind up: begin nothing new, and give your final answer with what you have. Say what is missing.\n</budget>"
	return []agent.Input{{Content: message.FromUser(text).Content, Origin: agent.System}}
}

// nearing says which limit is near; empty: none is.
func (n *run) nearing(turns int) string {
	left := n.budget.Turns - turns
	passed := time.Since(n.started)
	switch {
	case n.budget.Turns > 0 && left <= max(1, n.budget.Turns/10):
		return fmt.Sprintf("You may answer %d more times, this one included.", left)
	case n.ledger.Used() >= near:
		return "Your budget is nearly used up."
	case n.budget.Time > 0 && float64(passed) >= near*float64(n.budget.Time):
		return fmt.Sprintf("Your time is nearly over: %v of %v have passed.", passed.Round(time.Second), n.budget.Time)
	}
	return ""
}

// deadline ends the agent when its time is over. stop makes it do no more.
func (n *run) deadline(t *task.Task) (stop func()) {
	if n.budget.Time <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(n.budget.Time, func() {
		t.Stop(fmt.Errorf("%w: it was to take %v at most", task.ErrTimeout, n.budget.Time))
	})
	return func() { timer.Stop() }
}

// pulse ends an agent that gives no sign of life. What the model says is one, and as long
// as a tool runs, its silence is its own affair: tools have limits of their own, and some
// have nothing to say for long.
type pulse struct {
	limit time.Duration
	timer *time.Timer
	tools int // that run
}

func (n *run) feel(t *task.Task) *pulse {
	limit := n.s.o.Limits.Silence
	return &pulse{limit: limit, timer: time.AfterFunc(limit, func() {
		t.Stop(fmt.Errorf("%w: it gave no sign of life for %v", task.ErrTimeout, limit))
	})}
}

// beat is called at each event of a run.
func (p *pulse) beat(ev agent.Event) {
	switch ev.(type) {
	case agent.ToolBegan:
		p.tools++
	case agent.ToolEnded:
		p.tools--
	}
	if p.tools > 0 {
		p.timer.Stop()
	} else {
		p.timer.Reset(p.limit)
	}
}

func (p *pulse) stop() { p.timer.Stop() }

// pause waits for a while, or until ctx or wake is done.
func pause(ctx context.Context, wake <-chan struct{}, most time.Duration) {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-wake:
	case <-timer.C:
	case <-ctx.Done():
	}
}
