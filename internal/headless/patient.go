package headless

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"
)

// errStalled is why a write ends that nobody reads while the run is to end.
var errStalled = errors.New("whoever reads the output has stopped reading")

// parting is how long a reader may take when the run is to end.
const parting = time.Second

// patient is a writer that waits for a slow reader as long as the run goes on, and a moment
// longer. A reader that has stopped must not keep alive what a signal ends.
type patient struct {
	w    io.Writer
	over <-chan struct{} // closed when there is no more time
}

// newPatience returns what closes when ctx is done and parting has passed. Release ends
// the waiting for that.
func newPatience(ctx context.Context) (over <-chan struct{}, release func()) {
	closed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(parting, func() { close(closed) }) })
	return closed, func() { stop() }
}

// Write writes p. If it gives up, the write goes on without anybody who waits for it, to
// the end of the program: nothing ends a write to a pipe.
func (p *patient) Write(b []byte) (int, error) {
	type written struct {
		n   int
		err error
	}
	select {
	case <-p.over:
		return 0, errStalled
	default:
	}
	b = bytes.Clone(b) // it may be written when the caller has gone on
	result := make(chan written, 1)
	go func() {
		n, err := p.w.Write(b)
		result <- written{n, err}
	}()
	select {
	case r := <-result:
		return r.n, r.err
	case <-p.over:
		return 0, errStalled
	}
}
