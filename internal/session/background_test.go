package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/agent"
	"heddle/internal/mail"
	"heddle/internal/message"
	"heddle/internal/task"
	"heddle/internal/tool"
	"heddle/internal/transcript"
)

// workbed is a bed whose sessions have tasks that a test starts by hand.
type workbed struct {
	*bed
	dir   string
	heir  task.Heir
	tasks *task.Runtime
}

const answers = `agents:
  - turns:
      - {text: fine, repeat: forever}
`

func newWorkbed(t *testing.T) *workbed {
	return &workbed{bed: newBed(t, scripts{"p/one": answers}), dir: t.TempDir()}
}

// open begins the session, or goes on with it.
func (b *workbed) open() *Session {
	b.t.Helper()
	inbox := mail.NewQueue()
	tasks, err := task.NewRuntime(task.Options{Dir: filepath.Join(b.dir, "tasks"), Notifier: inbox})
	if err != nil {
		b.t.Fatal(err)
	}
	b.tasks = tasks
	s := b.bed.openWith("p/one", func(p *Parts) { p.Tasks, p.Inbox, p.Heir = tasks, inbox, b.heir })
	return s
}

// start starts a task that ends when release is closed.
func (b *workbed) start(spec task.Spec, release <-chan struct{}) task.ID {
	b.t.Helper()
	if spec.Kind == "" {
		spec.Kind = task.LocalBash
	}
	spec.Background = true
	tk, err := b.tasks.Start(spec, task.RunnerFunc(func(ctx context.Context, _ *task.Task) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}))
	if err != nil {
		b.t.Fatal(err)
	}
	return tk.ID
}

// said returns the texts of the messages that are in the transcript from somebody.
func (b *workbed) said(from agent.Origin) (texts []string) {
	b.t.Helper()
	past, err := transcript.Read(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range past {
		if m, ok := r.(transcript.Message); ok && m.Origin == string(from) {
			texts = append(texts, m.Message.Text())
		}
	}
	return texts
}

var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// An idle conversation is woken by an end, once, and only then is the end on record as told.
func TestEndWakesAnIdleConversation(t *testing.T) {
	t.Parallel()
	b := newWorkbed(t)
	s := b.open()
	defer s.Close(t.Context())
	b.turn(s, "hello")
	id := b.start(task.Spec{Description: "the build"}, over)
	in, notice := s.Await(t.Context(), Patience{Shells: time.Minute})
	if len(in) != 1 || notice != "" || in[0].Origin != agent.Notification {
		t.Fatalf("Await = %+v, %q", in, notice)
	}
	if snap, _ := b.tasks.Get(id); snap.Told {
		t.Error("told before it was read")
	}
	for _, err := range s.Turn(t.Context(), in...) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if snap, _ := b.tasks.Get(id); !snap.Told {
		t.Error("read, and not on record as told")
	}
	if in, _ := s.Await(t.Context(), Patience{Shells: time.Hour}); in != nil {
		t.Errorf("woken again: %+v", in)
	}
	if got := b.said(agent.Notification); len(got) != 1 || !strings.Contains(got[0], "<task-id>"+string(id)+"</task-id>") {
		t.Errorf("transcript: %q", got)
	}
}

// What a person says comes after what had been told before.
func TestWaitingNewsAreReadFirst(t *testing.T) {
	t.Parallel()
	b := newWorkbed(t)
	s := b.open()
	defer s.Close(t.Context())
	b.start(task.Spec{}, over)
	<-s.Arrived()
	b.turn(s, "what now?")
	m, origin := s.conv.History.Message(0)
	next, then := s.conv.History.Message(1)
	if origin != agent.Notification || then != agent.Human || !strings.Contains(m.Text(), "completed") || next.Text() != "what now?" {
		t.Errorf("history: %s %q, %s %q", origin, m.Text(), then, next.Text())
	}
}

// A run that nobody watches gives shells a grace and waits longer for others, and no
// longer than it may.
func TestAwaitIsPatientByKind(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind task.Kind
		ends time.Duration // 0: never
		want time.Duration
		told bool
	}{
		"a shell that ends in time":   {task.LocalBash, 2 * time.Second, 2 * time.Second, true},
		"a shell that runs on":        {task.LocalBash, 0, 5 * time.Second, false},
		"an agent that ends in time":  {task.LocalAgent, 2 * time.Minute, 2 * time.Minute, true},
		"an agent that runs for ever": {task.LocalAgent, 0, 10 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newWorkbed(t)
				s := b.open()
				defer s.Close(t.Context())
				release := make(chan struct{})
				if tt.ends > 0 {
					time.AfterFunc(tt.ends, func() { close(release) })
				}
				b.start(task.Spec{Kind: tt.kind}, release)
				begin := time.Now()
				in, _ := s.Await(t.Context(), Patience{Shells: 5 * time.Second, Others: 10 * time.Minute})
				if got := time.Since(begin); got != tt.want || (in != nil) != tt.told {
					t.Errorf("Await took %v and returned %v; want %v", got, in, tt.want)
				}
				if left := s.Unfinished(); (len(left) == 0) != tt.told {
					t.Errorf("left: %+v", left)
				}
			})
		})
	}
}

