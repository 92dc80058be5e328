package main

import (
	"context"
	"errors"
	"fmt"
	"io"
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

	client *control.Client // of its session; nil if that does not run, or cannot be reached
	dir    string          // of the tasks of its session
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
// directory, or in any, or of those whose id begins so, then also of dead ones. A session
// that runs but does not answer is told on stderr, and known from its journal.
func findTasks(ctx context.Context, p place, session string, all, dead bool, stderr io.Writer) (found []seenTask, err error) {
	var matched int
	for _, s := range p.sessionsWithTasks(all || session != "") {
		if !strings.HasPrefix(s.id, session) || !s.live && !dead {
			continue
		}
		matched++
		tasks, err := tasksOf(ctx, p, s, stderr)
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

// tasksOf returns the tasks of a session: from itself if it runs, and what it lists no
// more, or cannot say, from its journal.
func tasksOf(ctx context.Context, p place, s sessionTasks, stderr io.Writer) ([]seenTask, error) {
	var client *control.Client
	var records []task.Record
	if s.live {
		var err error
		client, records, err = reach(ctx, p, s.id)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !task.Live(s.dir): // it has just ended
			s.live = false
		default:
			fmt.Fprintf(stderr, "heddle: %v; what follows is what it wrote down\n", err)
		}
	}
	known := map[task.ID]bool{}
	for _, r := range records {
		known[r.ID] = true
	}
	written, err := task.ReadJournal(s.dir)
	if err != nil {
		if client != nil {
			_ = client.Close() // that of the journal is the error
		}
		return nil, err
	}
	for _, r := range written {
		if !known[r.ID] {
			records = append(records, r)
		}
	}
	var tasks []seenTask
	for _, r := range records {
		tasks = append(tasks, seenTask{Record: r, Session: s.id, Live: s.live, client: client, dir: s.dir})
	}
	if len(tasks) == 0 && client != nil {
		return nil, client.Close()
	}
	return tasks, nil
}

// answerTime is how long a session may take to list its tasks.
const answerTime = 10 * time.Second

// reach connects to a session and lists its tasks.
func reach(ctx context.Context, p place, session string) (*control.Client, []task.Record, error) {
	client, err := control.Dial(ctx, p.runDir(), session)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerTime, fmt.Errorf("session %s does not answer", session))
	defer cancel()
	records, err := client.Do(ctx, control.Request{Op: control.List})
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	return client, records, nil
}

// severalTasks finds the tasks whose ids begin so: among the sessions of this directory
// first, running or not, then everywhere.
func severalTasks(ctx context.Context, p place, o tasksOptions, ids []string, stderr io.Writer) ([]seenTask, error) {
	var err error
	for _, everywhere := range []bool{false, true} {
		var all, hits []seenTask
		if all, err = findTasks(ctx, p, o.session, everywhere, true, stderr); err != nil {
			return nil, err
		}
		if hits, err = choose(all, ids); err == nil {
			return hits, nil
		}
		closeAll(all)
		if everywhere || o.session != "" || len(hits) > 0 {
			break
		}
		stderr = io.Discard // the same sessions again
	}
	return nil, err
}

// choose returns the task for each id, and closes the connections that none of them needs.
// If there is none, or more than one, it says so; only then it returns those beside an error.
func choose(all []seenTask, ids []string) (chosen []seenTask, err error) {
	named := map[task.ID]bool{}
	for _, id := range ids {
		hits := slices.DeleteFunc(slices.Clone(all), func(t seenTask) bool { return !strings.HasPrefix(string(t.ID), id) })
		switch {
		case len(hits) == 0:
			return nil, usagef("there is no task %q among the %s", id, counted(all))
		case len(hits) > 1:
			return hits, usagef("%d tasks begin with %q; give more of the id", len(hits), id)
		case !named[hits[0].ID]:
			named[hits[0].ID] = true
			chosen = append(chosen, hits[0])
		}
	}
	for _, t := range all {
		if !slices.ContainsFunc(chosen, func(c seenTask) bool { return c.client == t.client }) {
			t.close()
		}
	}
	return chosen, nil
}

// counted says how many tasks were looked at, and where.
func counted(tasks []seenTask) string {
	running, over := map[string]bool{}, map[string]bool{}
	for _, t := range tasks {
		if t.Live {
			running[t.Session] = true
		} else {
			over[t.Session] = true
		}
	}
	return fmt.Sprintf("%d of %d running and %d finished sessions", len(tasks), len(running), len(over))
}

// oneTask is severalTasks for one.
func oneTask(ctx context.Context, p place, o tasksOptions, id string, stderr io.Writer) (seenTask, error) {
	tasks, err := severalTasks(ctx, p, o, []string{id}, stderr)
	if err != nil {
		return seenTask{}, err
	}
	return tasks[0], nil
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
