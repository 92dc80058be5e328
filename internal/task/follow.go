package task

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"regexp"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// followPiece is how much of an output file is read at once, in bytes.
	followPiece = 256 << 10
	// safety is how often a followed file is looked at although nothing was heard of
	// it: some file systems tell nothing.
	safety = 2 * time.Second
	// breath is the least time between two looks, so that a fast writer costs little.
	breath = 10 * time.Millisecond
	// longestLine is how much of a line is held against a pattern, in bytes.
	longestLine = 64 << 10
)

// Follow yields the output in the file at path from an offset on, as it grows. It ends
// when ended is closed and all that was printed until then has been read, or when ctx is
// done; an error is the last element.
func Follow(ctx context.Context, path string, offset int64, ended <-chan struct{}) iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		changed, stop := watch(path)
		defer stop()
		over := false
		for ctx.Err() == nil { // there may be more to read than anybody wants
			p, err := ReadOutput(path, offset, followPiece)
			if err != nil {
				yield(Piece{}, err)
				return
			}
			if len(p.Bytes) > 0 {
				if !yield(p, nil) {
					return
				}
				offset = p.Next
				continue
			}
			if over {
				return
			}
			if over = rest(ctx, changed, ended); ctx.Err() != nil {
				return
			}
		}
	}
}

// rest waits until there may be more to read. It reports whether nothing more will come
// after that.
func rest(ctx context.Context, changed <-chan fsnotify.Event, ended <-chan struct{}) (over bool) {
	late := time.NewTimer(safety)
	defer late.Stop()
	select {
	case <-ended:
		return true
	case <-changed:
	case <-late.C:
		return false
	case <-ctx.Done():
		return false
	}
	pause := time.NewTimer(breath)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-ended:
		return true
	case <-ctx.Done():
	}
	return false
}

// watch tells of changes of a file, where the system can: there are only so many watches.
func watch(path string) (changed <-chan fsnotify.Event, stop func()) {
	w, err := fsnotify.NewBufferedWatcher(1)
	if err != nil {
		return nil, func() {}
	}
	if err := w.Add(path); err != nil {
		_ = w.Close()
		return nil, func() {}
	}
	events := make(chan fsnotify.Event, 1)
	finished := make(chan struct{})
	go func() { // takes in all events, so that the system's queue does not overflow
		defer close(finished)
		for {
			select {
			case ev, ok := <-w.Events:
				if !ok {
					return
				}
				select {
				case events <- ev:
				default:
				}
			case <-w.Errors: // the safety look covers it; closed: Events is, too
			}
		}
	}()
	return events, func() { _ = w.Close(); <-finished }
}

// ErrNoMatch is returned when all tasks ended and none had printed what was waited for.
var ErrNoMatch = errors.New("the output ended without a match")

// Match is a line of output that was waited for.
type Match struct {
	ID   ID
	Line string // without its end; cut if very long
	Next int64  // offset behind the line
}

// WaitOutput waits until a line of the output of one of the tasks matches pattern. It
// looks at all output from the start. When all have ended without, that is [ErrNoMatch].
func (r *Runtime) WaitOutput(ctx context.Context, ids []ID, pattern *regexp.Regexp) (Match, error) {
	wake := newTrigger()
	tasks, err := r.follow(ids, wake)
	if err != nil {
		return Match{}, err
	}
	defer r.unfollow(tasks, wake)
	search, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan searched, len(tasks))
	for _, t := range tasks {
		go func() {
			m, err := t.match(search, pattern)
			results <- searched{m, err}
		}()
	}
	found, failure := Match{}, ErrNoMatch
	for range tasks { // all return before this one does
		res := <-results
		switch {
		case res.err == nil:
			found = res.match
			cancel()
		case !errors.Is(res.err, ErrNoMatch):
			failure = res.err
		}
	}
	if found.ID != "" {
		return found, nil
	}
	return Match{}, failure
}

type searched struct {
	match Match
	err   error
}

// match waits for a line of the output of t.
func (t *Task) match(ctx context.Context, pattern *regexp.Regexp) (Match, error) {
	var line []byte // the beginning of a line that has no end yet
	for p, err := range Follow(ctx, t.Output.Name(), 0, t.done) {
		if err != nil {
			return Match{}, err
		}
		at := p.Next - int64(len(p.Bytes))
		for part := range bytes.Lines(p.Bytes) {
			at += int64(len(part))
			line = append(line, part[:min(len(part), max(longestLine-len(line), 0))]...)
			text := bytes.TrimRight(line, "\r\n")
			if pattern.Match(text) { // also what has no end yet: a prompt has none
				return Match{t.ID, string(text), at}, nil
			}
			if part[len(part)-1] == '\n' {
				line = line[:0]
			}
		}
	}
	if err := context.Cause(ctx); err != nil {
		return Match{}, err
	}
	return Match{}, ErrNoMatch
}