// A model that sets one timer after the other is left asleep in the end, and real ends
// still wake it.
func TestTimersDoNotWakeForEver(t *testing.T) {
	t.Parallel()
	b := newWorkbed(t)
	s := b.open()
	defer s.Close(t.Context())
	turns, notices := 0, 0
	for range 30 {
		b.start(task.Spec{Timer: true}, over)
		<-s.Arrived()
		in, notice := s.Wake()
		if in != nil {
			turns++
		}
		if notice != "" {
			notices++
		}
	}
	if turns != timers || notices != 1 {
		t.Errorf("woken %d times, told %d times; want %d and once", turns, notices, timers)
	}
	b.start(task.Spec{}, over)
	<-s.Arrived()
	if in, _ := s.Wake(); len(in) != 30-timers+1 {
		t.Errorf("a real end wakes with %d messages, want also those that were held back", len(in))
	}
}

// adopter lets every task of before go on for ever.
type adopter struct{}

func (adopter) Adopt(task.Record) task.Runner {
	return task.RunnerFunc(func(ctx context.Context, _ *task.Task) error { <-ctx.Done(); return context.Cause(ctx) })
}
func (adopter) Left(task.Record) func() error { return nil }

// After a resume and after a compaction, the model hears once what runs: it may not know.
func TestModelHearsWhatRuns(t *testing.T) {
	t.Parallel()
	b := newWorkbed(t)
	b.heir = adopter{}
	first := b.open()
	b.turn(first, "hello")
	id := b.start(task.Spec{Description: `a <server> "x"`}, nil)
	if err := first.log.close(); err != nil { // the program dies here
		t.Fatal(err)
	}
	defer b.tasks.Close(context.Background())
	b.dir = crashed(t, b.dir)

	s := b.open()
	defer s.Close(t.Context())
	b.turn(s, "go on")
	b.turn(s, "and on")
	said := b.said(agent.Human)
	want := `<task id="` + string(id) + `" type="local_bash" status="`
	if n := strings.Count(strings.Join(said, "\n"), want); n != 1 || !strings.Contains(said[1], want) || !strings.Contains(said[1], `>a &lt;server&gt; "x"</task>`) {
		t.Errorf("said: %q", said)
	}
	if text := s.brief(); !strings.Contains(text, want) {
		t.Errorf("after a compaction, the history begins with %q", text)
	}
}

// Ends that a crash cut off are told when the session goes on, once, also if it crashes
// again.
func TestResumeTellsLostEnds(t *testing.T) {
	t.Parallel()
	b := newWorkbed(t)
	b.heir = adopter{}
	first := b.open()
	b.turn(first, "hello")
	id := b.start(task.Spec{Description: "lost"}, over)
	<-first.Arrived() // it waits to be read
	if err := first.log.close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		b.dir = crashed(t, b.dir)
		s := b.open()
		b.turn(s, "go on")
		if err := s.log.close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.said(agent.Notification); len(got) != 1 || !strings.Contains(got[0], string(id)) {
		t.Errorf("told: %q", got)
	}
}

// A result that stands in the transcript tells its end, even if the journal does not say so.
func TestArrivedResultsAreNotToldAgain(t *testing.T) {
	t.Parallel()
	b := newWorkbed(t)
	b.heir = adopter{}
	b.models["p/one"] = `agents:
  - turns:
      - calls: [{tool: Work, input: {}}]
      - {text: fine, repeat: forever}
`
	b.tools = []tool.Tool{{Name: "Work", Schema: []byte(`{"type":"object"}`), Run: func(ctx context.Context, c tool.Call) tool.Result {
		tk, err := b.tasks.Start(task.Spec{Kind: task.LocalBash, ToolUseID: c.ID}, task.RunnerFunc(func(context.Context, *task.Task) error { return errors.New("no") }))
		if err != nil {
			return tool.Failf("%v", err)
		}
		tk.Attach(ctx, 0)
		return tool.Text("it failed")
	}}}
	first := b.open()
	b.turn(first, "work")
	if snap := b.tasks.List()[0]; !snap.Told || snap.Carrier == "" {
		t.Errorf("after the turn: %+v", snap)
	}
	if err := first.log.close(); err != nil {
		t.Fatal(err)
	}
	b.dir = crashed(t, b.dir)
	s := b.open()
	defer s.Close(t.Context())
	if in, _ := s.Wake(); in != nil {
		t.Errorf("told again: %+v", in)
	}
	var texts []string
	for i := range s.conv.History.Len() {
		m, _ := s.conv.History.Message(i)
		for _, block := range m.Content {
			if r, ok := block.(message.ToolResult); ok {
				texts = append(texts, message.Message{Content: r.Content}.Text())
			}
		}
	}
	if !slices.Equal(texts, []string{"it failed"}) {
		t.Errorf("results: %q", texts)
	}
}

// crashed returns a copy of the state that a program left which died: nothing of it holds
// a lock.
func crashed(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil { // or it would be a mere copy, from which nothing runs
		t.Fatal(err)
	}
	return to
}
