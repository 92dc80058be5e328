// Package shell is the kind of task that runs a command of the shell. The
// command's output goes straight into the task's output file; nothing is
// copied.
package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"heddle/internal/process"
	"heddle/internal/task"
)

// Runner runs one command. It is used once.
type Runner struct {
	Command string
	Dir     string   // where it starts
	Env     []string // see [Environment]
	// Timeout ends the command; 0 means never.
	Timeout time.Duration

	stall stall
}

const (
	// grace is how long a command may take to end after it was asked to.
	grace = 2 * time.Second
	// drain is how long processes that outlive their command may take to end
	// before they count as left behind. Those of a process substitution still
	// write output then.
	drain = 200 * time.Millisecond
)

// Detail is what a shell task has to say besides what all tasks have.
type Detail struct {
	Command string `json:"command"` // its beginning
	PID     int    `json:"pid,omitempty"`
	Ended   bool   `json:"ended"`
	// Code is the exit code of the command itself, -1 if a signal ended it.
	Code   int    `json:"exit_code"`
	Signal string `json:"signal,omitempty"`
	// Dir is the working directory to which the command changed, empty if it did not,
	// or if that is not known.
	Dir string `json:"cwd,omitempty"`
	// Left are the processes that outlive the command. They belong to its owner,
	// and end with it; if the command was to be ended, they could not be.
	Left []Process `json:"left,omitempty"`
	// Identity lets a later run of the program find the processes again.
	Identity process.Identity `json:"identity"`
}

// Process is a process that outlives its command.
type Process struct {
	PID     int    `json:"pid"`
	Command string `json:"command"`
}

// Kind makes Detail a [task.Detail].
func (Detail) Kind() task.Kind { return task.LocalBash }

// Run runs the command to the exit of the command itself: not to the end of its
// output, which a process that it left behind may hold open for ever.
//
// It waits between two functions of its own, so that the stack is small meanwhile: a
// thousand commands may sleep at once.
func (r *Runner) Run(ctx context.Context, t *task.Task) error {
	c, err := r.start(t)
	if err != nil {
		return err
	}
	exit, err := c.process.Wait(ctx)
	return c.end(ctx, t, exit, err)
}

// command is one that runs.
type command struct {
	process *process.Process
	line    line
	detail  Detail
	limit   *time.Timer // nil: it may run for ever
}

func (r *Runner) start(t *task.Task) (*command, error) {
	line, err := compose(r.Command, r.Env, strings.TrimSuffix(t.Output.Name(), ".output"))
	if err != nil {
		return nil, err
	}
	p, err := process.Start(process.Spec{
		Path: line.shell, Args: line.args, Dir: r.Dir, Env: slices.Concat(r.Env, line.env),
		Stdout: t.Output, Stderr: t.Output, Mark: string(t.ID),
	})
	if err != nil {
		line.remove()
		return nil, err
	}
	line.env, line.args, r.Env = nil, nil, nil // they have served, and are large
	c := &command{process: p, line: line, detail: Detail{Command: shorten(r.Command), PID: p.PID(), Identity: p.Identity()}}
	t.Record(c.detail)
	if r.Timeout > 0 {
		c.limit = time.AfterFunc(r.Timeout, func() { t.Stop(task.ErrTimeout) })
	}
	return c, nil
}

// end says how the command ended; err is why it is to end, if it runs on.
func (c *command) end(ctx context.Context, t *task.Task, exit process.Exit, err error) error {
	defer c.line.remove()
	if c.limit != nil {
		defer c.limit.Stop()
	}
	if err != nil {
		return end(c.process, t, c.detail, err)
	}
	d := c.detail.with(exit)
	_, d.Dir, _ = ending(c.line.note)
	if left := outlive(ctx, c.process); len(left) > 0 {
		d.Left = left
		t.Leave(func() error { _, err := c.process.End(context.Background(), grace); return err })
	}
	t.Update(func(s *task.Snapshot) { s.Detail = d })
	return verdict(exit)
}

// outlive returns the processes that outlive the command and do not end in a moment.
// Mostly there are none, and no time passes.
func outlive(ctx context.Context, p *process.Process) []Process {
	members := p.Members()
	for pause := 4 * time.Millisecond; len(members) > 0 && pause < drain; pause *= 2 {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return listed(members)
		}
		members = p.Members()
	}
	return listed(members)
}

// end ends the whole tree of a command that was told to stop because of cause.
func end(p *process.Process, t *task.Task, d Detail, cause error) error {
	survivors, err := p.End(context.Background(), grace) // takes grace and two seconds at most
	select {
	case <-p.Done():
		exit, _ := p.Wait(context.Background()) // returns at once; an error means that no exit is known
		d = d.with(exit)
	default:
	}
	d.Left = listed(survivors)
	t.Update(func(s *task.Snapshot) { s.Detail = d })
	switch {
	case len(survivors) > 0:
		return &task.EndError{Reason: task.ReasonLeaked, Err: fmt.Errorf("%w; %w", cause, err)}
	case err != nil:
		return fmt.Errorf("%w; %w", cause, err)
	}
	return cause
}

func (d Detail) with(exit process.Exit) Detail {
	d.Ended, d.Code = true, exit.Code
	if exit.Signal != 0 {
		d.Signal = exit.Signal.String()
	}
	return d
}

// verdict words a bad exit.
func verdict(exit process.Exit) error {
	switch {
	case exit.Signal != 0:
		return &task.EndError{Reason: task.ReasonSignal, Err: errors.New(exit.String())}
	case exit.Code != 0:
		return &task.EndError{Reason: task.ReasonExit, Err: errors.New(exit.String())}
	}
	return nil
}

func listed(members []process.Member) []Process {
	var list []Process
	for _, m := range members {
		list = append(list, Process{m.PID, m.Command})
	}
	return list
}

// shorten cuts a command to what names it: it is written into the journal several
// times, and some are whole programs.
func shorten(command string) string {
	const limit = 1000
	if len(command) <= limit {
		return command
	}
	cut := limit
	for cut > limit-utf8.UTFMax && !utf8.RuneStart(command[cut]) {
		cut--
	}
	return command[:cut] + "…"
}
