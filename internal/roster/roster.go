// Package roster finds the agents that can be called: definitions in Markdown or JSON, of
// the program, of plugins, of people and of projects. It reads them and says which tools
// each may have; it runs nothing.
//
// A definition may come from a repository that nobody has looked at. What would run
// something or permit something is left out of it then, and what it says of itself cannot
// forge the list that the model is shown.
package roster

import (
	"io/fs"

	"heddle/internal/config"
)

// Kind is the format that a definition is written in.
type Kind string

// The kinds.
const (
	KindBuiltin  Kind = "builtin" // comes with the program
	KindClaude   Kind = "claude"  // also what is written in JSON
	KindOpenCode Kind = "opencode"
)

// Fork is the name of the agent that continues the conversation of its caller. It has no
// definition, and none may take its name.
const Fork = "fork"

// Agent is one definition. It does not change.
type Agent struct {
	Name        string // what it is called by; a plugin's begins with the plugin's name
	Description string // when to call it
	Prompt      string // the system prompt; may be empty
	// Tools are the entries of its list of tools as they are written, see [Agent.Choose].
	// They count only if HasTools: without a list an agent has all tools, with an empty one
	// it has none.
	Tools    []string
	HasTools bool
	// Disallowed are entries for tools that it does not have, whatever else is said.
	Disallowed []string
	// Model is as it is written: an alias that nobody knows is for the caller to find.
	Model          string
	Effort         string // one of the known levels, or ""
	PermissionMode string // one of the known modes, or ""
	MaxTurns       int    // 0 is without limit
	Skills         []string
	// Servers are nil, or a list as JSON: of names of servers, and of objects with servers
	// by name. Hooks are nil, or an object. Both are laid out on the lines of Path, so that
	// what [config.Text] finds in them is told at its place.
	Servers, Hooks []byte
	Memory         string // user, project, local or ""
	Background     bool   // it is not waited for, even if the caller wants to
	Isolation      string // worktree or ""
	Color          string // a name of one, or ""
	InitialPrompt  string // the first message when it is the main agent
	NoMemoryFiles  bool   // it is told neither memory files nor the state of git
	Hidden         bool   // for people, not for models
	Kind           Kind
	Path           string // the file
	Source         string // the name of its source
	Layer          config.Layer
	Plugin         string

	// only are the agents that it may call, if it is limited, see [Agent.MaySpawn].
	limited bool
	only    []string
}

// Source is a place that agents come from. A later source beats an earlier one, see [Find].
type Source struct {
	Layer config.Layer
	Name  string // for people: "user", "project", "plugin reviewer"
	// Folders are walked with the folders in them. A later one beats an earlier one. Those
	// in a folder .opencode or opencode hold OpenCode's format.
	Folders []string
	Files   []string // single files, which beat those in folders
	// JSON is an object of definitions by name, which beat those in files; nil: none.
	JSON *config.Layers
	// Plugin is put before names, with a colon. What would run something or permit
	// something is not taken from plugins. Empty: it is none.
	Plugin string
	// Trusted is whether definitions may run something and widen what is permitted.
	// Otherwise that is left out, with a warning.
	Trusted bool
	// FS is where folders and files are, if they are not on disk.
	FS fs.FS

	builtin bool
}

// Shadow is a definition that cannot be called because another has its name, or because
// it is the other by a second path.
type Shadow struct {
	Name string
	Path string
	By   string // the path of the other
}
