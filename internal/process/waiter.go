package process

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
)

// exits is the waiter of this program. There is one, like the poller of the runtime:
// what it waits on belongs to the program as a whole, and to share it is what makes a
// waiting process cheap. Nothing of it is left while nobody is waited for.
var exits = sync.OnceValue(func() *waiter { return &waiter{} })

// A waiter waits for many processes with one goroutine, which begins with the first of
// them and ends with the last.
type waiter struct {
	mu      sync.Mutex
	poller  *poller            // nil: nobody is waited for
	waiting map[int][]*Process // by the handle under which the poller knows them
}

// noHandle is the handle of a process that the poller cannot wait for.
const noHandle = -1

// watch closes p.done when the leader of p has exited. From now on handle belongs to
// the waiter.
func (w *waiter) watch(p *Process, handle int) {
	if handle == noHandle || !w.add(p, handle) {
		go p.waitAlone(handle)
	}
}

func (w *waiter) add(p *Process, handle int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	poller := w.poller
	if poller == nil {
		var err error
		if poller, err = newPoller(); err != nil {
			return false
		}
	}
	// A handle means one process. Whether it is the right one is known from here on.
	err := poller.add(handle)
	if err != nil || !p.tree.ours && !p.tree.leader.Alive() {
		if len(w.waiting[handle]) == 0 {
			poller.forget(handle)
		}
		if w.poller == nil {
			poller.close()
		}
		return false
	}
	if w.poller == nil {
		w.poller, w.waiting = poller, map[int][]*Process{}
		go w.run(poller)
	}
	w.waiting[handle] = append(w.waiting[handle], p)
	return true
}

// run tells the processes from their exits until nobody is waited for.
func (w *waiter) run(poller *poller) {
	var groups sweeper
	defer groups.wait()
	for {
		ready, err := poller.wait()
		if err != nil {
			w.disband(poller)
			return
		}
		for _, handle := range ready {
			w.settle(poller, handle, &groups)
		}
		if w.idle(poller) {
			return
		}
	}
}

// settle ends the wait for those whom handle stands for.
func (w *waiter) settle(poller *poller, handle int, groups *sweeper) {
	w.mu.Lock()
	ps := w.waiting[handle]
	delete(w.waiting, handle) // first: once collected, its process id may be given away
	w.mu.Unlock()
	for _, p := range ps {
		if !p.collect(collectNow) {
			// A debugger has it, and learns first. The poller will tell us again.
			w.mu.Lock()
			w.waiting[handle] = ps
			w.mu.Unlock()
			return
		}
	}
	poller.forget(handle)
	release(handle)
	for _, p := range ps {
		close(p.done)
		groups.sweep(p.tree.group)
	}
}

// idle reports that nobody is waited for, and then gives the poller back.
func (w *waiter) idle(poller *poller) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.waiting) > 0 {
		return false
	}
	w.poller = nil
	poller.close()
	return true
}

// disband lets each process be waited for alone, since the poller does not work.
func (w *waiter) disband(poller *poller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for handle, ps := range w.waiting {
		poller.forget(handle)
		for _, p := range ps {
			go p.waitAlone(handle)
		}
	}
	w.poller, w.waiting = nil, nil
	poller.close()
}

// waitAlone waits for p without the waiter, at the price of a thread. It keeps the handle
// until then, from which the collector of orphans knows that the exit is ours.
func (p *Process) waitAlone(handle int) {
	if p.tree.ours {
		p.collect(0)
	} else {
		goneByLooking(p.tree.leader)
	}
	release(handle)
	close(p.done)
	p.tree.group.remove()
}

// collect collects the leader if it is our child, and reports whether it has exited.
func (p *Process) collect(flags int) (done bool) {
	if !p.tree.ours {
		return true // its parent collects it; the poller said that it is gone
	}
	p.exit, done, p.err = collect(p.PID(), flags)
	return done
}

// collect collects the child pid. It is never asked for "any child": that would
// take the exits of others.
func collect(pid, flags int) (exit Exit, done bool, err error) {
	var status syscall.WaitStatus
	for {
		got, err := syscall.Wait4(pid, &status, flags, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return Exit{Code: -1}, true, fmt.Errorf("wait for process %d: %w", pid, err)
		case got != pid:
			return Exit{}, false, nil
		case status.Signaled():
			return Exit{Code: -1, Signal: status.Signal()}, true, nil
		default:
			return Exit{Code: status.ExitStatus()}, true, nil
		}
	}
}
