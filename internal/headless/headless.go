// Package headless drives a session for programs: it reads a prompt or a stream
// of messages, prints a text, one JSON object or a stream of them, and speaks the
// control protocol, by which an agent SDK steers the session.
package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/session"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// Format is what is printed.
type Format string

const (
	Text   Format = "text"        // the final text
	JSON   Format = "json"        // one result object
	Stream Format = "stream-json" // one JSON object a line, as things happen
)

// Options say how a session is driven.
type Options struct {
	Format  Format
	Partial bool // pass on answers while they are written
	Replay  bool // repeat user messages
	// Patience is how long background work is waited for when nothing more can be said
	// to the session. What still runs then is told, and left to the end of the session.
	Patience session.Patience
	Out      io.Writer
	Err      io.Writer // for people
}

// ErrFailed says that the last run ended with an error result, which has been
// printed.
var ErrFailed = errors.New("the run ended with an error")

// ErrUnfinished says that the run ended well, and that work in the background was not
// done by then.
var ErrUnfinished = errors.New("background work was not finished")

// Run gives s one prompt and prints what comes of it: the answer, and those to what
// background work tells afterwards.
func Run(ctx context.Context, s *session.Session, prompt string, o Options) error {
	over, release := newPatience(ctx)
	defer release()
	d := newDriver(s, o.through(over))
	s.Ready(ctx)
	d.init()
	defer d.tasks.watch()()
	in := agent.Input{Content: []message.Block{message.Text{Text: prompt}}, Origin: agent.Human}
	if err := d.turn(ctx, in); err != nil {
		return err
	}
	return d.finish(ctx)
}

// finish goes on with what background work has to tell, until there is none, or patience
// is over.
func (d *driver) finish(ctx context.Context) error {
	for !d.failed && d.w.err() == nil {
		in, notice := d.s.Await(ctx, d.Patience)
		if notice != "" {
			d.warn(notice)
			continue
		}
		if in == nil {
			break
		}
		if err := d.turn(ctx, in...); err != nil {
			return err
		}
	}
	left := d.s.Unfinished()
	if err := d.printLast(left); err != nil {
		return err
	}
	for _, t := range left {
		d.warn(fmt.Sprintf("background task %s was not finished and is ended: %s", t.ID, brief(t.Description, 200)))
	}
	if err := d.verdict(); err != nil || len(left) == 0 {
		return err
	}
	return ErrUnfinished
}

// warn tells a person, or the program that reads the stream, what they should know.
func (d *driver) warn(text string) {
	if d.Format == Stream {
		d.notice("warning", text)
		return
	}
	fmt.Fprintf(d.Err, "heddle: %s\n", plain(text))
}

// driver turns the events of a session into output. Its writer and its teller may be used
// by several goroutines; everything else belongs to the one that runs turns.
type driver struct {
	Options
	s       *session.Session
	w       *writer
	tasks   *taskTeller // nil unless a stream is printed
	partial *partial    // nil unless asked for
	failed  bool        // the last result was an error
	last    *result     // with format JSON, which prints one result: the newest
}

// through makes the output end when over is closed.
func (o Options) through(over <-chan struct{}) Options {
	o.Out, o.Err = &patient{o.Out, over}, &patient{o.Err, over}
	return o
}

func newDriver(s *session.Session, o Options) *driver {
	d := &driver{Options: o, s: s, w: newWriter(o.Out, s.ID())}
	if o.Format == Stream {
		d.tasks = &taskTeller{s: s, w: d.w}
	}
	if o.Partial {
		d.partial = &partial{w: d.w}
	}
	return d
}

func (d *driver) verdict() error {
	if d.failed {
		return ErrFailed
	}
	return d.w.err()
}

// turn runs one input to its end.
func (d *driver) turn(ctx context.Context, in ...agent.Input) error {
	var ended agent.Ended
	begin := newClock()
	for ev, err := range d.s.Turn(ctx, in...) {
		if err != nil {
			return err
		}
		if e, ok := ev.(agent.Ended); ok {
			ended = e
			continue
		}
		switch d.Format {
		case Stream:
			d.stream(ev)
		default:
			d.remark(ev)
		}
		if d.w.err() != nil {
			return d.w.err() // the reader is gone; leaving the range ends the turn
		}
	}
	r := d.result(ended, begin)
	r.Origin = originOf(in)
	d.failed = r.IsError
	d.tasks.catchUp() // a host that closes its end now must know what it ends
	if d.Format == JSON {
		if d.last != nil { // no answer is lost because another follows
			r.Result = strings.TrimLeft(d.last.Result+"\n\n"+r.Result, "\n")
		}
		d.last = &r
		return nil
	}
	return d.print(r)
}

// originOf names who started a turn, if that was no person.
func originOf(in []agent.Input) *originField {
	for _, one := range in {
		if one.Origin == agent.Human {
			return nil
		}
	}
	if len(in) == 0 {
		return nil
	}
	return &originField{string(in[0].Origin)}
}

// printLast prints the result that was kept back, with the tasks that are left.
func (d *driver) printLast(left []task.Snapshot) error {
	if d.last == nil {
		return nil
	}
	for _, t := range left {
		d.last.Unfinished = append(d.last.Unfinished, taskBrief{t.ID, t.Kind, t.Description})
	}
	r := *d.last
	d.last = nil
	return d.print(r)
}

// print writes a result in the format that was asked for.
func (d *driver) print(r result) error {
	if d.Format != Text {
		return d.w.write(r)
	}
	if r.Result != "" {
		text := strings.TrimRight(r.Result, "\n")
		if _, err := fmt.Fprintln(d.Out, text); err != nil {
			return err
		}
	}
	for _, e := range r.Errors {
		fmt.Fprintf(d.Err, "heddle: %s\n", plain(e)) // servers and tools have a say in it
	}
	for _, denied := range r.Denials {
		fmt.Fprintf(d.Err, "heddle: not permitted: %s %s\n", denied.Tool, brief(string(denied.Input), 200))
	}
	return nil
}

// remark tells a person, on standard error, what they should know before the end.
func (d *driver) remark(ev agent.Event) {
	switch ev := ev.(type) {
	case agent.Notice:
		fmt.Fprintf(d.Err, "heddle: %s\n", plain(ev.Text))
	case agent.Streamed:
		if r, ok := retrying(ev); ok {
			fmt.Fprintf(d.Err, "heddle: %s; trying again (%d of %d) in %v\n", plain(r.Err.Error()), r.Attempt, r.Max, roundDelay(r.Delay))
		}
	}
}

// brief shortens s to n bytes, for a line.
func brief(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// plain is text that a terminal may be given.
func plain(s string) string { return tool.Plain([]byte(s)) }
