package subagent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/roster"
	"heddle/internal/task"
	"heddle/internal/transcript"
)

// ErrRunning is returned for an agent that need not be resumed.
var ErrRunning = errors.New("the agent is at work")

// Resume lets an agent that is done go on with input, in the background and with all that
// it knows, as a new attempt of its task. It may have been started by an earlier run of the
// program.
func (s *Spawner) Resume(id task.ID, input ...agent.Input) (*task.Task, error) {
	snap, ok := s.o.Tasks.Find(id)
	switch {
	case !ok:
		return nil, fmt.Errorf("there is no agent %s", id)
	case snap.Kind != task.LocalAgent:
		return nil, fmt.Errorf("task %s is no agent", id)
	case !snap.Status.Terminal():
		return nil, fmt.Errorf("%s: %w", id, ErrRunning)
	}
	n := s.recent(id)
	if n == nil {
		var err error
		if n, err = s.rebuild(snap); err != nil {
			return nil, fmt.Errorf("go on with agent %s: %w", id, err)
		}
	}
	if n.parent != "" && s.of(task.ID(n.parent)) == nil {
		n.parent, n.above = "", s.o.Main.Ledger // who sent it is gone
	}
	snap.Owner = task.ID(n.parent)
	n.input, n.background, n.after, n.lead = input, true, nil, nil
	if n.context != nil {
		n.context.Tally = agent.Tally{Prompt: n.context.Tally.Prompt} // what came before is counted
	}
	return s.admit(n, func() (*task.Task, error) { return s.o.Tasks.Continue(snap, n) })
}

// recent takes an agent that is done out of those that are kept; nil: it is not among them.
func (s *Spawner) recent(id task.ID) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.done, func(n *run) bool { return n.id == id })
	if i < 0 || s.done[i].context == nil {
		return nil
	}
	n := s.done[i]
	s.done = slices.Delete(s.done, i, i+1)
	return n
}

// rebuild makes an agent anew from what is on disk.
func (s *Spawner) rebuild(snap task.Snapshot) (*run, error) {
	text, err := json.Marshal(snap.Detail)
	if err != nil {
		return nil, err
	}
	var d Detail
	if err := json.Unmarshal(text, &d); err != nil || d.Agent == "" {
		return nil, errors.New("what is on record of it cannot be read")
	}
	n := &run{
		s: s, id: snap.ID, parent: string(snap.Owner), depth: max(d.Depth, 1), above: s.o.Main.Ledger, background: true,
		scope: s.o.Main.Scope.Child(string(snap.ID)), from: s.o.Main.Scope.Dir(), isolated: d.Isolated, progress: progress{d: d},
	}
	name := d.Model
	if d.Provider != "" {
		name = d.Provider + "/" + d.Model
	}
	if n.choice, err = s.o.Choose(name); err != nil {
		return nil, err
	}
	n.choice.Effort = cmp.Or(d.Effort, n.choice.Effort)
	if d.Agent == roster.Fork {
		return n, s.rebuildFork(n, snap)
	}
	def, ok := s.o.Roster.Get(d.Agent)
	if !ok {
		return nil, s.unknown(d.Agent)
	}
	n.define(def)
	if def.Servers == nil {
		if err := s.chooseTools(n, s.o.Tools(), ""); err != nil {
			return nil, err
		}
	}
	past, err := s.past(snap.ID)
	if err != nil {
		return nil, err
	}
	return n, n.remember(past)
}

// rebuildFork brings back a fork: it begins with the conversation of the main agent up to
// the call that asked for it.
func (s *Spawner) rebuildFork(n *run, snap task.Snapshot) error {
	if snap.Owner != "" || s.o.Main.Transcript == "" || s.o.Main.Prompt == nil {
		return errors.New("what it was forked from is not on disk")
	}
	main, err := upTo(s.o.Main.Transcript, snap.ToolUseID)
	if err != nil {
		return err
	}
	own, err := s.past(snap.ID)
	if err != nil {
		return err
	}
	n.fork, n.def, n.budget = true, &roster.Agent{Name: roster.Fork}, s.o.Limits.Each
	n.pool = s.forbid(forFork(s.o.Tools()))
	n.context = agent.NewContext(s.o.Main.Prompt(), n.scope)
	return n.remember(slices.Concat(main, own))
}

// past reads what an agent has said.
func (s *Spawner) past(id task.ID) ([]transcript.Record, error) {
	path := s.transcript(id)
	if path == "" {
		return nil, errors.New("this session keeps no transcripts")
	}
	records, err := transcript.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("its transcript is gone")
	}
	return records, err
}

// remember decides what the agent knows. What a crash left open is written down when it
// goes on.
func (n *run) remember(past []transcript.Record) error {
	n.past, n.repairs = transcript.History(past)
	if len(n.past) == 0 {
		return errors.New("it has not said anything yet")
	}
	return nil
}

// upTo reads a transcript up to the answer with that call.
func upTo(path, call string) (records []transcript.Record, err error) {
	for r, err := range transcript.All(path) {
		if err != nil {
			return nil, err
		}
		records = append(records, r)
		m, ok := r.(transcript.Message)
		if ok && slices.ContainsFunc(m.Message.ToolUses(), func(u message.ToolUse) bool { return u.ID == call }) {
			return records, nil
		}
	}
	return nil, errors.New("the call that asked for it is not in the transcript any more")
}
