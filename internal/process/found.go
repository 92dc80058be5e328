package process

import (
	"errors"
	"time"
)

// ErrNoExit is what [Process.Wait] returns of a process that is not our child: it has
// exited, and only its parent learns how.
var ErrNoExit = errors.New("how the process exited is not known")

// Find returns the tree of a process that an earlier run of this program started, if
// anything of it is alive. It is held to be the same by its start and boot, or by the mark
// that it carries; nothing else is touched. Done is closed when the leader is gone.
func Find(id Identity, mark string) (*Process, bool) {
	if id.BootID != bootID() {
		return nil, false // nothing outlives the system
	}
	p := &Process{
		done: make(chan struct{}),
		tree: tree{leader: id, mark: mark, group: openGroup(id.Group)},
	}
	if len(p.tree.alive()) == 0 {
		return nil, false
	}
	p.err = ErrNoExit
	exits().watch(p, handleOf(id.PID))
	return p, true
}

// goneByLooking returns when the process is gone, where the system does not tell.
func goneByLooking(id Identity) {
	look := time.NewTicker(lookForExit)
	defer look.Stop()
	for id.Alive() {
		<-look.C
	}
}

// lookForExit is how often we look.
const lookForExit = 250 * time.Millisecond
