package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// A Capture starts commands whose output this program reads itself, such as hooks. It
// costs a pipe and two goroutines each; to let a command write to a file costs neither.
type Capture struct {
	// Spill is the path of a file that is made when the output becomes longer than
	// Memory, to hold all of it. It must not exist. Empty: Memory is the limit.
	Spill string

	Memory int   // bytes that are kept in memory; 0: 8 MiB
	Limit  int64 // bytes after which nothing more is read; 0: there is none
}

// ErrOutputFull is what [Captured.Output] returns when the output was cut off at its
// limit.
var ErrOutputFull = errors.New("the output is longer than its limit")

const (
	captureMemory = 8 << 20
	// For how long after the exit of the leader others may go on writing, and keep the
	// pipe open.
	captureDrain = 250 * time.Millisecond
	// The most that a pipe of ours can hold, unless this program has special rights.
	pipeCapacity = 1 << 20
)

// A Captured is a started command whose output is read.
type Captured struct {
	*Process
	over chan struct{} // closed when nothing more is read

	// Written before over is closed.
	output Output
	err    error
}

// An Output is what a command wrote.
type Output struct {
	Memory []byte // all of it, if File is empty
	File   string // the file that holds all of it
	Size   int64
	Held   bool // a process that it left behind could still write more
}

// Open returns a reader of all of the output.
func (o Output) Open() (io.ReadCloser, error) {
	if o.File == "" {
		return io.NopCloser(bytes.NewReader(o.Memory)), nil
	}
	return os.Open(o.File)
}

// Start starts s as [Start] does. What it writes goes into one pipe: to standard output
// and standard error, or to the one of them for which s names no file.
//
// The pipe is read until all who have it are gone, until 250 ms after the exit of the
// leader, or until the limit. Then it is closed, and who goes on writing to it is ended
// by the system with SIGPIPE.
func (c Capture) Start(s Spec) (*Captured, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: make a pipe for its output: %w", s.Path, err)
	}
	if s.Stdout == nil {
		s.Stdout = w
	}
	if s.Stderr == nil {
		s.Stderr = w
	}
	p, err := Start(s)
	w.Close() // the command has its own
	if err != nil {
		r.Close()
		return nil, err
	}
	if c.Memory == 0 {
		c.Memory = captureMemory
	}
	started := &Captured{Process: p, over: make(chan struct{})}
	go started.read(r, &keeper{Capture: c})
	return started, nil
}

// Output waits until nothing more is read and returns what was. The command itself may
// still run: [Process.Wait] waits for that. An error says why the output is not complete;
// what there is of it is returned all the same. When ctx is done, Output returns its
// cause, and the reading goes on.
func (c *Captured) Output(ctx context.Context) (Output, error) {
	select {
	case <-c.over:
		return c.output, c.err
	case <-ctx.Done():
	}
	select {
	case <-c.over: // both were ready: the output is worth more
		return c.output, c.err
	default:
		return Output{}, context.Cause(ctx)
	}
}

// read reads the output from r.
func (c *Captured) read(r *os.File, k *keeper) {
	defer close(c.over)
	stop := make(chan struct{})
	var exit sync.WaitGroup
	exit.Go(func() {
		select {
		case <-c.Done():
			_ = r.SetReadDeadline(time.Now().Add(captureDrain)) // a pipe has deadlines
		case <-stop:
		}
	})
	err := k.copy(r)
	close(stop)
	exit.Wait()
	held := errors.Is(err, os.ErrDeadlineExceeded)
	if held {
		err = k.sweep(r)
	}
	r.Close()
	c.output, c.err = k.finish(err)
	c.output.Held = held
}
