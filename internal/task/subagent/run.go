package subagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"heddle/internal/agent"
	"heddle/internal/mail"
	"heddle/internal/message"
	"heddle/internal/minutes"
	"heddle/internal/model"
	"heddle/internal/roster"
	"heddle/internal/task"
	"heddle/internal/tool"
	"heddle/internal/transcript"
	"heddle/internal/worktree"
)

// run is one agent. It is a [task.Runner].
type run struct {
	s       *Spawner
	def     *roster.Agent
	fork    bool
	prompt  string
	depth   int
	choice  agent.Choice
	pool    *tool.Pool
	scope   *tool.Scope
	context *agent.Context
	ledger  *agent.Ledger
	unknown []string // entries of its lists of tools that mean none
	started time.Time

	isolated bool
	base     worktree.Base
	tree     *worktree.Tree     // its own checkout; nil: it works where its caller does
	guard    Watcher            // nil: nobody has a say
	log      *transcript.Writer // nil: none is kept
	progress progress
}

// Run is the life of the agent.
func (n *run) Run(ctx context.Context, t *task.Task) error {
	if n.isolated {
		if err := n.isolate(ctx, t); err != nil {
			return err
		}
	}
	n.scope.Agent = string(t.ID)
	n.s.mu.Lock()
	n.s.running[t.ID] = n
	n.s.mu.Unlock()
	defer n.s.leave(t.ID)
	inbox := n.s.o.Office.Open(t.ID)
	defer n.s.o.Office.Close(t.ID)
	n.s.o.Gate.Begin(string(t.ID))
	if err := n.open(t); err != nil {
		return fmt.Errorf("keep what the agent says: %w", err)
	}
	defer n.close()
	n.progress.begin(n, t)
	if n.s.o.Watch != nil {
		n.guard = n.s.o.Watch(n.scope, n.def.Name)
	}
	input := append(n.place(), n.first(ctx)...)
	for {
		end := n.turn(ctx, t, inbox, input)
		if end.Reason != agent.Completed || ctx.Err() != nil {
			return n.verdict(ctx, t, end)
		}
		if input = n.wait(ctx, t, inbox); input == nil {
			return n.verdict(ctx, t, end)
		}
	}
}

// first is the first message. That of a fork stands in its history already.
func (n *run) first(ctx context.Context) []agent.Input {
	add := ""
	if n.guard != nil {
		add = n.guard.Begin(ctx)
	}
	if n.fork {
		if add == "" {
			return nil
		}
		return []agent.Input{{Content: message.FromUser(add).Content, Origin: agent.System}}
	}
	content := message.FromUser(n.prompt).Content
	if add != "" {
		content = append(content, message.Text{Text: add})
	}
	return []agent.Input{{Content: content, Origin: agent.FromAgent}}
}

// open begins the side transcript.
func (n *run) open(t *task.Task) error {
	path := n.s.transcript(t.ID)
	if path == "" {
		return nil
	}
	w, err := transcript.Create(path, transcript.Header{Session: string(t.ID), Dir: n.scope.Dir(), Program: n.s.o.Version, Model: n.choice.Info.ID, Start: n.started})
	n.log = w
	return err
}

func (n *run) close() {
	if n.log != nil {
		_ = n.log.Close() // what could not be written has been kept as long as there was a point
	}
}

// turn works on input until the model has nothing more to do.
func (n *run) turn(ctx context.Context, t *task.Task, inbox *mail.Queue, input []agent.Input) (end agent.Ended) {
	cfg := agent.Config{
		Context: n.context, Tools: n.pool, Inbox: inbox, Depth: n.depth, Ledger: n.ledger,
		Choose: func() agent.Choice { return n.choice },
		Agent:  model.Agent{ID: string(t.ID), Type: n.def.Name},
		Limits: agent.Limits{Turns: n.def.MaxTurns},
	}
	if n.guard != nil {
		cfg.Guard = n.guard
	}
	if n.s.o.Brief != nil && !n.fork {
		cfg.Brief = func() string { return n.s.o.Brief(n.def) }
	}
	for ev, err := range agent.Run(ctx, cfg, input...) {
		if err != nil {
			return agent.Ended{Reason: agent.Failed, Err: err}
		}
		if r, ok := minutes.Of(ev); ok && n.log != nil {
			_ = n.log.Append(r) // a full disk is met by whoever needs the space more
		}
		n.delivered(ev)
		n.progress.event(n, t, ev)
		if e, ok := ev.(agent.Ended); ok {
			end = e
		}
	}
	return end
}

// delivered tells the tasks that the agent has read of their ends.
func (n *run) delivered(ev agent.Event) {
	switch ev := ev.(type) {
	case agent.ToolEnded:
		n.s.o.Tasks.Delivered(ev.Use.ID)
	case agent.Added:
		if ev.Origin == agent.Notification && ev.InputID != "" {
			n.s.o.Tasks.Delivered(ev.InputID)
		}
	}
}

// patience is how long an agent whose model is done is kept for what it has started: it
// may have ended its turn to wait. What still runs then is ended with it.
const patience = 10 * time.Minute

// wait returns what the agent's own tasks have to tell when its model is done; nil: nothing
// more will come.
func (n *run) wait(ctx context.Context, t *task.Task, inbox *mail.Queue) []agent.Input {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		busy := n.busy(t.ID) // before the look: what ends in between, arrives
		if in := inbox.TakeAll(); len(in) > 0 {
			return in
		}
		if !busy {
			return nil
		}
		select {
		case <-inbox.Arrived():
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// busy reports whether something that the agent started runs, or has an end to tell.
func (n *run) busy(id task.ID) bool {
	for _, t := range n.s.o.Tasks.List() {
		if t.Owner == id && t.Backgrounded && !t.Told {
			return true
		}
	}
	return false
}

// verdict puts the answer into the output and the detail, and says how the task ended.
func (n *run) verdict(ctx context.Context, t *task.Task, end agent.Ended) error {
	n.settle(ctx, t)
	n.progress.end(n, t, end)
	if end.Text != "" {
		if _, err := io.WriteString(t.Output, end.Text+"\n"); err != nil {
			return &task.EndError{Reason: task.ReasonNoSpace, Err: fmt.Errorf("keep the answer: %w", err)}
		}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch end.Reason {
	case agent.Completed:
		if end.Text == "" {
			return errors.New("it ended without an answer")
		}
		return nil
	case agent.MaxTurns:
		return fmt.Errorf("it stopped at its limit of %d turns, before it was done", n.def.MaxTurns)
	case agent.MaxBudget:
		return errors.New("it stopped because the budget is used up, before it was done")
	case agent.Truncated:
		return errors.New("its answer was cut off by the limit on the length of answers")
	case agent.ContextLimit:
		return errors.New("its context window is full, and compacting it did not help")
	case agent.Refused:
		return errors.New("the model declined to answer")
	case agent.TooDenied:
		return errors.New("permission was refused to it too often")
	}
	if end.Err != nil {
		return fmt.Errorf("it could not go on: %w", end.Err)
	}
	return fmt.Errorf("it ended early (%s)", end.Reason)
}
