package headless

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/task"
)

// reader is a host that keeps what it is told of tasks, and what it gathers from that.
type reader struct {
	t      *testing.T
	starts map[task.ID]int
	ends   map[task.ID]int
	known  map[task.ID]task.Snapshot
}

func newReader(t *testing.T) *reader {
	return &reader{t, map[task.ID]int{}, map[task.ID]int{}, map[task.ID]task.Snapshot{}}
}

func (r *reader) hear(news []any) {
	for _, n := range news {
		switch n := n.(type) {
		case taskStarted:
			r.starts[n.ID]++
			r.known[n.ID] = task.Snapshot{Status: task.Running, Description: n.Description, Backgrounded: n.Backgrounded}
		case taskUpdated:
			s, p := r.known[n.ID], n.Patch
			if p == (taskPatch{}) || r.starts[n.ID] == 0 || p.Status == s.Status || p.Description == s.Description || p.Backgrounded && s.Backgrounded {
				r.t.Errorf("%+v changes nothing of %+v", n, s)
			}
			if p.Status != "" {
				s.Status = p.Status
			}
			if p.Description != "" {
				s.Description = p.Description
			}
			s.Backgrounded = s.Backgrounded || p.Backgrounded
			s.Error = p.Error
			r.known[n.ID] = s
		case taskNotification:
			r.ends[n.ID]++
			if !r.known[n.ID].Status.Terminal() {
				r.t.Errorf("%+v came before the update", n)
			}
		}
	}
}

// Whenever somebody looks, a task that ever was in the background has one start and one end
// for the reader, in this order, and what the updates say adds up to the newest state.
func TestLooksAtAnyMomentAddUp(t *testing.T) {
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	defer func() {
		if t.Failed() {
			t.Logf("the seed was %d", seed)
		}
	}()
	for range 500 {
		r, w := newReader(t), newWriter(io.Discard, "s")
		var seen map[task.ID]task.Snapshot
		list := make([]task.Snapshot, 1+random.IntN(5))
		for i := range list {
			kinds := []task.Kind{task.LocalBash, task.LocalAgent}
			list[i] = task.Snapshot{
				ID: task.ID(fmt.Sprint("t", i)), Kind: kinds[random.IntN(2)], Status: task.Pending,
				Description: "0", Backgrounded: random.IntN(2) == 0,
			}
		}
		look := func() {
			var news []any
			news, seen = changes(w, seen, list)
			r.hear(news)
		}
		for range 30 {
			happen(list, random)
			if random.IntN(3) == 0 {
				look()
			}
		}
		look()
		look() // finds nothing new
		for _, s := range list {
			told, ended := 0, 0
			if s.Backgrounded || s.Kind != task.LocalBash {
				told = 1
			}
			if s.Backgrounded && s.Status.Terminal() {
				ended = 1
			}
			k := r.known[s.ID]
			if r.starts[s.ID] != told || r.ends[s.ID] != ended || told == 1 && (k.Status.Terminal() != s.Status.Terminal() || k.Description != s.Description || k.Backgrounded != s.Backgrounded || k.Error != s.Error) {
				t.Fatalf("%+v\nwas told as %+v, with %d starts and %d ends", s, k, r.starts[s.ID], r.ends[s.ID])
			}
		}
	}
}

// happen lets something happen to one of the tasks.
func happen(list []task.Snapshot, random *rand.Rand) {
	s := &list[random.IntN(len(list))]
	if s.Status.Terminal() {
		return
	}
	switch random.IntN(4) {
	case 0:
		s.Status = task.Running
	case 1:
		s.Backgrounded = true
	case 2:
		s.Description += "x"
	case 3:
		s.Status = []task.Status{task.Completed, task.Failed, task.Killed}[random.IntN(3)]
		s.EndedAt, s.Error = time.Unix(1, 0), strings.Repeat("e", random.IntN(2))
	}
}

// stalling is a reader's end that takes nothing while somebody has its turn. Waiting for
// a channel lets the time of a bubble go on, waiting for a mutex does not.
type stalling struct {
	turn chan struct{} // of capacity 1
	buf  bytes.Buffer
}

func (s *stalling) Write(p []byte) (int, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	return s.buf.Write(p)
}

