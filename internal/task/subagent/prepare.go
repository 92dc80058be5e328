package subagent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"heddle/internal/agent"
	"heddle/internal/model"
	"heddle/internal/roster"
	"heddle/internal/tool"
	"heddle/internal/worktree"
)

// Request asks for an agent.
type Request struct {
	Agent       string // its name; empty: the default
	Description string // of the work, in a few words
	Prompt      string
	Model       string // instead of that of its definition
	Background  bool   // nobody waits for it
	Isolation   string // worktree: it has a checkout of its own, as if its definition said so
	Base        string // of that: head, or working for the files as they are; empty: head
}

// prepare gathers all that the agent needs while the caller waits.
func (s *Spawner) prepare(caller *agent.Caller, c tool.Call, r Request) (*run, error) {
	n := &run{
		s: s, parent: c.Scope.Agent, prompt: r.Prompt, depth: caller.Depth() + 1, above: caller.Ledger(),
		choice: caller.Choice(), scope: c.Scope.Child(""), from: c.Scope.Dir(),
	}
	name := cmp.Or(r.Agent, s.byDefault())
	// Where forks are what is usual, the conversation does not stop for any agent.
	n.background = r.Background || s.o.ForkByDefault
	if name == roster.Fork {
		n.fork, n.def = true, &roster.Agent{Name: roster.Fork}
		if r.Isolation == "worktree" {
			return nil, errors.New("a fork works where the conversation does: for a checkout of its own, name another agent")
		}
		n.budget = s.o.Limits.Each
		n.context, n.pool = caller.Fork(n.scope, directive(r.Prompt)), s.forbid(forFork(s.o.Tools()))
		s.join(n, caller)
		return n, nil
	}
	def, ok := s.o.Roster.Get(name)
	if !ok {
		return nil, s.unknown(name)
	}
	n.define(def)
	n.background = n.background || def.Background
	if err := n.apart(r); err != nil {
		return nil, err
	}
	if err := s.chooseModel(n, r.Model); err != nil {
		return nil, err
	}
	n.brief = s.briefed(n, caller)
	if def.Servers != nil {
		return n, nil // its list may name tools of servers that are still to be started
	}
	return n, s.chooseTools(n, s.o.Tools(), "")
}

// byDefault is the agent that is meant where none is named.
func (s *Spawner) byDefault() string {
	if s.o.ForkByDefault {
		return roster.Fork
	}
	return "general-purpose"
}

// define makes n an agent of that definition, as far as all of them are treated alike.
func (n *run) define(def *roster.Agent) {
	own := *def
	own.Disallowed = slices.Concat(def.Disallowed, n.s.o.Policy.Disallowed)
	n.def = &own
	n.budget = n.s.o.Limits.Each.narrowed(def.MaxTurns)
}

// forbid takes away the tools that no agent has.
func (s *Spawner) forbid(p *tool.Pool) *tool.Pool {
	if len(s.o.Policy.Disallowed) == 0 {
		return p
	}
	keep := (&roster.Agent{Disallowed: s.o.Policy.Disallowed}).Denies
	return p.Keep(func(t tool.Tool) bool { return !keep(t.Name) })
}

// apart settles whether the agent has a checkout of its own.
func (n *run) apart(r Request) error {
	switch r.Isolation {
	case "", "none", "worktree":
	default:
		return fmt.Errorf("isolation %q is not known: leave it out, or say worktree", r.Isolation)
	}
	n.isolated = r.Isolation == "worktree" || r.Isolation == "" && n.def.Isolation == "worktree"
	switch r.Base {
	case "", "head":
	case "working":
		n.base = worktree.Working
	default:
		return fmt.Errorf("base %q is not known: say head, or working for the files as they are", r.Base)
	}
	return nil
}

// unknown says what there is instead.
func (s *Spawner) unknown(name string) error {
	text := fmt.Sprintf("there is no agent %q", name)
	if near := s.o.Roster.Suggest(name); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return errors.New(text + " The description of this tool lists those that there are")
}

// chooseModel settles the model: that of the people's policy, of the call, of the
// definition, or of the caller.
func (s *Spawner) chooseModel(n *run, asked string) error {
	name := cmp.Or(s.o.Policy.Models[n.def.Name], s.o.Policy.Models["*"], asked, n.def.Model)
	if name == "small" {
		name = s.o.Small
	}
	if name != "" && name != "inherit" {
		c, err := s.o.Choose(name)
		if err != nil {
			return fmt.Errorf("the model of the agent %s: %w", n.def.Name, err)
		}
		n.choice = c
	}
	if n.def.Effort != "" {
		n.choice.Effort = n.def.Effort
	}
	return nil
}

// chooseTools settles the tools of an agent that is no fork, and with them what its
// requests begin with.
func (s *Spawner) chooseTools(n *run, all *tool.Pool, more string) error {
	var names []string
	for _, t := range all.Tools() {
		names = append(names, t.Name)
	}
	kept, unknown, err := n.def.Choose(names, roster.Spawn{Async: n.background, Depth: n.depth, MaxDepth: s.o.Limits.Depth})
	if err != nil {
		return fmt.Errorf("the agent %s cannot be started: %w", n.def.Name, err)
	}
	n.unknown = unknown
	keep := map[string]bool{}
	for _, name := range kept {
		keep[name] = true
	}
	n.pool = all.Keep(func(t tool.Tool) bool { return keep[t.Name] })
	if n.context == nil {
		n.context = agent.NewContext(s.promptOf(n, more), n.scope)
	}
	return nil
}

// delivery stands behind the system prompt of every agent.
const delivery = "Whoever sent you reads your last message and nothing else: it must hold all that they need. Do not point to what you said before."

// promptOf is what the requests of an agent begin with.
func (s *Spawner) promptOf(n *run, more string) model.Prompt {
	system := n.def.Prompt
	if s.o.Docs != nil && strings.Contains(system, roster.Docs) {
		system = strings.Replace(system, roster.Docs, s.o.Docs(), 1)
	}
	if more != "" {
		system = strings.TrimSpace(system + "\n\n" + more)
	}
	prompt := model.Prompt{System: []string{strings.TrimSpace(system + "\n\n" + delivery)}}
	for _, t := range n.pool.Tools() {
		prompt.Tools = append(prompt.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	return prompt
}

// describe is what the agent is called in lists.
func (n *run) describe(work string) string {
	if work = strings.TrimSpace(work); work == "" {
		work, _, _ = strings.Cut(strings.TrimSpace(n.prompt), "\n")
	}
	return n.def.Name + ": " + tool.Clip(work, 200)
}
