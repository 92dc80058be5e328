package hook

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"heddle/internal/process"
	"heddle/internal/tool"
)

const (
	grace       = 2 * time.Second // between the request to end and the end
	drain       = 250 * time.Millisecond
	outputLimit = 256 << 20 // bytes; nobody reads more than that of a hook
	errorLimit  = 32 << 10  // bytes of standard error that are kept, of either end
)

// command runs a hook. Nothing of what it started is alive when command returns.
func (r *Runner) command(ctx context.Context, h Hook, input []byte) (reply, error) {
	s, err := r.start(h, input)
	if err != nil {
		return reply{}, err
	}
	rep, err := r.wait(ctx, s)
	if err == nil {
		r.end(ctx, s) // what the command left behind
	}
	return rep, err
}

// started is a command with its pipes.
type started struct {
	*process.Captured
	hook          Hook
	stdin, stderr *os.File // our ends
	errors        *ends
	pipes         sync.WaitGroup
	cancel        context.CancelFunc // of who attends it behind the session; else nil
}

// start starts the command of a hook. The caller has to call wait.
func (r *Runner) start(h Hook, input []byte) (*started, error) {
	spec, err := r.spec(h)
	if err != nil {
		return nil, err
	}
	capture := process.Capture{Limit: outputLimit}
	if folder, err := r.spill(); err == nil {
		capture.Spill = filepath.Join(folder, "hook-"+rand.Text()+".out")
	}
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe for the input: %w", err)
	}
	defer childIn.Close()
	stderr, childErr, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make a pipe for standard error: %w", err), stdin.Close())
	}
	defer childErr.Close()
	spec.Stdin, spec.Stderr = childIn, childErr
	s := &started{hook: h, stdin: stdin, stderr: stderr, errors: &ends{}}
	if s.Captured, err = capture.Start(spec); err != nil {
		return nil, errors.Join(err, stdin.Close(), stderr.Close())
	}
	s.pipes.Go(func() {
		_, _ = stdin.Write(input) // a hook need not read it
		stdin.Close()
	})
	s.pipes.Go(func() {
		_, _ = io.Copy(s.errors, stderr) // until the end, or until wait has waited enough
		stderr.Close()
	})
	return s, nil
}

// end ends what is left of a command.
func (r *Runner) end(ctx context.Context, s *started) {
	if _, err := s.End(ctx, grace); err != nil {
		r.tell(s.hook, "%v", err)
	}
}

// wait waits for the command to exit and returns what it said. When that fails, mostly
// because ctx is done, it ends the command with everything that it started.
func (r *Runner) wait(ctx context.Context, s *started) (reply, error) {
	exit, err := s.Wait(ctx)
	if err != nil {
		r.end(context.WithoutCancel(ctx), s)
	}
	// A process that was left behind, or could not be ended, may hold the pipes.
	over := time.Now().Add(drain)
	_ = s.stdin.SetWriteDeadline(over) // fails when it is closed, which is as good
	_ = s.stderr.SetReadDeadline(over)
	s.pipes.Wait()
	patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*drain)
	defer cancel()
	out, cut := s.Output(patience)
	rep := reply{code: exit.Code, end: exit.String(), stderr: s.errors.String(), file: out.File, size: out.Size, cut: cut}
	switch {
	case err != nil:
		r.discard(rep)
		return reply{}, err
	case out.File == "":
		rep.stdout = string(out.Memory)
	case rep.cut == nil:
		rep.stdout, rep.cut = beginning(out)
	}
	return rep, nil
}

// discard removes the output that nobody will be told of.
func (r *Runner) discard(rep reply) {
	if rep.file != "" {
		_ = os.Remove(rep.file) // what stays behind goes with the session's folder
	}
}

// beginning returns what a preview needs of output that is in a file.
func beginning(out process.Output) (string, error) {
	f, err := out.Open()
	if err != nil {
		return "", fmt.Errorf("read long output: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4*previewLimit))
	if err != nil {
		return "", fmt.Errorf("read long output: %w", err)
	}
	return string(text), nil
}

// ends keeps the beginning and the end of what is written to it.
type ends struct {
	head, tail []byte
	missing    int64
}

// Write takes everything.
func (e *ends) Write(b []byte) (int, error) {
	n := len(b)
	room := min(errorLimit-len(e.head), len(b))
	e.head = append(e.head, b[:room]...)
	e.tail = append(e.tail, b[room:]...)
	if over := len(e.tail) - errorLimit; over > 0 {
		e.missing += int64(over)
		e.tail = append(e.tail[:0], e.tail[over:]...)
	}
	return n, nil
}

// String says what is missing in the middle.
func (e *ends) String() string {
	x := tool.Excerpt{Head: string(e.head), Tail: string(e.tail), Bytes: e.missing, Lines: -1}
	return x.Clip(2 * errorLimit)
}
