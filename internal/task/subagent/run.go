package subagent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"heddle/internal/agent"
	"heddle/internal/mail"
	"heddle/internal/message"
	"heddle/internal/minutes"
	"heddle/internal/model"
	"heddle/internal/permission"
	"heddle/internal/roster"
	"heddle/internal/task"
	"heddle/internal/tool"
	"heddle/internal/transcript"
	"heddle/internal/worktree"
)

// run is one agent. It is a [task.Runner].
type run struct {
	s          *Spawner
	def        *roster.Agent
	parent     string // the agent that it works for; empty: the main conversation
	fork       bool
	prompt     string
	depth      int
	background bool // nobody waited for it from the start
	choice     agent.Choice
	pool       *tool.Pool
	scope      *tool.Scope
	context    *agent.Context
	above      *agent.Ledger // of whoever sent it
	unknown    []string      // entries of its lists of tools that mean none
	brief      func() string // reads what it is told first; nil: that was done

	isolated bool
	from     string // the folder that its checkout is made from
	base     worktree.Base
	tree     *worktree.Tree // its own checkout; nil: it works where its caller does

	after <-chan struct{} // the first of a batch of forks is answered; nil: it is the first
	lead  func()          // nil: nobody waits for this one

	// Of one attempt:
	id       task.ID
	input    []agent.Input        // what it goes on with; nil: it begins
	past     []transcript.Message // of an agent from disk: what is not in the context yet
	repairs  []transcript.Record  // and what a crash has left open
	ledger   *agent.Ledger
	budget   Budget
	started  time.Time
	turns    int  // answered before the running turn
	warned   bool // of the end of the budget
	notes    []string
	guard    Watcher            // nil: nobody has a say
	log      *transcript.Writer // nil: none is kept
	progress progress
}

// Run is the life of the agent.
func (n *run) Run(ctx context.Context, t *task.Task) error {
	n.id, n.started, n.turns, n.warned, n.notes = t.ID, time.Now(), 0, false, nil
	n.ledger = n.above.Below(n.budget.Spending)
	var refused []permission.Denial
	defer func() { n.s.leave(n, refused) }()
	if n.lead != nil {
		defer n.lead() // also if it never gets that far
	}
	defer n.readAhead()()
	n.scope.Agent = string(t.ID)
	n.progress.begin(n, t)
	inbox := n.s.o.Office.Open(t.ID)
	defer n.s.o.Office.Close(t.ID)
	if err := n.s.o.Gate.Join(string(t.ID), n.parent, permission.Mode(n.def.PermissionMode)); err != nil {
		n.notes = append(n.notes, "It works without the permission mode of its definition: "+err.Error()+".")
		_ = n.s.o.Gate.Join(string(t.ID), n.parent, "")
	}
	defer func() { refused = n.s.o.Gate.Leave(string(t.ID)) }()
	defer n.deadline(t)()
	if n.isolated {
		if err := n.isolate(ctx, t); err != nil {
			return err
		}
	}
	first, closeEquipment, err := n.equip(ctx)
	if err != nil {
		n.settle(ctx, t)
		return err
	}
	err = n.converse(ctx, t, inbox, first)
	if closing := closeEquipment(); err == nil && closing != nil {
		t.Update(func(s *task.Snapshot) { s.Detail = n.progress.noted(closing.Error()) })
	}
	return err
}

// converse is the conversation of the agent, to its end.
func (n *run) converse(ctx context.Context, t *task.Task, inbox *mail.Queue, first string) error {
	if err := n.open(); err != nil {
		n.settle(ctx, t)
		return fmt.Errorf("keep what the agent says: %w", err)
	}
	defer n.close()
	if n.after != nil {
		pause(ctx, n.after, follow)
	}
	input := n.begin(ctx, first)
	for {
		end := n.turn(ctx, t, inbox, input)
		if end.Reason != agent.Completed || ctx.Err() != nil {
			return n.verdict(ctx, t, end)
		}
		if input = n.wait(ctx, inbox); input == nil {
			return n.verdict(ctx, t, end)
		}
	}
}

// closing is how long what an agent brought along may take to end.
const closing = 10 * time.Second

