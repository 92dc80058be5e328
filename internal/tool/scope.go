package tool

import (
	"slices"
	"strings"
	"sync"
)

// Scope is the part of an agent's context that its tools work in. Each agent
// has its own; a sub-agent's begins as a copy ([Scope.Child]).
type Scope struct {
	Agent string // id of the agent; empty for the main conversation
	Root  string // the project: absolute, symlinks resolved
	Files *Files // versions of the files that this agent has seen
	// Spill is the folder for results too long for a conversation. The agent may
	// read it without asking.
	Spill string
	// MayRead reports whether a tool that looks into many files may show this one; nil:
	// all. What a call names itself is judged before the call.
	MayRead func(s *Scope, path string) bool
	// Extra are further folders that the agent may work in.
	Extra []string
	// OffLimits are folders, absolute and with symlinks resolved, in which this agent may
	// change nothing, whatever its mode and the rules say. Of these and Root the innermost
	// decides about a file: Root may lie in one of them, and hold one.
	OffLimits []string
	// Env and Unset are variables that its commands get, and that they do not, whatever
	// else is said.
	Env, Unset []string

	mu    sync.Mutex
	dir   string
	todos []Todo
}

// Todo is an item of an agent's own list.
type Todo struct {
	Content    string `json:"content"`
	Status     string `json:"status"` // pending, in_progress or completed
	ActiveForm string `json:"activeForm,omitempty"`
}

// NewScope returns the scope of the main conversation, standing in root.
func NewScope(root, spill string) *Scope {
	return &Scope{Root: root, Spill: spill, Files: NewFiles(), dir: root}
}

// Dir is the working directory of commands. It starts as Root, and a command
// that changes it changes it for the next.
func (s *Scope) Dir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir
}

// SetDir remembers the working directory that a command left.
func (s *Scope) SetDir(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = dir
}

// Todos returns the list.
func (s *Scope) Todos() []Todo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.todos
}

// SetTodos replaces the list and returns the one before.
func (s *Scope) SetTodos(todos []Todo) []Todo {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.todos
	s.todos = todos
	return old
}

// Environ is env as the commands of this agent get it: a list of NAME=value.
func (s *Scope) Environ(env []string) []string {
	if len(s.Env)+len(s.Unset) == 0 {
		return env
	}
	kept := slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(s.Unset, name) || slices.ContainsFunc(s.Env, func(own string) bool { return strings.HasPrefix(own, name+"=") })
	})
	return append(kept, s.Env...)
}

// Child returns the scope of an agent that this one starts: it knows the same
// files, and forgets and learns on its own from here.
func (s *Scope) Child(agent string) *Scope {
	c := NewScope(s.Root, s.Spill)
	c.Agent = agent
	c.Extra, c.OffLimits, c.MayRead = s.Extra, s.OffLimits, s.MayRead
	c.Env, c.Unset = s.Env, s.Unset
	c.Files = s.Files.Clone()
	c.dir = s.Dir()
	return c
}
