package session

import (
	"context"
	"errors"
	"strings"

	"heddle/internal/agent"
	"heddle/internal/message"
)

// Hooks are what people want to run at the turning points of a session.
type Hooks interface {
	agent.Guard
	// Started is told before the first turn; resumed says that the conversation goes on
	// from an earlier one.
	Started(ctx context.Context, resumed bool)
	// Context takes what hooks have to say to the model, at the next occasion.
	Context() string
	// Submitted is asked about each prompt of a person. What it returns is added to the
	// prompt; an error keeps the prompt from the model, and is told.
	Submitted(ctx context.Context, prompt string) (add string, err error)
	// Failed is told of a turn that the model could not finish.
	Failed(ctx context.Context, end agent.Ended)
	// Ended is told when the session is over.
	Ended(ctx context.Context)
}

// Command is something that a person may call with a slash.
type Command struct {
	Name, Description, ArgumentHint string
	Skill                           bool
}

// Commander knows the commands that people brought along.
type Commander interface {
	// Begin says that a turn begins: what commands of the one before were allowed is over.
	Begin()
	// Expand returns what /name args means. ok is false when there is no such command.
	Expand(ctx context.Context, name, args string) (x Expansion, ok bool, err error)
	List() []Command
}

// BadCommand is why a command that a person typed was not run.
type BadCommand struct{ Err error }

func (e *BadCommand) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *BadCommand) Unwrap() error { return e.Err }

// Expansion is what a command stands for.
type Expansion struct {
	Content []message.Block // for the model
	Answer  string          // for the person, who needs no model for it; then Content is empty
	Model   string          // of this turn; empty: the one of the session
	Effort  string          // of this turn; empty: the one of the session
}

func (s *Session) commands() []Command {
	list := []Command{{Name: "compact", Description: "Replace the conversation by a summary", ArgumentHint: "[what to keep]"}}
	if s.parts.Commands != nil {
		list = append(list, s.parts.Commands.List()...)
	}
	return list
}

// admit turns what a person typed into what the model reads. over is not nil when the
// model is not to be asked.
func (s *Session) admit(ctx context.Context, input []agent.Input) (admitted []agent.Input, over *agent.Ended) {
	for _, in := range input {
		if in.Origin != agent.Human {
			admitted = append(admitted, in)
			continue
		}
		typed := message.Message{Content: in.Content}.Text()
		add := ""
		if s.parts.Hooks != nil { // first: what they refuse must not have run anything
			var err error
			if add, err = s.parts.Hooks.Submitted(ctx, typed); err != nil {
				return nil, &agent.Ended{Reason: agent.Stopped, Err: err}
			}
		}
		in, over := s.expand(ctx, in, typed)
		if over != nil {
			return nil, over
		}
		if add != "" {
			in.Content = append(in.Content[:len(in.Content):len(in.Content)], message.Text{Text: add})
		}
		s.title(typed)
		admitted = append(admitted, in)
	}
	return admitted, nil
}

// expand replaces a command by what it stands for.
func (s *Session) expand(ctx context.Context, in agent.Input, typed string) (agent.Input, *agent.Ended) {
	name, args, ok := slash(typed)
	if !ok || s.parts.Commands == nil {
		return in, nil
	}
	x, known, err := s.parts.Commands.Expand(ctx, name, args)
	switch {
	case !known && err == nil:
		return in, nil
	case err == nil && x.Model+x.Effort != "":
		err = s.chooseOnce(x)
	}
	switch {
	case ctx.Err() != nil:
		return in, &agent.Ended{Reason: agent.Interrupted}
	case err != nil:
		return in, &agent.Ended{Reason: agent.Stopped, Err: &BadCommand{err}}
	case len(x.Content) == 0:
		return in, &agent.Ended{Reason: agent.Completed, Text: x.Answer, Final: true}
	}
	for _, b := range in.Content {
		if _, isText := b.(message.Text); !isText {
			x.Content = append(x.Content, b)
		}
	}
	in.Content = x.Content
	return in, nil
}

// chooseOnce makes the running turn use what a command asks for.
func (s *Session) chooseOnce(x Expansion) error {
	s.mu.Lock()
	c := s.choice
	s.mu.Unlock()
	if x.Model != "" && x.Model != "inherit" {
		var err error
		if c, err = s.parts.Models.Choose(x.Model); err != nil {
			return errors.New("the command asks for a model that is not there: " + err.Error())
		}
		if s.parts.Effort != "" {
			c.Effort = s.parts.Effort
		}
	}
	if x.Effort != "" {
		c.Effort = x.Effort
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.once = c
	return nil
}

// slash splits "/name args". A path is no command: its first word holds a second slash. Nor
// is a text that begins with a space, so that a person can say what would be one.
func slash(text string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	end := strings.IndexAny(rest, " \t\n")
	if end < 0 {
		end = len(rest)
	}
	name, args = rest[:end], strings.TrimSpace(rest[end:])
	return name, args, name != "" && !strings.Contains(name, "/")
}

// hear tells hooks what became of a turn.
func (s *Session) hear(ctx context.Context, ev agent.Event) {
	if end, ok := ev.(agent.Ended); ok && end.Reason == agent.Failed && s.parts.Hooks != nil {
		s.parts.Hooks.Failed(ctx, end)
	}
}
