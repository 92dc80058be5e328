// Package subagent runs agents as tasks: a part of the work of another agent, with a
// conversation of its own.
//
//	Spawn ──▶ task ──▶ agent.Run ──▶ its own tasks end, and wake it ──▶ … ──▶ the final text
//	                      │
//	                      ├── side transcript: what was said, on disk
//	                      └── Detail: how far it is
//
// Nothing in the task runtime knows what an agent is; nothing in the agent's loop knows
// that it runs as a task.
package subagent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"heddle/internal/agent"
	"heddle/internal/mail"
	"heddle/internal/model"
	"heddle/internal/permission"
	"heddle/internal/roster"
	"heddle/internal/task"
	"heddle/internal/tool"
	"heddle/internal/worktree"
)

// Options are what agents work with.
type Options struct {
	Tasks  *task.Runtime
	Office *mail.Office
	Roster *roster.Roster
	Gate   *permission.Gate
	Choose func(name string) (agent.Choice, error) // finds a model by its name
	// Small is the name of the model for work that needs no large one; empty: that of the
	// caller.
	Small string
	// Tools returns all tools that there are, with their middleware.
	Tools func() *tool.Pool
	// Brief returns what an agent is told before its first message.
	Brief func(a *roster.Agent) string
	// Docs returns what stands for [roster.Docs] in prompts; nil: nothing.
	Docs func() string
	// Watch returns who has a say at the turning points of an agent whose calls run in scope;
	// nil: nobody has.
	Watch func(scope *tool.Scope, kind string) Watcher
	// Folder is where side transcripts lie; empty: none are kept.
	Folder string
	Limits Limits
	// ForkByDefault says that who is not named is a fork.
	ForkByDefault bool
	Version       string
}

// Watcher has a say at the turning points of an agent.
type Watcher interface {
	agent.Guard
	// Begin is told that the agent begins; what it returns is added to the first message.
	Begin(ctx context.Context) string
}

// Limits bound the agents of a session. What is 0 has its default.
type Limits struct {
	Depth   int // of agents below the main conversation; 1
	Running int // at once; 20
	Total   int // of a session; 200
}

func (l Limits) withDefaults() Limits {
	or := func(n *int, otherwise int) {
		if *n == 0 {
			*n = otherwise
		}
	}
	or(&l.Depth, 1)
	or(&l.Running, 20)
	or(&l.Total, 200)
	return l
}

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

// Spawner starts agents. It is safe for use by several goroutines.
type Spawner struct {
	o Options

	mu      sync.Mutex
	running map[task.ID]*run
	total   int
	used    agent.Tally // of agents that have ended
}

// Used says what the agents have used that have ended.
func (s *Spawner) Used() agent.Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used.Clone()
}

// NewSpawner returns a spawner.
func NewSpawner(o Options) *Spawner {
	o.Limits = o.Limits.withDefaults()
	return &Spawner{o: o, running: map[task.ID]*run{}}
}

// Errors that say what to do instead.
var (
	errNoCaller = errors.New("an agent can only be started by a call of another agent")
	errForkFork = errors.New("a fork cannot start agents: do this part of the work yourself")
)

// Spawn starts an agent for the call c, which runs with ctx. The task is its; what it
// answers is in its [Detail].
func (s *Spawner) Spawn(ctx context.Context, c tool.Call, r Request) (*task.Task, error) {
	caller, ok := agent.CallerOf(ctx)
	if !ok {
		return nil, errNoCaller
	}
	parent := s.of(c.Scope.Agent)
	if parent != nil && parent.fork {
		return nil, errForkFork
	}
	if caller.Depth() >= s.o.Limits.Depth {
		return nil, fmt.Errorf("agents may not be started at this depth (%d): do this part of the work yourself", s.o.Limits.Depth)
	}
	n, err := s.prepare(caller, c, r)
	if err != nil {
		return nil, err
	}
	if parent != nil && !parent.def.MaySpawn(n.def.Name) {
		return nil, fmt.Errorf("the agent %s may not start the agent %s", parent.def.Name, n.def.Name)
	}
	if err := s.admit(); err != nil {
		return nil, err
	}
	t, err := s.o.Tasks.Start(task.Spec{
		Kind: task.LocalAgent, Owner: task.ID(c.Scope.Agent), Description: n.describe(r.Description), ToolUseID: c.ID,
		Background: r.Background || n.def.Background,
	}, n)
	return t, err
}

