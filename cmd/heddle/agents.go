package main

import (
	"cmp"
	"path/filepath"
	"strings"
	"time"

	"heddle/docs"
	"heddle/internal/agent"
	"heddle/internal/model"
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
		Main:   subagent.Main{Scope: parts.Scope, Ledger: parts.Ledger, Transcript: a.log.path, Prompt: func() model.Prompt { return session.PromptOf(parts.Prompt, a.pool.Load()) }},
		Limits: a.set.Agents.limits(), Policy: subagent.Policy{Models: a.set.Agents.Models, Disallowed: a.set.Agents.Disallowed},
		ForkByDefault: a.set.Agents.forks(!a.options.print), Docs: docs.Text,
		Watch: func(scope *tool.Scope, kind string) subagent.Watcher { return a.hooks.Agent(scope, kind) },
	})
	parts.Others, parts.OthersDenied = spawner.Used, spawner.TakeDenied
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
	Fork    *bool `json:"fork"`          // who is not named is a fork of the conversation; only where a person watches
	Depth   int   `json:"maxDepth"`      // of agents below the conversation; 1
	Running int   `json:"maxConcurrent"` // at once; 20
	Total   int   `json:"maxTotal"`      // in a session; 200
	// Of each agent; 0 is without limit.
	Turns   int     `json:"maxTurns"`
	Tokens  int     `json:"maxTokens"`
	USD     float64 `json:"maxBudgetUsd"`
	Minutes float64 `json:"maxMinutes"`

	Silence float64 `json:"silenceMinutes"` // without a sign of life; 10
	Ask     float64 `json:"askMinutes"`     // that a question of permission stands; 30
	// Whatever definitions and calls say:
	Models     map[string]string `json:"models"` // by name of agent, "*" for the others
	Disallowed []string          `json:"disallowedTools"`
}

func (s agentSettings) limits() subagent.Limits {
	return subagent.Limits{
		Depth: s.Depth, Running: s.Running, Total: s.Total, Silence: minutes(s.Silence),
		Each: subagent.Budget{Spending: agent.Spending{USD: s.USD, Tokens: s.Tokens}, Turns: s.Turns, Time: minutes(s.Minutes)},
	}
}

// forks reports whether who is not named is a fork.
func (s agentSettings) forks(interactive bool) bool {
	if s.Fork != nil {
		return *s.Fork
	}
	return interactive
}

// patience is how long a question of an agent may stand.
func (s agentSettings) patience() time.Duration { return minutes(cmp.Or(s.Ask, 30)) }

func minutes(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }
