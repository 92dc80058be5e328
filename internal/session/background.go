package session

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/task"
	"heddle/internal/transcript"
)

// recoverTasks takes up the tasks that an earlier run of the program left behind.
func (s *Session) recoverTasks(past []transcript.Record) error {
	if len(past) == 0 || s.parts.Heir == nil {
		return nil
	}
	in := transcript.Arrived(past)
	err := s.parts.Tasks.Recover(func(carrier string) bool { return in[carrier] }, s.parts.Heir)
	if err != nil {
		return fmt.Errorf("take up the tasks of before: %w", err)
	}
	s.remind = len(s.Unfinished()) > 0
	return nil
}

// delivered tells the tasks that what brings their end stands in the transcript.
func (s *Session) delivered(ev agent.Event) {
	switch ev := ev.(type) {
	case agent.ToolEnded:
		s.parts.Tasks.Delivered(ev.Use.ID)
	case agent.Added:
		if ev.Origin == agent.Notification && ev.InputID != "" {
			s.parts.Tasks.Delivered(ev.InputID)
		}
	}
}

// Unfinished are the tasks that run in the background.
func (s *Session) Unfinished() []task.Snapshot {
	var running []task.Snapshot
	for _, t := range s.parts.Tasks.List() {
		if !t.Status.Terminal() && t.Backgrounded {
			running = append(running, t)
		}
	}
	return running
}

// untold are the tasks from which the conversation has yet to hear: those that run, and
// those whose end is on its way.
func (s *Session) untold() []task.Snapshot {
	return slices.DeleteFunc(s.parts.Tasks.List(), func(t task.Snapshot) bool { return t.Told || !t.Backgrounded })
}

// brief is what a history begins with: after a compaction, that is also what runs.
func (s *Session) brief() string {
	text := ""
	if s.parts.Brief != nil {
		text = s.parts.Brief()
	}
	if running := task.Statuses(s.Unfinished()); running != "" {
		text += "\n\n" + running
	}
	if s.parts.Hooks != nil {
		text += s.parts.Hooks.Context()
	}
	return strings.TrimSpace(text)
}

// reminded puts in front of the first input after a resume what has changed without the
// model: where it is, and what runs.
func (s *Session) reminded(in agent.Input) agent.Input {
	var news []message.Block
	if s.parts.News != nil {
		if text := s.parts.News(); text != "" {
			news = append(news, message.Text{Text: text})
		}
	}
	if in.Origin != agent.Human {
		in.Content = append(news, in.Content...)
		return in
	}
	if s.parts.Moved != "" {
		news = append(news, message.Text{Text: fmt.Sprintf(
			"<environment>\nThe conversation goes on in another place. Working directory: %s (it was %s)\n</environment>", s.parts.Dir, s.parts.Moved)})
		s.parts.Moved = ""
	}
	if s.remind {
		s.remind = false
		if text := task.Statuses(s.Unfinished()); text != "" {
			news = append(news, message.Text{Text: text})
		}
	}
	if s.parts.Hooks != nil && s.conv.History.Len() > 0 {
		if text := s.parts.Hooks.Context(); text != "" {
			news = append(news, message.Text{Text: text})
		}
	}
	in.Content = append(news, in.Content...)
	return in
}

// timers is how many turns in a row may be started by nothing but timers of the model's
// own: a model that sets one after the other works for nobody.
const timers = 10

// Wake returns what tasks have to tell while the conversation is idle, as the input of
// a turn; nil if there is nothing. A notice says that the model was left asleep.
func (s *Session) Wake() (in []agent.Input, notice string) {
	s.wakes.Lock()
	defer s.wakes.Unlock()
	empty, onlyTimers := s.parts.Inbox.Waiting()
	switch {
	case empty:
		return nil, ""
	case !onlyTimers:
		s.idle = 0
	case s.idle >= timers:
		if s.idle++; s.idle == timers+1 {
			notice = fmt.Sprintf("The model woke itself by timers %d times in a row and was not woken again; write to it to go on.", timers)
		}
		return nil, notice
	default:
		s.idle++
	}
	return s.parts.Inbox.TakeAll(), ""
}

// Arrived tells that tasks may have something to tell: see [Session.Wake].
func (s *Session) Arrived() <-chan struct{} { return s.parts.Inbox.Arrived() }

// Patience is how long a run that nobody watches waits for background work, from the
// end of its last turn on.
type Patience struct {
	Shells time.Duration
	Others time.Duration // agents, monitors; 0 is for ever
}

// Await waits, while the conversation is idle, for what background work has to tell, and
// returns it as the input of a turn. It returns nil when there is no more work, patience
// is over, or ctx is done; what runs then is left to [Session.Close].
func (s *Session) Await(ctx context.Context, p Patience) (in []agent.Input, notice string) {
	began := time.Now()
	for {
		work := s.untold() // before the look: what ends in between, arrives
		if in, notice = s.Wake(); in != nil || notice != "" {
			return in, notice
		}
		left, ok := p.left(work, time.Since(began))
		if !ok || ctx.Err() != nil {
			return nil, ""
		}
		timer := time.NewTimer(left)
		select {
		case <-s.Arrived():
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// left is how much longer the tasks are waited for.
func (p Patience) left(running []task.Snapshot, waited time.Duration) (left time.Duration, ok bool) {
	const forever = 1 << 62
	for _, t := range running {
		limit := p.Shells
		if t.Awaited {
			limit = p.Others
			if limit == 0 {
				limit = forever
			}
		}
		left = max(left, limit-waited)
	}
	return left, left > 0
}

// StopTask ends a task because a person wants it. The model is told.
func (s *Session) StopTask(id task.ID) error { return s.parts.Tasks.Kill(id, task.ErrKilled) }

// Background moves a task that the conversation waits for to the background, or all of
// them if id is empty: the conversation goes on.
func (s *Session) Background(id task.ID) ([]task.Snapshot, error) {
	if s.parts.Foreground {
		return nil, errors.New("settings keep everything in the foreground (tasks.disableBackground)")
	}
	return s.parts.Tasks.Background(id)
}

// WatchTasks yields all tasks, now and after each change, until ctx is done.
func (s *Session) WatchTasks(ctx context.Context) iter.Seq[[]task.Snapshot] {
	return s.parts.Tasks.Watch(ctx)
}
