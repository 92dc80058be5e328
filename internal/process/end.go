package process

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Member is a process of a tree.
type Member struct {
	PID     int
	Command string // its command line, shortened to one line, or its name
}

// String returns the process id and the command.
func (m Member) String() string { return fmt.Sprintf("%d %s", m.PID, m.Command) }

// Members returns the processes of the tree that are alive now: the leader, while
// it runs, and whatever it started. Zombies do not count.
func (p *Process) Members() []Member {
	select {
	case <-p.done:
		if p.tree.deserted() {
			return nil
		}
	default:
	}
	return members(p.tree.alive())
}

// End ends the tree. Every member is asked to end (TERM), has the grace to do so,
// and is then killed. End looks for members again until two looks in a row find
// none, and returns the survivors: none, and no error, means that all are dead.
//
// End takes at most grace and two seconds. When ctx is done the grace is over;
// the killing is always carried through.
//
// Where there are no control groups, one kind of member is not found: one that
// left its session, lost its parent and emptied its environment before anyone
// looked.
func (p *Process) End(ctx context.Context, grace time.Duration) ([]Member, error) {
	return p.tree.end(ctx, grace, p.Done())
}

const (
	// How long we go on killing. The rest of the two seconds is for the looks, which
	// take long on a busy machine.
	insistence = 1500 * time.Millisecond
	firstPause = 2 * time.Millisecond // between two looks; doubles
	lastPause  = 32 * time.Millisecond
	// Between the two empty looks, without a control group: longer than an exec, in
	// the middle of which a process shows no mark.
	doubt = 16 * time.Millisecond
)

// end does the work of End. It looks at once when exited is closed, since a tree
// is mostly gone with its leader.
func (t *tree) end(ctx context.Context, grace time.Duration, exited <-chan struct{}) ([]Member, error) {
	polite, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	ask := asker{leader: t.leader, asked: map[int]uint64{}}
	if t.empty(polite, exited, ask.end) {
		return nil, nil
	}
	firm, cancel := context.WithTimeout(context.WithoutCancel(ctx), insistence)
	defer cancel()
	var refused error
	kill := func(alive []proc) { refused = t.kill(firm, alive) }
	if t.empty(firm, exited, kill) {
		return nil, nil
	}
	left := members(t.alive())
	if len(left) == 0 {
		return nil, nil
	}
	names := make([]string, len(left))
	for i, m := range left {
		names[i] = m.String()
	}
	err := fmt.Errorf("the command could not be ended, still alive: %s", strings.Join(names, "; "))
	return left, errors.Join(err, refused)
}

// empty applies act to the members that are alive, again and again, until two
// looks in a row find none (true) or ctx is done (false).
func (t *tree) empty(ctx context.Context, exited <-chan struct{}, act func([]proc)) bool {
	clean := 0
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		wake := exited
		if alive := t.alive(); len(alive) > 0 {
			clean = 0
			act(alive)
		} else if clean++; clean == 2 {
			t.group.remove()
			return true
		} else {
			pause, wake = firstPause, nil
			if t.group == nil {
				pause = doubt
			}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-wake:
			exited = nil
		case <-ctx.Done():
			timer.Stop()
			return false
		}
		timer.Stop()
	}
}

// An asker asks members to end. It asks each once, and nobody new while one who
// was asked is alive: that is the clean-up, and what it starts has to finish.
type asker struct {
	leader Identity
	asked  map[int]uint64 // start times, by process id
}

func (a *asker) end(alive []proc) {
	cleaning := func(p proc) bool { return a.asked[p.pid] == p.start }
	if slices.ContainsFunc(alive, cleaning) {
		return
	}
	// The group as a whole first, in one step of the kernel: asked one by one, a
	// shell would go on to its next command because its child was ended before it.
	// Not if we are in it: an earlier run may have started this one.
	leader := a.leader
	together := leader.Alive() && leader.PID != syscall.Getpgrp() &&
		syscall.Kill(-leader.PID, syscall.SIGTERM) == nil
	for _, p := range alive {
		a.asked[p.pid] = p.start
		// It may have left the group just before that was asked.
		if now, _ := look(p.pid); !together || now.pgid != leader.PID {
			_ = send(p, syscall.SIGTERM) // who refuses is told so by kill
		}
		if p.stopped {
			_ = send(p, syscall.SIGCONT) // a stopped process cannot hear
		}
	}
}

// kill kills alive and whatever else it finds. It first stops everyone until
// nobody new appears, so that none can fork and parents still show whose their
// children are; a control group needs none of that.
func (t *tree) kill(ctx context.Context, alive []proc) error {
	if !t.group.kill() {
		stopped := map[int]uint64{}
		for fresh := true; fresh && ctx.Err() == nil; {
			fresh = false
			for _, p := range alive {
				if stopped[p.pid] != p.start {
					stopped[p.pid] = p.start
					fresh = true
					_ = send(p, syscall.SIGSTOP) // the KILL below reports
				}
			}
			if fresh {
				alive = t.alive()
			}
		}
	}
	var refused error
	for _, p := range alive {
		if err := send(p, syscall.SIGKILL); err != nil {
			refused = errors.Join(refused, fmt.Errorf("kill %d: %w", p.pid, err))
		}
	}
	return refused
}

// deserted reports, without a look at every process, that nobody is left of a
// tree whose leader has exited. False means: look.
func (t *tree) deserted() bool {
	return t.group != nil && t.group.remove() &&
		errors.Is(syscall.Kill(-t.leader.PID, 0), syscall.ESRCH)
}

func members(procs []proc) []Member {
	var ms []Member
	for _, p := range procs {
		ms = append(ms, Member{PID: p.pid, Command: oneLine(commandLine(p))})
	}
	return ms
}

// oneLine shortens a command to what names it: some are whole scripts.
func oneLine(command string) string {
	const limit = 200
	runes := []rune(strings.Join(strings.Fields(command), " "))
	if len(runes) > limit {
		runes = append(runes[:limit], '…')
	}
	return string(runes)
}
