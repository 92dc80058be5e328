package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/internal/control"
	"heddle/internal/task"
)

// seenTask is a task as it is known here.
type seenTask struct {
	task.Record
	Session string `json:"session_id"`
	Live    bool   `json:"session_running"`

	client *control.Client // of its session; nil if that does not run
	depth  int             // below how many owners it stands
}

func (t seenTask) state() string {
	switch {
	case !t.Status.Terminal() && !t.Live:
		return "interrupted"
	case t.Reason != "" && t.Reason != task.ReasonExit && t.Reason != task.ReasonSignal:
		return fmt.Sprintf("%s (%s)", t.Status, t.Reason)
	case t.Status == task.Failed && t.Error != "":
		return fmt.Sprintf("%s (%s)", t.Status, plainLine(t.Error))
	}
	return string(t.Status)
}

// time is how long it took, or has run by now.
func (t seenTask) time() string {
	end := t.EndedAt
	if end.IsZero() {
		if !t.Live {
			return "?"
		}
		end = time.Now()
	}
	d := end.Sub(t.StartedAt)
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

func (t seenTask) close() {
	if t.client != nil {
		_ = t.client.Close()
	}
}

func closeAll(tasks []seenTask) {
	for _, t := range tasks {
		t.close()
	}
}

// sessionTasks is a session that has tasks.
type sessionTasks struct {
	id, dir string // dir: of its tasks
	live    bool
}

// findTasks returns the tasks of sessions, the oldest first: of those that run in this
// directory, or in any, or of those whose id begins so, then also of dead ones.
func findTasks(ctx context.Context, p place, session string, all, dead bool) (found []seenTask, err error) {
	var matched int
	for _, s := range p.sessionsWithTasks(all || session != "") {
		if !strings.HasPrefix(s.id, session) || !s.live && !dead {
			continue
		}
		matched++
		tasks, err := tasksOf(ctx, p, s)
		if err != nil {
			closeAll(found)
			return nil, err
		}
		found = append(found, tasks...)
	}
	if session != "" && matched == 0 {
		return nil, usagef("--session: no session whose id begins with %q has tasks", session)
	}
	slices.SortStableFunc(found, func(a, b seenTask) int { return a.StartedAt.Compare(b.StartedAt) })
	return found, nil
}

// sessionsWithTasks lists the sessions of this directory, or of all.
func (p place) sessionsWithTasks(all bool) []sessionTasks {
	pattern := filepath.Join(p.projectDir(), "*", "tasks")
	if all {
		pattern = filepath.Join(p.home, "projects", "*", "*", "tasks")
	}
	dirs, _ := filepath.Glob(pattern) // the pattern is good
	var list []sessionTasks
	for _, dir := range dirs {
		list = append(list, sessionTasks{filepath.Base(filepath.Dir(dir)), dir, task.Live(dir)})
	}
	return list
}

// tasksOf returns the tasks of a session: from itself if it runs, or else from its journal.
func tasksOf(ctx context.Context, p place, s sessionTasks) ([]seenTask, error) {
	var client *control.Client
	var records []task.Record
	var err error
	if s.live {
		client, err = control.Dial(ctx, p.runDir(), s.id)
		if err != nil && !errors.Is(err, control.ErrNoServer) {
			return nil, err
		}
	}
	if client != nil {
		records, err = client.Do(ctx, control.Request{Op: control.List})
		if err != nil {
			return nil, errors.Join(err, client.Close())
		}
	}
	known := map[task.ID]bool{}
	for _, r := range records {
		known[r.ID] = true
	}
	written, err := task.ReadJournal(s.dir)
	if err != nil {
		return nil, err
	}
	for _, r := range written { // also what the session itself lists no more
		if !known[r.ID] {
			records = append(records, r)
		}
	}
	var tasks []seenTask
	for _, r := range records {
		tasks = append(tasks, seenTask{Record: r, Session: s.id, Live: s.live, client: client})
	}
	if len(tasks) == 0 && client != nil {
		return nil, client.Close()
	}
	return tasks, nil
}

// oneTask finds the task whose id begins so: among the sessions of this directory first,
// running or not, then everywhere.
func oneTask(ctx context.Context, p place, o tasksOptions, id string) (seenTask, error) {
	for _, everywhere := range []bool{false, true} {
		all, err := findTasks(ctx, p, o.session, everywhere, true)
		if err != nil {
			return seenTask{}, err
		}
		var hits, others []seenTask
		for _, t := range all {
			if strings.HasPrefix(string(t.ID), id) {
				hits = append(hits, t)
			} else {
				others = append(others, t)
			}
		}
		if len(hits) == 1 {
			for _, t := range others {
				if t.client != hits[0].client {
					t.close()
				}
			}
			return hits[0], nil
		}
		closeAll(all)
		if len(hits) > 1 {
			return seenTask{}, usagef("%d tasks begin with %q; give more of the id", len(hits), id)
		}
	}
	return seenTask{}, usagef("there is no task %q, neither in a running session nor in one that is over", id)
}

func severalTasks(ctx context.Context, p place, o tasksOptions, ids []string) (tasks []seenTask, err error) {
	for _, id := range ids {
		t, err := oneTask(ctx, p, o, id)
		if err != nil {
			closeAll(tasks)
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// ask asks the sessions of tasks, all at once, and returns the tasks as they are then, in
// the same order. Of the dead, nothing changes any more. With a count of 1, the first answer
// ends it.
func ask(ctx context.Context, tasks []seenTask, op control.Op, count int) ([]seenTask, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		at  int
		rec task.Record
		err error
	}
	answers := make(chan answer, len(tasks))
	after := slices.Clone(tasks)
	pending := 0
	for i, t := range tasks {
		if t.client == nil || t.Status.Terminal() {
			if op == control.Wait && !t.Status.Terminal() {
				return nil, usagef("task %s was interrupted with its session %s; nobody ends it. heddle --resume %s takes it up", t.ID, t.Session, t.Session)
			}
			if count == 1 {
				return after, nil
			}
			continue
		}
		pending++
		go func() {
			recs, err := t.client.Do(ctx, control.Request{Op: op, Tasks: []task.ID{t.ID}})
			a := answer{at: i, rec: t.Record, err: err}
			if len(recs) == 1 {
				a.rec = recs[0]
			}
			answers <- a
		}()
	}
	var errs []error
	for range pending {
		a := <-answers
		after[a.at].Record = a.rec
		if cause := context.Cause(ctx); cause != nil && a.err != nil {
			return after, cause
		}
		if a.err != nil {
			errs = append(errs, fmt.Errorf("task %s: %w", tasks[a.at].ID, a.err))
		}
		if count == 1 && a.err == nil {
			return after, nil
		}
	}
	return after, errors.Join(errs...)
}

// nested puts tasks under their owners.
func nested(tasks []seenTask) (out []seenTask) {
	owned := map[task.ID][]seenTask{}
	listed := map[task.ID]bool{}
	for _, t := range tasks {
		listed[t.ID] = true
	}
	for _, t := range tasks {
		owner := t.Owner
		if !listed[owner] {
			owner = ""
		}
		owned[owner] = append(owned[owner], t)
	}
	var under func(task.ID, int)
	under = func(owner task.ID, depth int) {
		for _, t := range owned[owner] {
			t.depth = depth
			out = append(out, t)
			under(t.ID, depth+1)
		}
	}
	under("", 0)
	return out
}

// tailOffset returns where the last n lines of a file begin.
func tailOffset(path string, n int) (int64, error) {
	f, size, err := task.OpenOutput(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	const block = 64 << 10
	buf := make([]byte, block)
	lines := 0
	for end := size; end > 0; {
		begin := max(end-block, 0)
		part := buf[:end-begin]
		if _, err := f.ReadAt(part, begin); err != nil {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] == '\n' && begin+int64(i) != size-1 {
				if lines++; lines == n {
					return begin + int64(i) + 1, nil
				}
			}
		}
		end = begin
	}
	if n == 0 {
		return size, nil
	}
	return 0, nil
}

// terminal reports whether what is written there is shown to a person.
func terminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
