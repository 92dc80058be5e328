package roster

import (
	"fmt"
	"slices"
	"strings"
)

// serverPrefix begins the names of tools of MCP servers.
const serverPrefix = "mcp__"

// Spawn says how an agent is about to run.
type Spawn struct {
	Async bool // nobody waits for it
	// Depth is how deep it is below the main agent, whose children are 1 deep. At MaxDepth
	// and below, an agent has none of its own.
	Depth, MaxDepth int
	Plan            bool // its permission mode is plan
	Fork            bool // it continues the conversation of its caller
}

// Choose returns which of all tools the agent has, in their order, and the entries of its
// lists that mean none of them. Entries of the list of disallowed tools for MCP servers
// are not told as unknown: a server need not be there.
//
// First go the tools that no agent has when it runs like this, none of them an MCP
// server's; then those that it disallows; then those that are not on its list. A fork
// has what its caller has. It is an error if the list means only tools that are not
// there, or that no agent has.
func (a *Agent) Choose(all []string, o Spawn) (kept, unknown []string, err error) {
	if o.Fork {
		return slices.Clone(all), nil, nil
	}
	pool := slices.DeleteFunc(slices.Clone(all), func(tool string) bool { return !o.lets(tool) })
	allowed, unknown := entries(a.Tools, all)
	if a.HasTools && len(a.Tools) > 0 && !slices.ContainsFunc(pool, func(tool string) bool { return covered(allowed, tool) }) {
		return nil, unknown, a.nothing(unknown)
	}
	denied, stray := entries(a.Disallowed, all)
	for _, text := range stray {
		if !strings.HasPrefix(text, serverPrefix) {
			unknown = append(unknown, text)
		}
	}
	for _, tool := range pool {
		if (!a.HasTools || covered(allowed, tool)) && !denies(denied, tool) {
			kept = append(kept, tool)
		}
	}
	return kept, unknown, nil
}

// nothing says why a list leaves an agent without any tool.
func (a *Agent) nothing(unknown []string) error {
	why := "no agent has these when it runs like this"
	if len(unknown) == len(a.Tools) {
		why = "there are no such tools"
	}
	return fmt.Errorf("the agent %s has only the tools %s, and %s", a.Name, printable(strings.Join(a.Tools, ", ")), why)
}

// entries reads a list. Those that mean none of all tools are returned as they are
// written.
func entries(list, all []string) (out []entry, unknown []string) {
	for _, text := range list {
		e := parseEntry(text).today(all)
		out = append(out, e)
		if e.tool != "*" && !slices.ContainsFunc(all, e.covers) {
			unknown = append(unknown, text)
		}
	}
	return out, unknown
}

// Denies reports whether a tool is among those that the agent disallows.
func (a *Agent) Denies(tool string) bool {
	denied, _ := entries(a.Disallowed, []string{tool})
	return denies(denied, tool)
}

func covered(list []entry, tool string) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.covers(tool) })
}

// denies is like covered, but Agent(a) denies the agent a and not the tool.
func denies(list []entry, tool string) bool {
	return slices.ContainsFunc(list, func(e entry) bool { return e.forbids(tool) && !(e.limited && isAgent(e.tool)) })
}

// lets reports whether agents that run like this may have a tool at all.
func (o Spawn) lets(tool string) bool {
	if strings.HasPrefix(tool, serverPrefix) {
		return true
	}
	switch tool {
	case "AskUserQuestion", "EnterPlanMode", "TaskOutput": // they are the main agent's
		return false
	case "ExitPlanMode":
		return o.Plan
	case "Agent":
		return o.Depth < o.MaxDepth
	}
	return !o.Async || unattended(tool)
}

// unattended reports whether a tool is of use where nobody waits. What is not named is
// not, so that a new tool is looked at first.
func unattended(tool string) bool {
	switch tool {
	case "Read", "Write", "Edit", "NotebookEdit", "Glob", "Grep", "Bash", "Monitor", "TaskStop", "WebFetch", "WebSearch", "TodoWrite",
		"Skill", "ToolSearch", "CallTool", "ListMcpResources", "ReadMcpResource", "SendMessage", "EnterWorktree", "ExitWorktree":
		return true
	}
	return false
}

// MaySpawn reports whether the agent may call another by its name, where it has the tool
// for it: Agent(a, b) in its list means these, Agent any, and Agent(a) among the tools it
// disallows means all but a.
func (a *Agent) MaySpawn(name string) bool {
	if a.limited && !named(a.only, name) {
		return false
	}
	for _, text := range a.Disallowed {
		if e := parseEntry(text); e.tool == "*" || isAgent(e.tool) && (!e.limited || named(e.inside, name)) {
			return false
		}
	}
	if !a.HasTools {
		return true
	}
	return slices.ContainsFunc(a.Tools, func(text string) bool {
		e := parseEntry(text)
		return e.tool == "*" || isAgent(e.tool) && (!e.limited || named(e.inside, name))
	})
}

// named reports whether a list means a name. An entry may end with a star.
func named(list []string, name string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		beginning, star := strings.CutSuffix(pattern, "*")
		return pattern == name || star && strings.HasPrefix(name, beginning)
	})
}
