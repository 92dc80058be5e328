package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"heddle/internal/headless"
	"heddle/internal/session"
)

// runConversation is heddle without a command: a conversation.
func runConversation(ctx context.Context, args []string, std stdio) error {
	var o options
	rest, done, err := parse(o.flags(), args, std, `-p "PROMPT" [FLAGS]`)
	if err != nil || done {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	if !o.print && o.inputFormat != "stream-json" {
		if len(rest) > 0 {
			var names []string
			for _, c := range commands() {
				names = append(names, c.name)
			}
			return usagef("there is no command %q%s; to do a job, write: heddle -p %q", rest[0], didYouMean(rest[0], "", names), rest[0])
		}
		return usagef(`nothing to do: give a job with heddle -p "PROMPT", or see heddle --help`)
	}
	prompt := ""
	if o.inputFormat != "stream-json" {
		if prompt, err = readPrompt(rest, std.in, std.err); err != nil {
			return err
		}
		if strings.TrimSpace(prompt) == "" { // no API takes a text of nothing
			return usagef(`no prompt: give one as an argument, heddle -p "PROMPT", or on standard input`)
		}
	} else if len(rest) > 0 {
		return usagef("with --input-format stream-json the prompt comes as a message on standard input, not as the argument %q", rest[0])
	}
	p, err := findPlace()
	if err != nil {
		return err
	}
	s, err := open(p, &o, std)
	if err != nil {
		return err
	}
	err = drive(ctx, s, prompt, &o, std)
	return errors.Join(err, closeSession(s))
}

// drive runs the conversation in the form that the flags ask for.
func drive(ctx context.Context, s *session.Session, prompt string, o *options, std stdio) error {
	h := headless.Options{
		Format: headless.Format(o.outputFormat), Partial: o.partial, Replay: o.replay, Out: std.out, Err: std.err,
		Patience: session.Patience{Shells: o.shellGrace, Others: o.backgroundWait},
	}
	if h.Format == "" {
		h.Format = headless.Text
	}
	var err error
	if o.inputFormat == "stream-json" {
		err = headless.RunStream(ctx, s, std.in, o.promptTool == "stdio", h)
	} else {
		err = headless.Run(ctx, s, prompt, h)
	}
	switch {
	case errors.Is(err, headless.ErrFailed):
		return exitError(exitFailed)
	case errors.Is(err, headless.ErrUnfinished):
		return exitError(exitUnfinished)
	}
	return err
}

// closing is how long the end of a session may take.
const closing = 5 * time.Second

// closeSession ends what the session left running, whatever ended the session.
func closeSession(s *session.Session) error {
	s.Farewell(context.Background()) // hooks have a limit of their own
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	return s.Close(ctx)
}

// stdinPatience is how long a prompt on standard input is waited for when there
// is one among the arguments already. A pipe that nobody writes to must not hang.
const stdinPatience = 3 * time.Second

// readsStdin reports whether a prompt should be read from in. With an argument, a
// terminal is not asked, and a silent pipe is given up after a while, which is
// told on stderr.
func readsStdin(in *os.File, haveArgument bool, stderr io.Writer) bool {
	info, err := in.Stat()
	if err != nil {
		return false // closed
	}
	if info.Mode()&os.ModeCharDevice != 0 {
		return false // a terminal or the null device
	}
	if !haveArgument || info.Mode().IsRegular() {
		return true
	}
	if readable(in, stdinPatience) {
		return true
	}
	fmt.Fprintf(stderr, "heddle: nothing came on standard input for %v; going on without it\n", stdinPatience)
	return false
}
