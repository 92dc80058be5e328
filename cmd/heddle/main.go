// Command heddle is a coding agent for the terminal.
//
// This package parses, wires and maps errors to exit codes; it is the only code
// that knows every package.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	os.Exit(start(os.Args[1:], stdio{os.Stdin, os.Stdout, os.Stderr}))
}

// stdio is where a command reads and writes.
type stdio struct {
	in       *os.File
	out, err io.Writer
}

// Exit codes. They are documented in README.md and in the help text.
const (
	exitOK          = 0
	exitFailed      = 1   // the run ended with an error result
	exitUsage       = 2   // a flag, a value or a file given by the user is wrong
	exitUnfinished  = 3   // it ended well, and background work that was not done was ended
	exitInterrupted = 130 // SIGINT
	exitTerminated  = 143 // SIGTERM, as a shell reports it
)

// usageError is a mistake in what the user typed or configured.
type usageError struct{ msg string }

func (e usageError) Error() string { return e.msg }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// exitError ends the program with a code; what there was to say has been said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// signalled is the cause with which a signal cancels the program's context.
type signalled struct{ syscall.Signal }

func (s signalled) Error() string { return s.Signal.String() }

// start runs the command that args name and returns the exit code.
func start(args []string, std stdio) int {
	ctx, stop := untilSignal(context.Background())
	defer stop()
	err := dispatch(ctx, args, std)
	return exitCode(ctx, err, std.err)
}

// untilSignal returns a context that the first SIGINT, SIGTERM or SIGHUP cancels. The
// second one of SIGINT ends the program at once, as if nothing were listening.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// A reader that leaves must not kill heddle before it has ended its commands: with
	// someone listening, a write to a closed pipe is an error like any other. Ignoring
	// the signal would do too, but commands would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-signals:
			cancel(signalled{s.(syscall.Signal)})
			if s == syscall.SIGINT { // who asks twice means it
				signal.Reset(syscall.SIGINT)
			}
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// exitCode reports err, once, and says how the program ends.
func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	var s signalled
	if errors.As(context.Cause(ctx), &s) {
		return 128 + int(s.Signal)
	}
	var code exitError
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.EPIPE) && !errors.As(err, &usage):
		return exitFailed // whoever reads has enough
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "heddle: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(stderr, "heddle: %v\n", err)
	return exitFailed
}
