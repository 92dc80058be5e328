package process

import (
	"context"
	"time"
)

// An Identity recognises a process beyond the life of this program. A process id
// alone does not: the kernel gives it to another process later.
type Identity struct {
	PID       int    `json:"pid"`
	StartTime uint64 `json:"start_time"`      // when it began, in the unit of the system
	BootID    string `json:"boot_id"`         // of the run of the kernel
	Group     string `json:"group,omitempty"` // the control group of its tree, if it has one
}

// Alive reports whether that very process runs.
func (id Identity) Alive() bool {
	if id.PID <= 1 || id.BootID == "" || id.BootID != bootID() {
		return false
	}
	now, ok := look(id.PID)
	return ok && !now.zombie && now.start == id.StartTime
}

// EndIdentity is [Process.End] for a tree that an earlier run of this program
// started and could not end. It touches the processes of the leader if that
// still is the process that was started, those in its control group, and those
// that carry the mark; nobody else. Where the program died before it could note whom it
// had started, the identity is empty, and the mark alone tells.
func EndIdentity(ctx context.Context, id Identity, mark string, grace time.Duration) ([]Member, error) {
	if id.BootID != "" && id.BootID != bootID() {
		return nil, nil // the system was restarted: nothing of then is left
	}
	t := tree{leader: id, mark: mark, group: openGroup(id.Group)}
	return t.end(ctx, grace, nil)
}