// admit counts one more agent, unless there are too many.
func (s *Spawner) admit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.running) >= s.o.Limits.Running:
		return fmt.Errorf("%d agents run already, the most at once: wait for one to end, or do this part yourself; do not try again at once", s.o.Limits.Running)
	case s.total >= s.o.Limits.Total:
		return fmt.Errorf("this session has started %d agents, which is the limit: do the rest yourself", s.o.Limits.Total)
	}
	s.total++
	return nil
}

// leave forgets an agent, but not what it has used.
func (s *Spawner) leave(id task.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.running[id]; n != nil {
		s.used.Merge(n.context.Tally)
	}
	delete(s.running, id)
}

// of returns the running agent of that id; nil: it is none of ours.
func (s *Spawner) of(id string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[task.ID(id)]
}

// prepare gathers all that the agent needs while the caller waits.
func (s *Spawner) prepare(caller *agent.Caller, c tool.Call, r Request) (*run, error) {
	n := &run{s: s, prompt: r.Prompt, depth: caller.Depth() + 1, ledger: caller.Ledger().Below(agent.Spending{}), started: time.Now()}
	name := r.Agent
	if name == "" {
		if name = "general-purpose"; s.o.ForkByDefault {
			name = roster.Fork
		}
	}
	n.choice, n.scope = caller.Choice(), c.Scope.Child("")
	if name == roster.Fork {
		n.fork, n.def = true, &roster.Agent{Name: roster.Fork}
		n.context = caller.Fork(n.scope, directive(r.Prompt))
		n.pool = s.o.Tools()
		return n, nil
	}
	def, ok := s.o.Roster.Get(name)
	if !ok {
		return nil, s.unknown(name)
	}
	n.def = def
	if err := n.apart(def, r); err != nil {
		return nil, err
	}
	if err := s.chooseModel(n, r.Model); err != nil {
		return nil, err
	}
	return n, s.chooseTools(n, r.Background || def.Background)
}

// apart settles whether the agent has a checkout of its own.
func (n *run) apart(def *roster.Agent, r Request) error {
	switch r.Isolation {
	case "", "none", "worktree":
	default:
		return fmt.Errorf("isolation %q is not known: leave it out, or say worktree", r.Isolation)
	}
	n.isolated = r.Isolation == "worktree" || r.Isolation == "" && def.Isolation == "worktree"
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

// chooseModel settles the model: that of the call, of the definition, or of the caller.
func (s *Spawner) chooseModel(n *run, asked string) error {
	name := asked
	if name == "" {
		name = n.def.Model
	}
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

// chooseTools settles the tools, and with them what the agent's requests begin with.
func (s *Spawner) chooseTools(n *run, async bool) error {
	all := s.o.Tools()
	var names []string
	for _, t := range all.Tools() {
		names = append(names, t.Name)
	}
	kept, unknown, err := n.def.Choose(names, roster.Spawn{Async: async, Depth: n.depth, MaxDepth: s.o.Limits.Depth, Plan: n.def.PermissionMode == "plan"})
	if err != nil {
		return fmt.Errorf("the agent %s cannot be started: %w", n.def.Name, err)
	}
	n.unknown = unknown
	keep := map[string]bool{}
	for _, name := range kept {
		keep[name] = true
	}
	n.pool = all.Keep(func(t tool.Tool) bool { return keep[t.Name] })
	system := n.def.Prompt
	if s.o.Docs != nil && strings.Contains(system, roster.Docs) {
		system = strings.Replace(system, roster.Docs, s.o.Docs(), 1)
	}
	prompt := model.Prompt{System: []string{system}}
	for _, t := range n.pool.Tools() {
		prompt.Tools = append(prompt.Tools, model.Tool{Name: t.Name, Description: t.Description, Schema: t.Schema})
	}
	n.context = agent.NewContext(prompt, n.scope)
	return nil
}

// directive tells a fork what it is to do.
func directive(prompt string) string {
	return "<fork>\nFrom here on you are a fork of the agent that you were: you know what it knows, and work on one part while it goes on by itself. " +
		"It reads nothing of yours but your final answer, and cannot answer questions. You cannot start agents. Do this, and nothing else:\n</fork>\n" + prompt
}

// transcript is where what the agent says is kept; empty: nowhere.
func (s *Spawner) transcript(id task.ID) string {
	if s.o.Folder == "" {
		return ""
	}
	return filepath.Join(s.o.Folder, string(id)+".jsonl")
}

// describe is what the agent is called in lists.
func (n *run) describe(work string) string {
	if work = strings.TrimSpace(work); work == "" {
		work, _, _ = strings.Cut(strings.TrimSpace(n.prompt), "\n")
	}
	return n.def.Name + ": " + tool.Clip(work, 200)
}
