// Package mail holds what arrives for agents until they read it.
package mail

import (
	"slices"
	"sync"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/task"
)

// Queue holds what arrives for one agent until that reads it. It is an [agent.Inbox], and
// the [task.Notifier] of the tasks that the agent starts.
type Queue struct {
	arrived chan struct{} // of capacity 1: something did, look again

	mu    sync.Mutex
	held  []task.Notification
	posts []agent.Input
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{arrived: make(chan struct{}, 1)} }

// Notify takes n in.
func (b *Queue) Notify(n task.Notification) {
	b.mu.Lock()
	b.held = append(b.held, n)
	b.mu.Unlock()
	b.signal()
}

// Post takes in what others than tasks have to tell. It wakes the conversation.
func (b *Queue) Post(in agent.Input) {
	b.mu.Lock()
	b.posts = append(b.posts, in)
	b.mu.Unlock()
	b.signal()
}

func (b *Queue) signal() {
	select {
	case b.arrived <- struct{}{}:
	default:
	}
}

// Withdraw takes back the notification with an id, if nobody has read it.
func (b *Queue) Withdraw(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.held, func(n task.Notification) bool { return n.ID() == id })
	if i < 0 {
		return false
	}
	b.held = slices.Delete(b.held, i, i+1)
	return true
}

// Take returns what is to be read while the agent is at work, oldest first: what concerns
// a task that still runs. When the model is done, its answer stands; what has arrived
// wakes it to a turn of its own, with an answer of its own.
func (b *Queue) Take(idle bool) []agent.Input {
	if idle {
		return nil
	}
	return b.take(func(n task.Notification) bool { return n.Priority == task.Next })
}

// TakeAll returns all that is held, oldest first.
func (b *Queue) TakeAll() []agent.Input {
	in := b.take(func(task.Notification) bool { return true })
	b.mu.Lock()
	defer b.mu.Unlock()
	in = append(in, b.posts...)
	b.posts = nil
	return in
}

func (b *Queue) take(which func(task.Notification) bool) []agent.Input {
	b.mu.Lock()
	defer b.mu.Unlock()
	var in []agent.Input
	b.held = slices.DeleteFunc(b.held, func(n task.Notification) bool {
		if !which(n) {
			return false
		}
		in = append(in, agent.Input{
			Content: []message.Block{message.Text{Text: n.XML()}}, Origin: agent.Notification, ID: n.ID(),
		})
		return true
	})
	return in
}

// Arrived tells that something may be there to be read.
func (b *Queue) Arrived() <-chan struct{} { return b.arrived }

// Waiting reports whether anything is held, and whether that is only ends of timers.
func (b *Queue) Waiting() (empty, timers bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.held {
		if !n.Task.Timer {
			return false, false
		}
	}
	if len(b.posts) > 0 {
		return false, false
	}
	return len(b.held) == 0, true
}