func start(t *testing.T, tasks *task.Runtime, description string, run task.RunnerFunc) *task.Task {
	t.Helper()
	one, err := tasks.Start(task.Spec{Kind: task.LocalBash, Description: description, Background: true}, run)
	if err != nil {
		t.Fatal(err)
	}
	return one
}

// A host that is stopped for longer than the runtime remembers what has ended hears of all
// ends when it goes on.
func TestStalledReaderHearsOfEveryEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, tasks := sittingWithTasks(t, forever, task.Options{Grace: time.Second})
		out := stalling{turn: make(chan struct{}, 1)}
		teller := &taskTeller{s: s, w: newWriter(&out, "s")}
		stop := teller.watch()
		end := make(chan struct{})
		first := start(t, tasks, "first", func(context.Context, *task.Task) error { <-end; return nil })
		synctest.Wait()
		out.turn <- struct{}{}
		second := start(t, tasks, "second", func(context.Context, *task.Task) error { return errors.New("bad") })
		close(end)
		<-first.Done()
		<-second.Done()
		for _, one := range []*task.Task{first, second} {
			tasks.Delivered(one.Snapshot().Carrier)
		}
		time.Sleep(time.Minute) // of the bubble
		if n := len(tasks.List()); n != 0 {
			t.Fatalf("%d tasks are still listed", n)
		}
		<-out.turn
		stop()
		var got []string
		for _, m := range lines(t, out.buf.Bytes()) {
			got = append(got, fmt.Sprint(m["subtype"], " ", m["description"], m["summary"]))
		}
		all := strings.Join(got, "\n")
		for _, want := range []string{"task_started first<nil>", "task_notification <nil>first", "task_started second<nil>", "task_notification <nil>second: bad"} {
			if strings.Count(all, want) != 1 {
				t.Errorf("%q is not there once:\n%s", want, all)
			}
		}
		if err := tasks.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Many tasks that come and go while several look and print: each start and each end is there
// once, in order, and the last set of those that run is empty.
func TestManyTellAtOnce(t *testing.T) {
	s, tasks := sittingWithTasks(t, forever, task.Options{})
	t.Cleanup(func() { tasks.Close(context.Background()) })
	var out bytes.Buffer
	teller := &taskTeller{s: s, w: newWriter(&out, "s")}
	stop := teller.watch()
	const each = 50
	var work sync.WaitGroup
	for range 4 {
		work.Go(func() {
			for range each {
				one := start(t, tasks, "x", func(context.Context, *task.Task) error { return nil })
				<-one.Done()
				teller.catchUp()
			}
		})
	}
	work.Wait()
	stop()
	starts, ends := map[any]int{}, map[any]int{}
	var running any = []any{}
	for _, m := range lines(t, out.Bytes()) {
		switch m["subtype"] {
		case "task_started":
			starts[m["task_id"]]++
		case "task_notification":
			ends[m["task_id"]]++
			if starts[m["task_id"]] != 1 {
				t.Errorf("%v ended before it started", m["task_id"])
			}
		case "background_tasks_changed":
			running = m["tasks"]
		}
	}
	if len(starts) != 4*each || len(ends) != 4*each || fmt.Sprint(running) != "[]" {
		t.Errorf("%d tasks started, %d ended, and %v run", len(starts), len(ends), running)
	}
	for id, n := range ends {
		if n != 1 || starts[id] != 1 {
			t.Errorf("%v started %d times and ended %d times", id, starts[id], n)
		}
	}
}

// When a run has returned, nothing is printed any more, whatever the host still sends.
func TestNothingIsPrintedAfterTheEnd(t *testing.T) {
	s, tasks := sittingWithTasks(t, forever, task.Options{})
	in, host := io.Pipe()
	defer host.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	done := make(chan error)
	go func() {
		done <- RunStream(ctx, s, in, false, Options{Format: Stream, Out: &out, Err: io.Discard})
	}()
	fmt.Fprintln(host, `{"type":"keep_alive"}`)
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	size := out.Len()
	start(t, tasks, "late", func(context.Context, *task.Task) error { return nil })
	for _, subtype := range []string{"stop_task", "get_context_usage"} {
		fmt.Fprintf(host, `{"type":"control_request","request_id":"late","request":{"subtype":%q,"task_id":"b"}}`+"\n", subtype)
	}
	fmt.Fprintln(host) // has been read: so is what came before
	if out.Len() != size {
		t.Errorf("printed after the end: %s", out.Bytes()[size:])
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
