package hook

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// background is a hook that nobody waits for.
func background(e Event, command string) Hook {
	h := sh(e, command)
	h.Async = true
	return h
}

// settle waits until all hooks in the background have said what they have to say.
func settle(r *Runner) { r.behind.wait.Wait() }

func TestBackground(t *testing.T) {
	t.Parallel()
	rewake := func(command string) Hook {
		h := background(Stop, command)
		h.Rewake = true
		return h
	}
	for _, c := range []struct {
		name  string
		hook  Hook
		want  []string
		told  string
		wakes int32
	}{
		{"nothing", background(Stop, "echo prose"), nil, "", 0},
		{
			"context and message", background(Stop, saying(`{"systemMessage": "m", "decision": "block", "reason": "late", "hookSpecificOutput": {"additionalContext": "</hook>"}}`)),
			[]string{Wrap(Stop, "</hook>"), Wrap(Stop, "m")}, "", 0,
		},
		{"prose", background(UserPromptSubmit, "echo prose"), []string{Wrap(UserPromptSubmit, "prose")}, "", 0},
		{"failure", background(Stop, "echo why >&2; exit 1"), nil, "exit code 1: why", 0},
		{"block", background(Stop, "echo why >&2; exit 2"), nil, "why", 0},
		{"wake", rewake("echo why >&2; exit 2"), []string{Wrap(Stop, "why")}, "", 1},
		{"wake without a word", rewake("exit 2"), []string{Wrap(Stop, "exit code 2")}, "", 1},
		{"no wake", rewake("echo why >&2"), nil, "", 0},
		{"no wake by a failure", rewake("exit 1"), nil, "exit code 1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var said told
			var wakes atomic.Int32
			o := options(t, &said)
			o.Wake = func() { wakes.Add(1) }
			r := runner(t, o, c.hook)
			if diff := cmp.Diff(Outcome{}, r.Fire(t.Context(), c.hook.Event, "", nil, nil)); diff != "" {
				t.Errorf("outcome: %s", diff)
			}
			settle(r)
			if diff := cmp.Diff(c.want, r.Delayed()); diff != "" {
				t.Errorf("delayed: %s", diff)
			}
			if again := r.Delayed(); len(again) > 0 {
				t.Errorf("delayed again: %q", again)
			}
			if lines := strings.Join(said.all(), "\n"); c.told == "" && lines != "" || !strings.Contains(lines, c.told) {
				t.Errorf("told %q, want %q", lines, c.told)
			}
			if wakes.Load() != c.wakes {
				t.Errorf("%d wakes, want %d", wakes.Load(), c.wakes)
			}
		})
	}
}

// The session goes on while the hook runs, also when what fired it is cancelled. Close
// ends it, and what it says then is not kept.
func TestCloseEndsTheBackground(t *testing.T) {
	t.Parallel()
	needSetsid(t)
	var said told
	o := options(t, &said)
	running := fifo(t, filepath.Join(o.Dir, "running"))
	r := runner(t, o, background(UserPromptSubmit, stubborn+"echo hello; trap 'echo bye' TERM; : > running; sleep 1000"))
	ctx, cancel := context.WithCancel(t.Context())
	r.Fire(ctx, UserPromptSubmit, "", nil, nil)
	cancel()
	running()
	closing, hurry := context.WithCancel(t.Context())
	hurry()
	var all sync.WaitGroup
	for range 3 { // also at once
		all.Go(func() { r.Close(closing) })
	}
	all.Wait()
	expectDead(t, filepath.Join(o.Dir, "pid"))
	r.Fire(t.Context(), UserPromptSubmit, "", nil, nil) // too late to start
	if got, lines := r.Delayed(), said.all(); len(got)+len(lines) > 0 {
		t.Errorf("delayed %q, told %q", got, lines)
	}
}

// What a hook leaves behind is its purpose, such as a server, and lives until Close.
func TestBackgroundLeavesSomethingBehind(t *testing.T) {
	t.Parallel()
	needSetsid(t)
	var said told
	o := options(t, &said)
	r := runner(t, o, background(UserPromptSubmit, stubborn+"echo hello"), background(Stop, "true"))
	r.Fire(t.Context(), UserPromptSubmit, "", nil, nil)
	settle(r)
	if diff := cmp.Diff([]string{Wrap(UserPromptSubmit, "hello")}, r.Delayed()); diff != "" {
		t.Error(diff)
	}
	for range 3 {
		r.Fire(t.Context(), Stop, "", nil, nil)
		settle(r)
	}
	if n := len(r.behind.running); n != 2 { // the one that left something, and the last
		t.Errorf("%d hooks are kept in mind, want 2", n)
	}
	if len(r.behind.running[0].Members()) == 0 {
		t.Error("what was left behind is gone")
	}
	hurried, cancel := context.WithCancel(t.Context())
	cancel()
	r.Close(hurried)
	expectDead(t, filepath.Join(o.Dir, "pid"))
}

func TestBackgroundAtTheLimit(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	h := background(Stop, "sleep 1000")
	h.Timeout = 100 * time.Millisecond
	r := runner(t, o, h)
	r.Fire(t.Context(), Stop, "", nil, nil)
	settle(r)
	if diff := cmp.Diff([]string{"hook Stop (hooks.json:3:5): ended at its time limit of 100ms"}, said.all()); diff != "" {
		t.Error(diff)
	}
}

// A hook that could not start has not had its one turn.
func TestOnceCountsSuccess(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	o.Dir = filepath.Join(o.Dir, "later")
	plain, behind := sh(UserPromptSubmit, "echo a"), background(UserPromptSubmit, "echo b")
	plain.Once, behind.Once = true, true
	r := runner(t, o, plain, behind)
	r.Fire(t.Context(), UserPromptSubmit, "", nil, nil)
	if n := len(said.all()); n != 2 {
		t.Errorf("%d failures told, want 2", n)
	}
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 0} {
		n := len(r.Fire(t.Context(), UserPromptSubmit, "", nil, nil).Context)
		settle(r)
		if late := len(r.Delayed()); n != want || late != want {
			t.Errorf("time %d: %d and %d texts, want %d of each", i, n, late, want)
		}
	}
}
