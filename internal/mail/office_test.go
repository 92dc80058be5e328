package mail

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/task"
)

func note(id, owner task.ID, carrier string) task.Notification {
	return task.Notification{Task: task.Snapshot{ID: id, Owner: owner, Status: task.Completed, Carrier: carrier}, Priority: task.Later}
}

func ids(in []agent.Input) string {
	var list []string
	for _, i := range in {
		list = append(list, i.ID)
	}
	return strings.Join(list, " ")
}

func TestOfficeGivesToTheOwner(t *testing.T) {
	main := NewQueue()
	o := NewOffice(main)
	var lost []string
	o.Lost(func(carrier string) { lost = append(lost, carrier) })
	q := o.Open("a1")
	o.Notify(note("b1", "", "end:b1"))
	o.Notify(note("b2", "a1", "end:b2"))
	o.Notify(note("b3", "a1", "end:b3"))
	o.Notify(note("b4", "a2", "end:b4")) // nobody of that id
	if !o.Withdraw("end:b2") || o.Withdraw("end:b9") {
		t.Error("a notification is withdrawn where it is, and nowhere else")
	}
	if got := ids(q.Take(false)); got != "" {
		t.Errorf("while it works, the agent hears of the end %s", got)
	}
	o.Notify(note("b5", "a1", "end:b5"))
	if got := ids(q.TakeAll()); got != "end:b3 end:b5" {
		t.Errorf("the agent gets %s", got)
	}
	if got := ids(main.TakeAll()); got != "end:b1" {
		t.Errorf("the main conversation gets %s", got)
	}
	o.Notify(note("b6", "a1", "end:b6"))
	o.Close("a1")
	o.Notify(note("b7", "a1", "end:b7"))
	if want := []string{"end:b4", "end:b6", "end:b7"}; !slices.Equal(lost, want) {
		t.Errorf("lost = %v, want %v", lost, want)
	}
}

func TestPostsWakeAndComeLast(t *testing.T) {
	q := NewQueue()
	q.Post(agent.Input{Content: message.FromUser("x").Content, ID: "post"})
	select {
	case <-q.Arrived():
	default:
		t.Error("a post does not wake")
	}
	if empty, timers := q.Waiting(); empty || timers {
		t.Errorf("Waiting = %v, %v", empty, timers)
	}
	q.Notify(note("b1", "", "end:b1"))
	if got := ids(q.TakeAll()); got != "end:b1 post" {
		t.Errorf("TakeAll = %s", got)
	}
	if empty, _ := q.Waiting(); !empty {
		t.Error("what was taken is still there")
	}
}

// TestOfficeLosesNothing holds under many hands that each end is read or lost, once.
func TestOfficeLosesNothing(t *testing.T) {
	o := NewOffice(NewQueue())
	var mu sync.Mutex
	seen := map[string]int{}
	see := func(id string) {
		mu.Lock()
		seen[id]++
		mu.Unlock()
	}
	o.Lost(see)
	const agents, each = 20, 50
	var all sync.WaitGroup
	for a := range agents {
		id := task.ID([]byte{'a', byte('a' + a)})
		q := o.Open(id)
		all.Go(func() {
			for n := range each {
				o.Notify(note("b", id, string(id)+":"+string(rune('0'+n))))
			}
		})
		all.Go(func() {
			for range each / 2 {
				for _, in := range q.TakeAll() {
					see(in.ID)
				}
			}
			o.Close(id)
		})
	}
	all.Wait()
	if len(seen) != agents*each {
		t.Errorf("%d ends arrived, want %d", len(seen), agents*each)
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s arrived %d times", id, n)
		}
	}
}
