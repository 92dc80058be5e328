package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// prints is a runner that prints what comes, and ends when nothing more will.
func prints(text <-chan string) Runner {
	return RunnerFunc(func(ctx context.Context, t *Task) error {
		for {
			select {
			case s, more := <-text:
				if !more {
					return nil
				}
				fmt.Fprint(t.Output, s)
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
}

// Whoever follows output gets every byte of it once, in order, to the end.
func TestFollow(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, Options{})
	text := make(chan string)
	tk := start(t, rt, Spec{}, prints(text))
	var want strings.Builder
	go func() {
		for i := range 200 {
			s := strings.Repeat(fmt.Sprint(i, " "), i)
			want.WriteString(s)
			text <- s
		}
		close(text)
	}()
	var got strings.Builder
	for p, err := range Follow(t.Context(), tk.Snapshot().OutputFile, 0, tk.Done()) {
		if err != nil {
			t.Fatal(err)
		}
		got.Write(p.Bytes)
	}
	if got.String() != want.String() {
		t.Errorf("got %d bytes, want %d", got.Len(), want.Len())
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, Options{})
	tk := start(t, rt, Spec{}, prints(make(chan string)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for p, err := range Follow(ctx, tk.Snapshot().OutputFile, 0, tk.Done()) {
		t.Errorf("got %v, %v", p, err)
	}
	for _, err := range Follow(t.Context(), filepath.Join(t.TempDir(), "none"), 0, tk.Done()) {
		if !errors.Is(err, os.ErrNotExist) {
			t.Errorf("a file that is not there: %v", err)
		}
	}
}

func TestWaitOutput(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, Options{})
	a, b := make(chan string), make(chan string)
	ta, tb := start(t, rt, Spec{}, prints(a)), start(t, rt, Spec{}, prints(b))
	ids := []ID{ta.ID, tb.ID}
	go func() {
		a <- "starting\n"
		b <- "compiling\nlistening on "
		b <- "port 80"
	}()
	m, err := rt.WaitOutput(t.Context(), ids, regexp.MustCompile(`port \d+$`))
	if err != nil || m.ID != tb.ID || m.Line != "listening on port 80" { // it has no end yet
		t.Errorf("WaitOutput = %+v, %v", m, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := rt.WaitOutput(ctx, ids, regexp.MustCompile("never")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("WaitOutput = %v, want that the time is over", err)
	}
	go func() { close(a); close(b) }()
	if _, err := rt.WaitOutput(t.Context(), ids, regexp.MustCompile("never")); !errors.Is(err, ErrNoMatch) {
		t.Errorf("WaitOutput = %v, want ErrNoMatch", err)
	}
	if _, err := rt.WaitOutput(t.Context(), []ID{"b00000000"}, regexp.MustCompile("x")); !errors.Is(err, ErrNotRunning) {
		t.Errorf("WaitOutput of nobody = %v", err)
	}
}

// writes is a runner that prints size bytes each tick, for as long as it may.
func writes(size int, tick time.Duration) Runner {
	return RunnerFunc(func(ctx context.Context, t *Task) error {
		for {
			if _, err := t.Output.Write([]byte(strings.Repeat("x", size-1) + "\n")); err != nil {
				return err
			}
			select {
			case <-time.After(tick):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
}

// A task that prints without end is stopped at its limit, whoever else is at work, and
// its output says so.
func TestOutputLimitStopsTheWriter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 1 << 20
		rec := &recorder{}
		rt := newRuntime(t, Options{Notifier: rec, Limits: Limits{Task: limit}})
		loud := start(t, rt, Spec{Background: true}, writes(1000, time.Millisecond))
		still := start(t, rt, Spec{Background: true}, takes(time.Hour, nil))
		<-loud.Done()
		s := loud.Snapshot()
		if s.Status != Killed || s.Reason != ReasonOutputLimit {
			t.Errorf("end is %s, %q", s.Status, s.Reason)
		}
		out, err := os.ReadFile(s.OutputFile)
		if err != nil || len(out) > limit+4<<10 || strings.Count(string(out), "[output truncated") != 1 {
			t.Errorf("%d bytes of output, %v, ending %.100q", len(out), err, out[max(len(out)-100, 0):])
		}
		if len(rec.got()) != 1 || still.Snapshot().Status.Terminal() {
			t.Errorf("told %d times; the silent one is %s", len(rec.got()), still.Snapshot().Status)
		}
	})
}

// What printed too much before anyone looked is no success.
func TestOutputBeyondTheLimitIsNoSuccess(t *testing.T) {
	t.Parallel()
	rt := newRuntime(t, Options{Limits: Limits{Task: 1000}})
	tk := start(t, rt, Spec{}, RunnerFunc(func(_ context.Context, t *Task) error {
		_, err := t.Output.Write(make([]byte, 5000))
		return err
	}))
	tk.Attach(t.Context(), 0)
	if s := tk.Snapshot(); s.Status != Failed || s.Reason != ReasonOutputLimit {
		t.Errorf("end is %s, %q, %q", s.Status, s.Reason, s.Error)
	}
	if info, err := os.Stat(tk.Snapshot().OutputFile); err != nil || info.Size() > 1200 {
		t.Errorf("size %d, %v", info.Size(), err)
	}
}

// Many that stay below their own limit are stopped at that of the session.
func TestSessionLimitCountsAllOutput(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{Grace: time.Second, Limits: Limits{Task: 1 << 20, Session: 3 << 20}})
		for range 5 { // these end by themselves, and are forgotten
			tk := start(t, rt, Spec{}, RunnerFunc(func(_ context.Context, t *Task) error {
				_, err := t.Output.Write(make([]byte, 512<<10))
				return err
			}))
			tk.Attach(t.Context(), 0)
		}
		time.Sleep(time.Minute)
		tk := start(t, rt, Spec{Background: true}, writes(1000, time.Millisecond))
		<-tk.Done()
		s := tk.Snapshot()
		info, err := os.Stat(s.OutputFile)
		if err != nil || s.Reason != ReasonOutputLimit || info.Size() > 800<<10 {
			t.Errorf("%d bytes, %v, reason %q; want it to end after half a megabyte", info.Size(), err, s.Reason)
		}
	})
}

// watcher is a runner that hears how quiet it is.
type watcher struct {
	Runner
	heard chan time.Duration
}

func (w watcher) Quiet(_ *Task, _ int64, quiet time.Duration) { w.heard <- quiet }

func TestRunnerHearsHowQuietItIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rt := newRuntime(t, Options{})
		heard := make(chan time.Duration, 100)
		start(t, rt, Spec{}, watcher{writes(10, 5*time.Second), heard})
		time.Sleep(9*time.Second + 500*time.Millisecond)
		longest := time.Duration(0)
		for range len(heard) {
			longest = max(longest, <-heard)
		}
		if longest < 3*time.Second || longest > 5*time.Second {
			t.Errorf("quiet for %v at most, want about 4 s: it prints every 5 s", longest)
		}
	})
}

// Who has enough is not made to read on, however much there is.
func TestFollowStopsInTheMiddle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(path, make([]byte, 10*followPiece), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pieces := 0
	for _, err := range Follow(ctx, path, 0, nil) {
		if err != nil {
			t.Fatal(err)
		}
		pieces++
		cancel()
	}
	if pieces != 1 {
		t.Errorf("%d pieces after the end of the context, want none", pieces-1)
	}
}
