package process

import (
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
)

// A proc is one process as a look at the system found it.
type proc struct {
	pid, ppid, pgid, sid int
	start                uint64
	zombie, stopped      bool
	name                 string
}

// A tree is a command and everything that came out of it.
type tree struct {
	leader Identity
	mark   string
	group  *group // nil: the system has none for us
	ours   bool   // a child of this program, so that orphans come to us

	mu   sync.Mutex
	seen map[int]uint64 // start times of those who were members at the last look, by id
}

// alive returns the members that run, ordered by process id. It is one look: a
// process that is being born while we look may be missed, so that only two empty
// looks in a row mean that nobody is left.
func (t *tree) alive() []proc {
	t.mu.Lock()
	defer t.mu.Unlock()
	found := map[int]proc{}
	for _, pid := range t.group.pids() {
		if p, ok := look(pid); ok {
			found[pid] = p
		}
	}
	// Also where there is a control group: a process may have been moved out of it. But
	// while it has members, those are enough to do.
	if len(found) == 0 {
		procs, mark := candidates(t)
		for _, p := range t.pick(procs, mark) {
			found[p.pid] = p
		}
	}
	// Once a member, always a member, whatever it has left since.
	for pid, start := range t.seen {
		if p, ok := look(pid); ok && p.start == start {
			found[pid] = p
		}
	}
	maps.DeleteFunc(found, func(_ int, p proc) bool { return p.zombie })
	t.seen = make(map[int]uint64, len(found))
	for _, p := range found {
		t.seen[p.pid] = p.start
	}
	return slices.SortedFunc(maps.Values(found), func(a, b proc) int { return a.pid - b.pid })
}

// pick returns the members among all: the leader, its session and group, whoever
// was a member before or carries the mark, and the descendants of each. mark
// returns what a process carries in [MarkVariable], and whether that could be read.
func (t *tree) pick(all []proc, mark func(pid int) (string, bool)) []proc {
	index := make(map[int]proc, len(all))
	for _, p := range all {
		index[p.pid] = p
	}
	spared := lineage(index, os.Getpid())
	number := t.number(index)
	members := map[int]bool{}
	for _, p := range all {
		if spared[p.pid] {
			continue
		}
		switch {
		case t.seen[p.pid] == p.start && p.start != 0,
			number == held && (p.sid == t.leader.PID || p.pgid == t.leader.PID):
			members[p.pid] = true
		case number == free && (p.sid == t.leader.PID || p.pgid == t.leader.PID):
			// The number may have been given away since; another mark tells.
			value, ok := mark(p.pid)
			members[p.pid] = !ok || value == "" || carries(value, t.mark)
		}
	}
	closeOver(members, all, spared)
	for _, p := range all {
		if t.mark == "" || members[p.pid] || spared[p.pid] || p.zombie {
			continue
		}
		if value, ok := mark(p.pid); ok && carries(value, t.mark) {
			members[p.pid] = true
		}
	}
	closeOver(members, all, spared)

	var picked []proc
	for _, p := range all {
		if members[p.pid] {
			picked = append(picked, p)
		}
	}
	return picked
}

// What the process id of the leader says about a session or group of that id.
const (
	held   = iota // the leader has it: the session is ours
	free          // nobody has it: the session is ours unless the id was reused
	reused        // somebody else has it: the session is not ours
)

func (t *tree) number(index map[int]proc) int {
	p, taken := index[t.leader.PID]
	switch {
	case taken && p.start == t.leader.StartTime:
		return held
	case taken || !t.ours:
		// Of a leader that another run started and that is gone we cannot tell
		// how long: do not trust the id at all.
		return reused
	}
	return free
}

// closeOver adds the descendants of members to members.
func closeOver(members map[int]bool, all []proc, spared map[int]bool) {
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if members[p.ppid] && !members[p.pid] && !spared[p.pid] {
				members[p.pid] = true
				grown = true
			}
		}
	}
}

// lineage returns pid and its ancestors: this program may run in a command whose
// tree it is asked to end, and must not end itself.
func lineage(index map[int]proc, pid int) map[int]bool {
	line := map[int]bool{0: true, 1: true}
	for !line[pid] {
		line[pid] = true
		pid = index[pid].ppid
	}
	return line
}

// carries reports whether mark is one of the marks in value.
func carries(value, mark string) bool {
	return mark != "" && slices.Contains(strings.Split(value, "/"), mark)
}
