package mail

import (
	"sync"

	"heddle/internal/agent"
	"heddle/internal/task"
)

// Office gives what tasks tell to the agent that they concern: the one that started them.
// It is the [task.Notifier] of a session.
type Office struct {
	main *Queue
	// lost is told what brings the end of a task whose owner is gone, so that it is not
	// told again. See [Office.Lost].
	lost func(carrier string)

	mu     sync.Mutex
	queues map[task.ID]*Queue
}

// NewOffice returns an office that gives to main what concerns no other agent.
func NewOffice(main *Queue) *Office {
	return &Office{main: main, queues: map[task.ID]*Queue{}, lost: func(string) {}}
}

// Lost says who is to hear of ends that nobody reads any more: usually the runtime's own
// Delivered. It is called before the first task starts.
func (o *Office) Lost(lost func(carrier string)) { o.lost = lost }

// Open returns the queue of an agent, from now on.
func (o *Office) Open(id task.ID) *Queue {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := NewQueue()
	o.queues[id] = q
	return q
}

// Close says that the agent reads no more.
func (o *Office) Close(id task.ID) {
	o.mu.Lock()
	var rest []agent.Input
	if q := o.queues[id]; q != nil {
		rest = q.TakeAll()
	}
	delete(o.queues, id)
	o.mu.Unlock()
	for _, in := range rest {
		if in.ID != "" { // news of a task that goes on
			o.lost(in.ID)
		}
	}
}

// Notify takes n in.
func (o *Office) Notify(n task.Notification) {
	if !o.deliver(n) && n.ID() != "" {
		o.lost(n.ID())
	}
}

// deliver reports whether somebody is there to read n. The lock makes sure that what is
// delivered is seen by Close.
func (o *Office) deliver(n task.Notification) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := o.main
	if n.Task.Owner != "" {
		q = o.queues[n.Task.Owner]
	}
	if q == nil {
		return false
	}
	q.Notify(n)
	return true
}

// Withdraw takes back the notification with an id, if nobody has read it.
func (o *Office) Withdraw(id string) bool {
	o.mu.Lock()
	queues := []*Queue{o.main}
	for _, q := range o.queues {
		queues = append(queues, q)
	}
	o.mu.Unlock()
	for _, q := range queues {
		if q.Withdraw(id) {
			return true
		}
	}
	return false
}
