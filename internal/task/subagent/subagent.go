// Package subagent runs agents as tasks: a part of the work of another agent, with a
// conversation of its own.
//
//	Spawn ──▶ prepare ──▶ task ──▶ agent.Run ──▶ its own tasks end, and wake it ──▶ … ──▶ the final text
//	                                  │                                              Resume ◀┘
//	                                  ├── side transcript: what was said, on disk
//	                                  └── Detail: how far it is, and what it answers
//
// Nothing in the task runtime knows what an agent is; nothing in the agent's loop knows
// that it runs as a task.
package subagent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"heddle/internal/agent"
	"heddle/internal/mail"
	"heddle/internal/model"
	"heddle/internal/permission"
	"heddle/internal/roster"
	"heddle/internal/task"
	"heddle/internal/tool"
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
	// Main is the main conversation, as far as agents that go on after a restart need it.
	Main Main
	// Brief returns what an agent is told before its first message.
	Brief func(a *roster.Agent) string
	// Docs returns what stands for [roster.Docs] in prompts; nil: nothing.
	Docs func() string
	// Watch returns who has a say at the turning points of an agent whose calls run in scope;
	// nil: nobody has.
	Watch func(scope *tool.Scope, kind string) Watcher
	// Equip gives an agent what its definition brings along; nil: nothing.
	Equip func(ctx context.Context, scope *tool.Scope, def *roster.Agent) (Equipment, error)
	// Folder is where side transcripts lie; empty: none are kept.
	Folder string
	Limits Limits
	Policy Policy
	// ForkByDefault says that who is not named is a fork.
	ForkByDefault bool
	Version       string
}

// Main is what is to be known of the main conversation.
type Main struct {
	Scope      *tool.Scope
	Ledger     *agent.Ledger
	Prompt     func() model.Prompt // that it begins with
	Transcript string              // the file; empty: there is none
}

// Watcher has a say at the turning points of an agent.
type Watcher interface {
	agent.Guard
	// Begin is told that the agent begins; what it returns is added to the first message.
	Begin(ctx context.Context) string
}

// Equipment is what an agent has of its own for as long as it runs.
type Equipment struct {
	Pool   *tool.Pool // what the agent's tools are chosen from; nil: those of all
	Prompt string     // stands behind the system prompt; empty: nothing
	First  string     // what the first message begins with; empty: nothing
	Watch  Watcher    // instead of [Options.Watch]; nil: nobody else
	Notes  []string   // what could not be had, for whoever sent the agent
	// Close ends all of it. It is not nil if there is no error.
	Close func(ctx context.Context) error
}

// Policy is what people have settled for all agents, whatever definitions and calls say.
type Policy struct {
	Models     map[string]string // by name of agent; "*" is for all others
	Disallowed []string          // entries for tools that none has
}

// Spawner starts agents. It is safe for use by several goroutines.
type Spawner struct {
	o Options

	mu      sync.Mutex
	running map[task.ID]*run
	done    []*run // that can be asked on, the newest last
	total   int
	used    agent.Tally // of agents that have ended
	denied  []agent.Denial
	batches map[string]*batch // of forks, by caller
	told    map[string]*told  // to the newest agents, by caller
}

// NewSpawner returns a spawner.
func NewSpawner(o Options) *Spawner {
	o.Limits = o.Limits.withDefaults()
	return &Spawner{o: o, running: map[task.ID]*run{}, batches: map[string]*batch{}, told: map[string]*told{}}
}

// Used says what the agents have used that have ended.
func (s *Spawner) Used() agent.Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used.Clone()
}

// TakeDenied returns what was refused to agents that have ended, each once.
func (s *Spawner) TakeDenied() []agent.Denial {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.denied
	s.denied = nil
	return list
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
	parent := s.of(task.ID(c.Scope.Agent))
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
	return s.admit(n, func() (*task.Task, error) {
		return s.o.Tasks.Start(task.Spec{
			Kind: task.LocalAgent, Owner: task.ID(n.parent), Description: n.describe(r.Description), ToolUseID: c.ID, Background: n.background,
		}, n)
	})
}

// admit starts one more agent, unless there are too many.
func (s *Spawner) admit(n *run, start func() (*task.Task, error)) (*task.Task, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) >= s.o.Limits.Running {
		s.prune()
	}
	switch {
	case len(s.running) >= s.o.Limits.Running:
		return nil, fmt.Errorf("%d agents run already, the most at once: wait for one to end, or do this part yourself; do not try again at once", s.o.Limits.Running)
	case s.total >= s.o.Limits.Total:
		return nil, fmt.Errorf("this session has started %d agents, which is the limit: do the rest yourself", s.o.Limits.Total)
	}
	t, err := start()
	if err != nil {
		return nil, err
	}
	s.total++
	s.running[t.ID] = n
	return t, nil
}

// prune forgets agents that were ended before they ran. The lock is held.
func (s *Spawner) prune() {
	for id := range s.running {
		if t, ok := s.o.Tasks.Get(id); !ok || t.Status.Terminal() {
			delete(s.running, id)
		}
	}
}

// keep is how many agents that are done are kept in memory, to be asked on at once; others
// are read from disk then.
const keep = 16

// leave says that an agent is done. What it has used and what was refused to it is kept.
func (s *Spawner) leave(n *run, refused []permission.Denial) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.context != nil {
		s.used.Merge(n.context.Tally)
	}
	for _, d := range refused {
		s.denied = append(s.denied, denial(d))
	}
	delete(s.running, n.id)
	delete(s.batches, string(n.id))
	delete(s.told, string(n.id))
	s.done = append(slices.DeleteFunc(s.done, func(o *run) bool { return o.id == n.id }), n)
	if len(s.done) > keep {
		s.done[0].forget()
		s.done = slices.Delete(s.done, 0, 1)
	}
}

// of returns the running agent of that id; nil: there is none.
func (s *Spawner) of(id task.ID) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.running[id]
}
