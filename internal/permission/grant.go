package permission

import "slices"

// Advice is what somebody has said about a call before it came to the gate, for instance
// a hook: Allow answers what would be asked, except by an ask rule or by what always
// needs a person; Ask makes it a question. It never overrules a refusal.
type Advice struct {
	Behavior Behavior // Allow, Ask, or nothing
	Reason   string   // a clause for people and models
}

// grant is what one agent may do, and may not do, for the length of a run.
type grant struct{ allow, deny []Rule }

// Grant gives the agent more rules until its next run begins: what a skill that is in use
// may do, and what not. Questions that are waiting are judged again.
func (g *Gate) Grant(agent string, allow, deny []Rule) {
	g.mu.Lock()
	old := g.grants[agent]
	g.grants[agent] = grant{slices.Concat(old.allow, allow), slices.Concat(old.deny, deny)}
	g.recompile()
	g.mu.Unlock()
	g.settle()
}

// revoke takes back what was granted to an agent. It is called with the lock held.
func (g *Gate) revoke(agent string) {
	if _, ok := g.grants[agent]; ok {
		delete(g.grants, agent)
		g.recompile()
	}
}

// recompile makes a new state of the rules as they are. It is called with the lock held.
func (g *Gate) recompile() {
	s := g.state.Load()
	g.state.Store(g.compile(g.allow, g.ask, g.deny, s.mode, s.given))
}
