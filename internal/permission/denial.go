package permission

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"heddle/internal/tool"
)

// Denial is a call that was refused.
type Denial struct {
	ID     string // of the tool_use block
	Tool   string
	Input  json.RawMessage
	Reason string
	ByUser bool // a person refused, or the program that speaks for one
}

// record is what was refused to one agent.
type record struct {
	denials  []Denial
	refusals int // by a person, in this run
}

// Begin says that a new run of the agent begins: its refusals count from zero, and what
// was granted to the run before is over. The empty name is the main conversation.
func (g *Gate) Begin(agent string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.denied, agent)
	g.revoke(agent)
}

// Denied returns what was refused to the agent in its run, first to last.
func (g *Gate) Denied(agent string) []Denial {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r := g.denied[agent]; r != nil {
		return slices.Clone(r.denials)
	}
	return nil
}

// note remembers a denial and returns how often a person has refused in this run.
func (g *Gate) note(c tool.Call, d Denial) int {
	d.ID, d.Tool, d.Input = c.ID, c.Name, c.Input
	agent := ""
	if c.Scope != nil {
		agent = c.Scope.Agent
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.denied[agent]
	if r == nil {
		r = &record{}
		g.denied[agent] = r
	}
	r.denials = append(r.denials, d)
	if d.ByUser {
		r.refusals++
	}
	return r.refusals
}

// refuse gives the result of a call that nobody has looked at.
func (g *Gate) refuse(c tool.Call, reason, text string) tool.Result {
	g.note(c, Denial{Reason: reason})
	r := tool.Failf("%s", text)
	r.Denied = true
	return r
}

// refusedByUser gives the result of a call that a person refused. An agent that
// keeps asking is looking for a way round; its run should end.
func (g *Gate) refusedByUser(c tool.Call, a Answer) tool.Result {
	var text strings.Builder
	text.WriteString("Denied by the user")
	if m := strings.TrimSpace(a.Message); m != "" {
		fmt.Fprintf(&text, ": %s", m)
	}
	n := g.note(c, Denial{Reason: text.String(), ByUser: true})
	if n >= maxRefusals {
		fmt.Fprintf(&text, "\nThe user has now refused %d calls of this run. Stop. Do not look for another way to the same end; report what you did and what was refused.", n)
	} else {
		text.WriteString("\nIt did not run. Do not try the same in another way; do something else, or ask the user what they want.")
	}
	r := tool.Failf("%s", text.String())
	r.Denied, r.TooDenied, r.Interrupt = true, n >= maxRefusals, a.Interrupt
	return r
}
