package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"heddle/internal/task"
)

// Monitor runs a command whose every line is news for the owner of its task. It is used
// once.
type Monitor struct {
	Command Runner
}

// errFlood is why a monitor ends that tells more than anybody can read.
var errFlood = errors.New("it printed more than can be told; filter the lines at their source, for example with grep --line-buffered")

// Run runs the command, and tells what it prints until it ends.
func (m *Monitor) Run(ctx context.Context, t *task.Task) error {
	lines, over := make(chan string), make(chan struct{})
	read := make(chan error, 1)
	reading, enough := context.WithCancel(context.Background())
	defer enough()
	go func() {
		defer close(lines)
		read <- follow(reading, t, over, lines)
	}()
	ended := make(chan error, 1)
	go func() {
		defer close(over)
		ended <- m.Command.Run(ctx, t)
	}()
	// The end is told when this returns: all lines have been told by then.
	p := pacer{}
	if p.tell(lines, func(text, data string) { t.Notify(text, data, task.Next) }) {
		t.Stop(errFlood)
		enough()
		for range lines { // what is not told is in the output
		}
		<-read
		if err := <-ended; err != nil && !errors.Is(err, errFlood) {
			return err
		}
		return &task.EndError{Reason: task.ReasonFlood, Err: errFlood}
	}
	return errors.Join(<-ended, <-read)
}

// follow sends the lines that a task prints, without what acts on a terminal, until it has
// ended or ctx is done.
func follow(ctx context.Context, t *task.Task, over <-chan struct{}, lines chan<- string) error {
	send := func(line []byte) {
		select {
		case lines <- plain(line):
		case <-ctx.Done():
		}
	}
	var rest []byte
	for p, err := range task.Follow(ctx, t.Output.Name(), 0, over) {
		if err != nil {
			return fmt.Errorf("follow its output: %w", err)
		}
		rest = append(rest, p.Bytes...)
		for ctx.Err() == nil {
			line, after, found := bytes.Cut(rest, []byte("\n"))
			if !found {
				break
			}
			send(line)
			rest = after
		}
		if len(rest) > longestEvent { // nobody waits for the end of it
			send(rest)
			rest = nil
		}
	}
	if len(rest) > 0 {
		send(rest)
	}
	return nil
}

// longestEvent is how much of a line is told, in bytes.
const longestEvent = 2 << 10

// plain is a line as it stands on a terminal in the end, cut if it is very long.
func plain(line []byte) string {
	cut := len(line) > longestEvent
	s := render(line[:min(len(line), longestEvent)])
	if len(s.lines) == 0 {
		return ""
	}
	text := s.lines[len(s.lines)-1]
	if cut {
		text += "… [line cut]"
	}
	return text
}

// Bounds of what a monitor tells.
const (
	eventPause = time.Second // at least, between two notifications
	eventLines = 20          // in one notification
	eventBytes = 4 << 10
	floodLines = 2000 // within floodTime: more is a flood
	floodTime  = 10 * time.Second
	floodCuts  = 30 // notifications in a row that could not hold all lines
)

// A pacer puts lines into notifications: the first line after a pause at once, then one
// notification each second, with all that came meanwhile, as far as it goes.
type pacer struct {
	held []string
	size int // bytes of held
	more int // lines that have no room

	last time.Time // of the newest notification
	cuts int

	since time.Time // lines are counted
	count int
}

// tell tells lines until there are no more, or too many (true).
func (p *pacer) tell(lines <-chan string, notify func(text, data string)) (flood bool) {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	defer timer.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				p.flush(time.Now(), notify)
				return false
			}
			now := time.Now()
			if p.add(now, line) {
				return true
			}
			if wait := p.last.Add(eventPause).Sub(now); wait <= 0 {
				p.flush(now, notify)
			} else if len(p.held) == 1 && p.more == 0 {
				timer.Reset(wait)
			}
		case now := <-timer.C:
			p.flush(now, notify)
		}
		if p.cuts > floodCuts {
			return true
		}
	}
}

// add takes a line, and reports whether that is one too many.
func (p *pacer) add(now time.Time, line string) (flood bool) {
	if now.Sub(p.since) > floodTime {
		p.since, p.count = now, 0
	}
	if p.count++; p.count > floodLines {
		return true
	}
	if strings.TrimSpace(line) == "" {
		return false
	}
	if len(p.held) >= eventLines || len(p.held) > 0 && p.size+len(line) > eventBytes {
		p.more++
		return false
	}
	p.held = append(p.held, line)
	p.size += len(line) + 1
	return false
}

// flush tells what is held.
func (p *pacer) flush(now time.Time, notify func(text, data string)) {
	if len(p.held) == 0 {
		return
	}
	text := "1 line"
	if n := len(p.held) + p.more; n > 1 {
		text = fmt.Sprintf("%d lines", n)
	}
	p.cuts++
	if p.more > 0 {
		text += fmt.Sprintf(", of which %d are only in the output file", p.more)
	} else {
		p.cuts = 0
	}
	notify(text, strings.Join(p.held, "\n"))
	p.held, p.size, p.more, p.last = nil, 0, 0, now
}
