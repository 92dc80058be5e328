package call

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"go.uber.org/goleak"

	"heddle/internal/message"
	"heddle/internal/task"
	"heddle/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// notes are what the owner of tasks hears.
type notes chan task.Notification

func (n notes) Notify(x task.Notification) { n <- x }
func (n notes) Withdraw(string) bool       { return false }

func newTasks(t *testing.T, n task.Notifier) *task.Runtime {
	t.Helper()
	tasks, err := task.NewRuntime(task.Options{Dir: t.TempDir(), Notifier: n})
	if err != nil {
		t.Fatal(err)
	}
	return tasks
}

func closeTasks(t *testing.T, tasks *task.Runtime) {
	t.Helper()
	if err := tasks.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func theCall(t *testing.T) tool.Call {
	return tool.Call{ID: "use1", Name: "mcp__s__t", Input: []byte(`{}`), Scope: tool.NewScope(t.TempDir(), t.TempDir())}
}

func text(r tool.Result) string { return message.Message{Content: r.Content}.Text() }

func TestQuickCallIsItsResult(t *testing.T) {
	tasks := newTasks(t, make(notes, 1))
	defer closeTasks(t, tasks)
	run := Options{Tasks: tasks, Budget: time.Minute}.Of("s", "t", func(context.Context, tool.Call, func(string)) tool.Result {
		return tool.Text("42")
	})
	if r := run(t.Context(), theCall(t)); r.IsError || text(r) != "42" {
		t.Errorf("the result is %q", text(r))
	}
	list := tasks.List()
	if len(list) != 1 || list[0].Status != task.Completed || list[0].Kind != task.MonitorMCP {
		t.Errorf("the tasks are %v", list)
	}
}

func TestFailureIsAFailedTask(t *testing.T) {
	tasks := newTasks(t, make(notes, 1))
	defer closeTasks(t, tasks)
	run := Options{Tasks: tasks}.Of("s", "t", func(context.Context, tool.Call, func(string)) tool.Result {
		return tool.Failf("no such table\nand more")
	})
	if r := run(t.Context(), theCall(t)); !r.IsError || !strings.HasPrefix(text(r), "no such table") {
		t.Errorf("the result is %q", text(r))
	}
	if s := tasks.List()[0]; s.Status != task.Failed || s.Error != "no such table" {
		t.Errorf("the task is %s: %s", s.Status, s.Error)
	}
}

// A call that takes longer than one may wait goes on, and its end is told once.
func TestSlowCallGoesOnInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		heard := make(notes, 10)
		tasks := newTasks(t, heard)
		reported := make(chan struct{})
		run := Options{Tasks: tasks, Budget: 2 * time.Minute}.Of("s", "t", func(_ context.Context, _ tool.Call, report func(string)) tool.Result {
			report("half done")
			close(reported)
			time.Sleep(time.Hour)
			return tool.Text("the answer")
		})
		began := time.Now()
		r := run(t.Context(), theCall(t))
		if waited := time.Since(began); waited != 2*time.Minute || !strings.Contains(text(r), "in the background, as task m") {
			t.Errorf("after %v the result is %q", waited, text(r))
		}
		<-reported
		if d, ok := tasks.List()[0].Detail.(Detail); !ok || d.Progress != "half done" {
			t.Errorf("the task tells %v", tasks.List()[0].Detail)
		}
		n := <-heard
		if n.Task.Status != task.Completed {
			t.Errorf("it ended as %s: %s", n.Task.Status, n.Task.Error)
		}
		if out, err := os.ReadFile(n.Task.OutputFile); err != nil || string(out) != "the answer\n" {
			t.Errorf("the output is %q, %v", out, err)
		}
		closeTasks(t, tasks)
		if len(heard) > 0 {
			t.Errorf("the end was told again: %v", <-heard)
		}
	})
}

