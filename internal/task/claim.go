package task

import "fmt"

// Claim is the word of a caller that its result will tell what becomes of tasks, so
// that no notification has to. It must be given back by [Claim.Take].
type Claim struct {
	rt      *Runtime
	tasks   []*Task
	carrier string
}

// Claim claims the ends of tasks for the tool call that is named by carrier. A task that
// is not known is an error.
func (r *Runtime) Claim(ids []ID, carrier string) (*Claim, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &Claim{rt: r, carrier: carrier}
	for _, id := range ids {
		t := r.tasks[id]
		if t == nil {
			return nil, fmt.Errorf("task %s: %w", id, ErrNotRunning)
		}
		c.tasks = append(c.tasks, t)
	}
	for _, t := range c.tasks {
		t.claims++
	}
	return c, nil
}

// Take gives the claim back and returns what is known of the tasks. The ends among that
// are the caller's to tell, unless the owner knows of them already.
func (c *Claim) Take() []Snapshot {
	snaps := c.release()
	for i, t := range c.tasks {
		s := &snaps[i]
		if !s.Status.Terminal() || s.Told || s.Carrier == c.carrier || s.Carrier != noticeID(*s) {
			continue
		}
		<-t.done // until then, the notification may be on its way
		if n := c.rt.opts.Notifier; n != nil && n.Withdraw(s.Carrier) {
			*s = c.rt.redirect(t, c.carrier)
		}
	}
	return snaps
}

func (c *Claim) release() []Snapshot {
	c.rt.mu.Lock()
	defer c.rt.mu.Unlock()
	snaps := make([]Snapshot, len(c.tasks))
	for i, t := range c.tasks {
		t.claims--
		if t.snap.Status.Terminal() && t.snap.Carrier == "" && t.snap.Backgrounded {
			c.rt.carry(t, c.carrier)
		}
		snaps[i] = t.snap
	}
	return snaps
}

// redirect lets a tool call bring the end instead of the notification.
func (r *Runtime) redirect(t *Task, carrier string) Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.carried, t.snap.Carrier)
	r.carry(t, carrier)
	return t.snap
}
