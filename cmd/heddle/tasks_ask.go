package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"heddle/internal/control"
	"heddle/internal/task"
)

// atOnce is how many tasks one request may name.
const atOnce = 256

// reply is what is known after a request to one session.
type reply struct {
	recs map[task.ID]task.Record
	err  error
}

// ask asks the sessions of tasks, all at once, and returns the tasks as they are then, in
// the same order. Of the dead, nothing changes any more. With a count of 1, the first answer
// ends it.
func ask(ctx context.Context, tasks []seenTask, op control.Op, count int) ([]seenTask, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	after := slices.Clone(tasks)
	bySession := map[*control.Client][]seenTask{}
	for _, t := range tasks {
		switch {
		case t.Status.Terminal() && count == 1:
			return after, nil
		case t.Status.Terminal():
		case t.client == nil:
			return nil, t.unreachable()
		default:
			bySession[t.client] = append(bySession[t.client], t)
		}
	}
	answers := make(chan reply)
	pending := 0
	for client, tasks := range bySession {
		for part := range slices.Chunk(tasks, atOnce) {
			pending++
			go func() { answers <- put(ctx, client, part, op, count) }()
		}
	}
	defer func() {
		cancel() // who did not answer yet will not be heard
		for range pending {
			<-answers
		}
	}()
	var errs []error
	for pending > 0 {
		a := <-answers
		pending--
		for i, t := range after {
			if rec, ok := a.recs[t.ID]; ok {
				after[i].Record = rec
			}
		}
		if cause := context.Cause(ctx); cause != nil && a.err != nil {
			return after, cause
		}
		if count == 1 && a.err == nil {
			return after, nil
		}
		errs = append(errs, a.err)
	}
	return after, errors.Join(errs...)
}

// put sends one request. What a session did not say before it ended is in its journal.
func put(ctx context.Context, client *control.Client, tasks []seenTask, op control.Op, count int) reply {
	known := reply{recs: map[task.ID]task.Record{}}
	r := control.Request{Op: op, Count: count}
	for _, t := range tasks {
		r.Tasks = append(r.Tasks, t.ID)
	}
	recs, err := client.Do(ctx, r)
	if errors.Is(err, control.ErrLost) {
		recs, err = ends(tasks, err)
	}
	for _, rec := range recs {
		known.recs[rec.ID] = rec
	}
	known.err = err
	return known
}

// ends looks up how tasks of a session ended that has ended. If one did not, lost is the
// error.
func ends(tasks []seenTask, lost error) (recs []task.Record, err error) {
	written, err := task.ReadJournal(tasks[0].dir)
	if err != nil {
		return nil, errors.Join(lost, err)
	}
	for _, rec := range written {
		if rec.Status.Terminal() && slices.ContainsFunc(tasks, func(t seenTask) bool { return t.ID == rec.ID }) {
			recs = append(recs, rec)
		}
	}
	if len(recs) < len(tasks) {
		return recs, lost
	}
	return recs, nil
}

// unreachable says why the end of a task cannot be waited for.
func (t seenTask) unreachable() error {
	if t.Live {
		return fmt.Errorf("task %s belongs to session %s, which runs but cannot be reached", t.ID, t.Session)
	}
	return usagef("task %s was interrupted with its session %s; nobody ends it. heddle --resume %s takes it up", t.ID, t.Session, t.Session)
}