// equip gives the agent what its definition brings along, and returns what its first
// message begins with.
func (n *run) equip(ctx context.Context) (first string, done func() error, err error) {
	if n.s.o.Watch != nil {
		n.guard = n.s.o.Watch(n.scope, n.def.Name)
	}
	none := func() error { return nil }
	if n.s.o.Equip == nil || n.fork {
		return "", none, nil
	}
	e, err := n.s.o.Equip(ctx, n.scope, n.def)
	if err != nil {
		return "", nil, fmt.Errorf("give the agent what its definition names: %w", err)
	}
	done = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
		defer cancel()
		return e.Close(ctx)
	}
	n.notes = append(n.notes, e.Notes...)
	if e.Watch != nil {
		n.guard = e.Watch
	}
	if e.Pool != nil || n.pool == nil || n.context == nil || e.Prompt != "" {
		pool := e.Pool
		if pool == nil {
			pool = n.s.o.Tools()
		}
		if n.input == nil || n.past != nil {
			n.context = nil // there is nothing in it yet
		}
		if err := n.s.chooseTools(n, pool, e.Prompt); err != nil {
			return "", nil, errors.Join(err, done())
		}
		n.progress.d.Unknown = n.unknown
	}
	return e.First, done, nil
}

// begin returns what the agent works on first. The first message of a fork stands in its
// history already.
func (n *run) begin(ctx context.Context, first string) []agent.Input {
	add := ""
	if n.guard != nil {
		add = n.guard.Begin(ctx)
	}
	minutes.Recall(n.context, n.past)
	n.past = nil
	system := func(text string) []agent.Input {
		if text == "" {
			return nil
		}
		return []agent.Input{{Content: message.FromUser(text).Content, Origin: agent.System}}
	}
	switch {
	case n.input != nil:
		input := append(system(n.place()), system(add)...)
		input = append(input, n.input...)
		n.input = nil
		return input
	case n.fork:
		return system(add)
	}
	var content []message.Block
	for _, text := range []string{n.place(), first, n.prompt, add} {
		if text != "" {
			content = append(content, message.Text{Text: text})
		}
	}
	return []agent.Input{{Content: content, Origin: agent.FromAgent}}
}

// open begins the side transcript, or goes on in it.
func (n *run) open() (err error) {
	path := n.s.transcript(n.id)
	if path == "" {
		return nil
	}
	if n.input != nil {
		if n.log, _, err = transcript.Open(path); err == nil {
			minutes.Repair(n.log, n.repairs)
			n.repairs = nil
		}
		return err
	}
	n.log, err = transcript.Create(path, transcript.Header{
		Session: string(n.id), Dir: n.scope.Dir(), Program: n.s.o.Version, Model: n.choice.Info.ID, Start: n.started,
	})
	if err != nil || !n.fork {
		return err
	}
	h := n.context.History
	m, origin := h.Message(h.Len() - 1)
	return n.log.Append(transcript.Message{Message: m, Origin: string(origin)})
}

// forget lets go of what an agent knew that is done. Its task has it still, for as long as
// that is listed.
func (n *run) forget() {
	n.context, n.pool, n.scope, n.past, n.brief, n.guard = nil, nil, nil, nil, nil, nil
}

func (n *run) close() {
	if n.log != nil {
		_ = n.log.Close() // what could not be written has been kept as long as there was a point
		n.log = nil
	}
}

// transcript is where what the agent says is kept; empty: nowhere.
func (s *Spawner) transcript(id task.ID) string {
	if s.o.Folder == "" {
		return ""
	}
	return filepath.Join(s.o.Folder, string(id)+".jsonl")
}

// turn works on input until the model has nothing more to do.
func (n *run) turn(ctx context.Context, t *task.Task, inbox *mail.Queue, input []agent.Input) (end agent.Ended) {
	cfg := agent.Config{
		Context: n.context, Tools: n.pool, Inbox: inbox, Depth: n.depth, Ledger: n.ledger,
		Choose: func() agent.Choice { return n.choice },
		Agent:  model.Agent{ID: string(t.ID), Type: n.def.Name},
		Remind: n.remind,
	}
	if n.budget.Turns > 0 {
		cfg.Limits.Turns = n.budget.Turns - n.turns
		if cfg.Limits.Turns <= 0 {
			return agent.Ended{Reason: agent.MaxTurns, Text: n.progress.d.Result}
		}
	}
	if n.guard != nil {
		cfg.Guard = n.guard
	}
	if n.s.o.Brief != nil && !n.fork {
		cfg.Brief = n.tell
	}
	pulse := n.feel(t)
	defer pulse.stop()
	for ev, err := range agent.Run(ctx, cfg, input...) {
		if err != nil {
			return agent.Ended{Reason: agent.Failed, Err: err}
		}
		pulse.beat(ev)
		if n.lead != nil && led(ev) {
			n.lead()
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
	n.turns += end.Turns
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
func (n *run) wait(ctx context.Context, inbox *mail.Queue) []agent.Input {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		busy := n.busy() // before the look: what ends in between, arrives
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
func (n *run) busy() bool {
	for _, t := range n.s.o.Tasks.List() {
		if t.Owner == n.id && t.Backgrounded && !t.Told {
			return true
		}
	}
	return false
}
