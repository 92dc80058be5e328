package permission

import "slices"

// member is what is different for one agent of a session.
type member struct {
	parent string // the agent that it works for; empty: the main conversation
	mode   Mode   // its own; empty: that of its parent
	// What a skill in use permits and forbids, for the length of a run.
	allow, deny []Rule
}

// Join says that an agent begins to work for parent, in a mode of its own if one is given.
// Such a mode counts while the mode of the parent is [Default]: who was given more leave,
// or less, decided for all that works for them. [Plan] always counts, since it only takes
// away. The error says why the mode cannot be had.
func (g *Gate) Join(agent, parent string, mode Mode) error {
	if mode == Bypass && g.bypass != nil {
		return g.bypass
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members[agent] = member{parent: parent, mode: mode}
	delete(g.denied, agent)
	g.recompile()
	return nil
}

// Leave says that an agent is done, and returns what was refused to it.
func (g *Gate) Leave(agent string) []Denial {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []Denial
	if r := g.denied[agent]; r != nil {
		list = r.denials
	}
	delete(g.denied, agent)
	delete(g.members, agent)
	g.recompile()
	return list
}

// ModeOf returns the mode that counts for an agent.
func (g *Gate) ModeOf(agent string) Mode { return g.state.Load().of(agent).mode }

// Grant gives the agent more rules until its next run begins: what a skill that is in use
// may do, and what not. Questions that are waiting are judged again. What is forbidden to
// an agent is so to those that work for it; what is permitted is not.
func (g *Gate) Grant(agent string, allow, deny []Rule) {
	g.mu.Lock()
	m := g.members[agent]
	m.allow, m.deny = slices.Concat(m.allow, allow), slices.Concat(m.deny, deny)
	g.members[agent] = m
	g.recompile()
	g.mu.Unlock()
	g.settle()
}

// revoke takes back what was granted to an agent. It is called with the lock held.
func (g *Gate) revoke(agent string) {
	m := g.members[agent]
	if len(m.allow)+len(m.deny) == 0 {
		return
	}
	m.allow, m.deny = nil, nil
	g.members[agent] = m
	g.recompile()
}

// recompile makes a new state of the rules as they are. It is called with the lock held.
func (g *Gate) recompile() {
	s := g.state.Load()
	g.state.Store(g.compile(g.allow, g.ask, g.deny, s.mode, s.given))
}

// effective is the mode of an agent, given that of the main conversation, and the rules
// that are forbidden to it and to those it works for.
func (g *Gate) effective(agent string, main Mode) (mode Mode, deny []Rule) {
	m, ok := g.members[agent]
	mode = main
	if agent != "" && ok {
		mode, deny = g.effective(m.parent, main)
	}
	if m.mode == Plan || m.mode != "" && mode == Default {
		mode = m.mode
	}
	return mode, slices.Concat(deny, m.deny)
}
