package shell

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"heddle/internal/process"
	"heddle/internal/task"
)

// End ends what is left of a command of an earlier run of the program that died. It
// touches the processes of that command only: see [process.EndIdentity].
func End(rec task.Record) error {
	d, ok := detailOf(rec)
	if !ok || rec.Status.Terminal() && len(d.Left) == 0 {
		return nil
	}
	_, err := process.EndIdentity(context.Background(), d.Identity, string(rec.ID), grace)
	return err
}

// Heir is a [task.Heir] for commands of the shell.
type Heir struct{}

// Adopt returns a runner that goes on with a command of an earlier run of the program,
// which may still run or have ended meanwhile.
func (Heir) Adopt(rec task.Record) task.Runner {
	d, ok := detailOf(rec)
	if !ok {
		return nil
	}
	if d.PID == 0 { // it had been started at most
		_ = End(rec) // what cannot be ended now, nobody knows better later
		return nil
	}
	return &orphan{d}
}

// Left returns what ends the processes that a command left behind.
func (Heir) Left(rec task.Record) func() error {
	if d, ok := detailOf(rec); !ok || len(d.Left) == 0 {
		return nil
	}
	return func() error { return End(rec) }
}

// detailOf reads the detail of a shell task.
func detailOf(rec task.Record) (d Detail, ok bool) {
	if rec.Kind != task.LocalBash {
		return d, false
	}
	if len(rec.Detail) > 0 && json.Unmarshal(rec.Detail, &d) != nil {
		return Detail{}, true // its mark is known, at least
	}
	return d, true
}

// orphan goes on with a command that an earlier run of the program started.
type orphan struct{ Detail }

// Run waits for the end of the command, which is not our child: what its trap wrote tells
// the exit code.
func (a *orphan) Run(ctx context.Context, t *task.Task) error {
	note := noteOf(strings.TrimSuffix(t.Output.Name(), ".output"))
	defer os.Remove(note)
	d := a.Detail
	p, found := process.Find(d.Identity, string(t.ID))
	t.Record(d)
	if found {
		if _, err := p.Wait(ctx); err != nil && !errors.Is(err, process.ErrNoExit) {
			return end(p, t, d, err)
		}
		if d.Left = outlive(ctx, p); len(d.Left) > 0 {
			t.Leave(func() error { _, err := p.End(context.Background(), grace); return err })
		}
	}
	code, dir, known := ending(note)
	if !known {
		t.Update(func(s *task.Snapshot) { s.Detail = d })
		return &task.EndError{Reason: task.ReasonInterrupted, Err: errors.New("it ended while heddle was not there, and how is not known")}
	}
	d.Ended, d.Code, d.Dir = true, code, dir
	t.Update(func(s *task.Snapshot) { s.Detail = d })
	return verdict(process.Exit{Code: code})
}
