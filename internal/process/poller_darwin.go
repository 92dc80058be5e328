package process

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// collectNow are the flags with which a process is collected of which the poller said
// that it has exited. The kernel says so a moment before it can be collected: wait.
const collectNow = 0

// A poller is a queue of the kernel for the exits of processes. The handle of a process
// is its process id.
//
// The runtime cannot poll such a queue, so that one thread waits for it, for all.
type poller struct {
	queue  int
	events [64]unix.Kevent_t
	ready  []int
}

func newPoller() (*poller, error) {
	queue, err := unix.Kqueue()
	if err != nil {
		return nil, fmt.Errorf("wait for processes: %w", err)
	}
	unix.CloseOnExec(queue)
	return &poller{queue: queue}, nil
}

// add has wait return pid. It fails for a process that has exited already.
func (p *poller) add(pid int) error { return p.change(pid, unix.EV_ADD|unix.EV_ONESHOT) }

// forget undoes add.
func (p *poller) forget(pid int) {
	_ = p.change(pid, unix.EV_DELETE) // it goes by itself when it has been returned
}

func (p *poller) change(pid, flags int) error {
	var event unix.Kevent_t
	unix.SetKevent(&event, pid, unix.EVFILT_PROC, flags)
	event.Fflags = unix.NOTE_EXIT
	for {
		if _, err := unix.Kevent(p.queue, []unix.Kevent_t{event}, nil, nil); err != unix.EINTR {
			return err
		}
	}
}

// wait returns processes that have exited, at least one. The result is good until the
// next call.
func (p *poller) wait() ([]int, error) {
	n, err := unix.Kevent(p.queue, nil, p.events[:], nil)
	for err == unix.EINTR {
		n, err = unix.Kevent(p.queue, nil, p.events[:], nil)
	}
	if err != nil {
		return nil, fmt.Errorf("wait for processes: %w", err)
	}
	p.ready = p.ready[:0]
	for _, event := range p.events[:n] {
		p.ready = append(p.ready, int(event.Ident))
	}
	return p.ready, nil
}

func (p *poller) close() { unix.Close(p.queue) }

// release gives back a handle: here, it is a mere number.
func release(int) {}
