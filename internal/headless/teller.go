package headless

import (
	"context"
	"slices"
	"sync"

	"heddle/internal/session"
	"heddle/internal/task"
)

// taskTeller tells what becomes of tasks. To look and to print are two things: a reader that
// stalls until an ended task is listed no more is still told of the end. Nil tells nothing.
type taskTeller struct {
	s *session.Session
	w *writer

	looks sync.Mutex
	seen  map[task.ID]task.Snapshot // by their newest state, as long as they are listed
	live  []taskBrief               // what ran in the background at the last look
	news  []any                     // not yet printed

	prints sync.Mutex // keeps the news in order
}

// watch tells of tasks until stop is called. What has changed by then is told, too.
func (t *taskTeller) watch() (stop func()) {
	if t == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	fresh := make(chan struct{}, 1)
	var work sync.WaitGroup
	work.Go(func() {
		defer close(fresh)
		for range t.s.WatchTasks(ctx) {
			t.look()
			select {
			case fresh <- struct{}{}:
			default:
			}
		}
	})
	work.Go(func() {
		for range fresh {
			t.print()
		}
	})
	return func() {
		cancel()
		work.Wait()
		t.catchUp()
	}
}

// catchUp returns when everything that has happened to tasks so far is told. What is
// printed next may rely on it: a host that reads a result knows what still runs.
func (t *taskTeller) catchUp() {
	if t == nil {
		return
	}
	t.look()
	t.print()
}

// look notes what is new. The list is fetched under the lock, so that nobody compares an
// older one with what is already known.
func (t *taskTeller) look() {
	t.looks.Lock()
	defer t.looks.Unlock()
	list := tasksOf(t.s)
	news, seen := changes(t.w, t.seen, list)
	t.seen = seen
	if now := live(list); !slices.Equal(now, t.live) {
		t.live = now
		news = append(news, tasksChanged{t.w.head("system", "background_tasks_changed"), now})
	}
	t.news = append(t.news, news...)
}

func (t *taskTeller) print() {
	t.prints.Lock()
	defer t.prints.Unlock()
	t.looks.Lock()
	news := t.news
	t.news = nil
	t.looks.Unlock()
	for _, n := range news {
		t.w.write(n)
	}
}

// tasksOf returns the tasks of a session as they are now.
func tasksOf(s *session.Session) (now []task.Snapshot) {
	for now = range s.WatchTasks(context.Background()) {
		break
	}
	return now
}
