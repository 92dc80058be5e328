package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"syscall"
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

// A keeper keeps bytes, in memory or in a file.
type keeper struct {
	Capture
	memory []byte
	file   *os.File // nil: all is in memory
	size   int64
}

// copy keeps what r returns until it ends.
func (k *keeper) copy(r io.Reader) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		if keepErr := k.keep(buffer[:n]); keepErr != nil {
			return keepErr
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// sweep keeps what is in the pipe now. On a busy machine that may still be what the
// leader wrote. There is an end to it even if somebody else writes all the time.
func (k *keeper) sweep(r *os.File) error {
	if err := r.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	conn, err := r.SyscallConn()
	if err != nil {
		return err
	}
	return k.copy(io.LimitReader(atOnce{conn}, pipeCapacity))
}

// atOnce reads from a pipe what is in it, and ends where it would have to wait.
type atOnce struct{ pipe syscall.RawConn }

func (r atOnce) Read(b []byte) (n int, err error) {
	pollErr := r.pipe.Read(func(fd uintptr) bool {
		for {
			if n, err = syscall.Read(int(fd), b); err != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case pollErr != nil:
		return 0, pollErr
	case err == syscall.EAGAIN, err == nil && n == 0:
		return 0, io.EOF
	}
	return max(n, 0), err
}

// keep keeps b, or as much of it as the limit allows.
func (k *keeper) keep(b []byte) error {
	var full error
	if most := k.most(); k.size+int64(len(b)) > most {
		b = b[:most-k.size]
		full = fmt.Errorf("%w of %d bytes", ErrOutputFull, most)
	}
	if k.file == nil && len(k.memory)+len(b) > k.Memory {
		if err := k.spill(); err != nil {
			return err
		}
	}
	if k.file == nil {
		k.memory = append(k.memory, b...)
		k.size += int64(len(b))
		return full
	}
	n, err := k.file.Write(b)
	k.size += int64(n)
	if err != nil {
		return fmt.Errorf("keep output: %w", err)
	}
	return full
}

// most returns the number of bytes that are kept at most.
func (k *keeper) most() int64 {
	most := int64(math.MaxInt64)
	if k.Limit > 0 {
		most = k.Limit
	}
	if k.Spill == "" {
		most = min(most, int64(k.Memory))
	}
	return most
}

// spill moves from memory to a new file, which nobody else can have prepared. If that
// fails, all stays in memory.
func (k *keeper) spill() error {
	const flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL | syscall.O_NOFOLLOW
	file, err := os.OpenFile(k.Spill, flags, 0o600)
	if err != nil {
		return fmt.Errorf("keep output that is longer than %d bytes: %w", k.Memory, err)
	}
	if _, err := file.Write(k.memory); err != nil {
		file.Close()
		return errors.Join(fmt.Errorf("keep output: %w", err), os.Remove(k.Spill))
	}
	k.file, k.memory = file, nil
	return nil
}

// finish returns what was kept, and err if the output is not complete.
func (k *keeper) finish(err error) (Output, error) {
	if k.file == nil {
		return Output{Memory: k.memory, Size: k.size}, err
	}
	if closeErr := k.file.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("keep output: %w", closeErr))
	}
	return Output{File: k.Spill, Size: k.size}, err
}
