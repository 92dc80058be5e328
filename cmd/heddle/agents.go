package main

import (
	"path/filepath"
	"strings"

	"heddle/docs"
	"heddle/internal/roster"
	"heddle/internal/session"
	"heddle/internal/task/subagent"
	"heddle/internal/tool"
	"heddle/internal/tool/builtin"
)

// agentListing is how many bytes the list of agents has that a model reads.
const agentListing = 6000

// agents returns the tool that starts agents.
func (a *attachment) agentTool(parts *session.Parts, brief func(*roster.Agent) string) tool.Tool {
	spawner := subagent.NewSpawner(subagent.Options{
		Tasks: parts.Tasks, Office: parts.Office, Roster: a.found.Agents, Gate: parts.Gate, Choose: a.models.Choose, Small: a.set.SmallModel,
		Tools: func() *tool.Pool { return a.pool.Load() }, Brief: brief, Folder: agentFolder(a.log), Version: version(),
		Limits:        subagent.Limits{Depth: a.set.Agents.Depth, Running: a.set.Agents.Running, Total: a.set.Agents.Total},
		ForkByDefault: a.set.Agents.Fork, Docs: docs.Text,
		Watch: func(scope *tool.Scope, kind string) subagent.Watcher { return a.hooks.Agent(scope, kind) },
	})
	parts.Others = spawner.Used
	return builtin.Agent(builtin.AgentOptions{
		Spawner: spawner, Tasks: parts.Tasks, Listing: a.found.Agents.Listing(agentListing), Foreground: a.set.Tasks.Foreground,
	})
}

// agentFolder is where the transcripts of a session's agents lie; empty: none are kept.
func agentFolder(log logChoice) string {
	if log.path == "" {
		return ""
	}
	return filepath.Join(strings.TrimSuffix(log.path, filepath.Ext(log.path)), "agents")
}

// agentSettings are about agents that work for the conversation. What is 0 has its default.
type agentSettings struct {
	Fork    bool `json:"fork"`          // who is not named is a fork of the conversation
	Depth   int  `json:"maxDepth"`      // of agents below the conversation; 1
	Running int  `json:"maxConcurrent"` // at once; 20
	Total   int  `json:"maxTotal"`      // in a session; 200
}