func TestInterruptedCallIsCancelled(t *testing.T) {
	tasks := newTasks(t, make(notes, 1))
	defer closeTasks(t, tasks)
	ctx, cancel := context.WithCancelCause(t.Context())
	run := Options{Tasks: tasks}.Of("s", "t", func(ctx context.Context, _ tool.Call, _ func(string)) tool.Result {
		cancel(errors.New("enough"))
		<-ctx.Done()
		return tool.Failf("cancelled")
	})
	if r := run(ctx, theCall(t)); !r.IsError {
		t.Errorf("the result is %q", text(r))
	}
	if s := tasks.List()[0]; s.Status != task.Killed {
		t.Errorf("the task is %s", s.Status)
	}
}

// A huge result is kept whole in the file, and its ends stand in the conversation.
func TestHugeResultIsShortened(t *testing.T) {
	tasks := newTasks(t, make(notes, 1))
	defer closeTasks(t, tasks)
	huge := strings.Repeat("a line of text\n", 400_000)
	run := Options{Tasks: tasks, Limit: 10_000}.Of("s", "t", func(context.Context, tool.Call, func(string)) tool.Result {
		r := tool.Text(huge)
		r.Content = append(r.Content, message.Image{MediaType: "image/png", Data: "AA=="}, message.Text{Text: "tail"})
		return r
	})
	r := run(t.Context(), theCall(t))
	if len(text(r)) > 11_000 || len(r.Content) != 3 {
		t.Errorf("%d blocks with %d bytes of text", len(r.Content), len(text(r)))
	}
	s := tasks.List()[0]
	if !strings.Contains(text(r), s.OutputFile) {
		t.Error("it does not say where the rest is")
	}
	if out, err := os.ReadFile(s.OutputFile); err != nil || string(out) != huge+"\n[an image]\ntail\n" {
		t.Errorf("the file has %d bytes, %v", len(out), err)
	}
}

// A task is known for a while after its end. What its call returned is not kept for that.
func TestResultsAreNotHeld(t *testing.T) {
	tasks := newTasks(t, make(notes, 1))
	defer closeTasks(t, tasks)
	var large weak.Pointer[[1 << 20]byte]
	run := Options{Tasks: tasks}.Of("s", "t", func(context.Context, tool.Call, func(string)) tool.Result {
		r := tool.Text("fine")
		value := new([1 << 20]byte)
		large = weak.Make(value)
		r.Data = value
		return r
	})
	if r := run(t.Context(), theCall(t)); r.IsError {
		t.Errorf("the result is %q", text(r))
	}
	runtime.GC()
	if large.Value() != nil {
		t.Error("the result is still there, with its task")
	}
	if len(tasks.List()) != 1 {
		t.Error("the task is gone: the test proves nothing")
	}
}

// What programs get of a result is bounded like what models get.
func TestHugeStructuredResultIsLeftOut(t *testing.T) {
	tasks := newTasks(t, make(notes, 1))
	defer closeTasks(t, tasks)
	for _, c := range []struct {
		length int
		kept   bool
	}{{900, true}, {1100, false}} {
		run := Options{Tasks: tasks, Limit: 1000}.Of("s", "t", func(context.Context, tool.Call, func(string)) tool.Result {
			r := tool.Text("short")
			r.Data = map[string]any{"rows": strings.Repeat("x", c.length)}
			return r
		})
		d, ok := run(t.Context(), theCall(t)).Data.(data)
		if !ok || (d.Structured != nil) != c.kept {
			t.Errorf("of %d bytes, the structured result is there: %v, want %v", c.length, d.Structured != nil, c.kept)
		}
	}
}

// TestClipSaysWhereTheRestIs holds that nothing is promised that could not be kept.
func TestClipSaysWhereTheRestIs(t *testing.T) {
	t.Parallel()
	long := []message.Block{message.Text{Text: strings.Repeat("x", 1000)}}
	for file, want := range map[string]string{"/out": "All of it is in /out:", "": "could not be kept"} {
		content, size := clip(long, 100, file)
		if got := text(tool.Result{Content: content}); size != 1000 || !strings.Contains(got, want) {
			t.Errorf("clip into %q = %q, %d", file, got, size)
		}
	}
}
