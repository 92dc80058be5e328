package subagent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"heddle/internal/agent"
	"heddle/internal/mail"
	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/permission"
	"heddle/internal/roster"
	"heddle/internal/task"
	"heddle/internal/tool"
	"heddle/internal/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reply is what the fake model does with a request of an agent; n counts those of one
// agent from 1.
type reply func(ctx context.Context, n int, r *model.Request) (model.Response, error)

// fake is a model that keeps the bytes of requests.
type fake struct {
	reply reply
	// begin is called when an answer begins; nil: nothing happens.
	begin func(r *model.Request)
	// forgets says that nothing of requests is kept.
	forgets bool

	mu     sync.Mutex
	counts map[string]int
	bodies map[string][][]byte // by agent: what each request said
}

func (f *fake) Name() string { return "fake" }
func (f *fake) EncodePrefix(p model.Prompt) []byte {
	b, _ := json.Marshal(p)
	return b
}
func (f *fake) EncodeMessage(m message.Message) []byte { return m.AppendJSON(nil) }
func (f *fake) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		f.mu.Lock()
		id := r.Agent.ID
		f.counts[id]++
		n := f.counts[id]
		if !f.forgets {
			f.bodies[id] = append(f.bodies[id], append(bytes.Clone(r.Prefix), bytes.Join(r.Messages, []byte{','})...))
		}
		f.mu.Unlock()
		if f.begin != nil {
			f.begin(r)
		}
		if !yield(model.Started{}, nil) {
			return
		}
		resp, err := f.reply(ctx, n, r)
		if err != nil {
			yield(nil, err)
			return
		}
		yield(resp, nil)
	}
}

// said is what the requests of an agent held, the newest last.
func (f *fake) said(id task.ID) [][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bodies[string(id)]
}

func says(text string) model.Response {
	return model.Response{
		Stop: message.EndTurn, Usage: message.Usage{Input: 100, CacheRead: 900, Output: 10},
		Message: message.Message{Role: message.Assistant, Content: []message.Block{message.Text{Text: text}}},
	}
}

func uses(names ...string) model.Response {
	m := message.Message{Role: message.Assistant}
	for i, name := range names {
		m.Content = append(m.Content, message.ToolUse{ID: fmt.Sprintf("call%d", i), Name: name, Input: json.RawMessage("{}")})
	}
	return model.Response{Stop: message.StopToolUse, Usage: message.Usage{Input: 100, Output: 10}, Message: m}
}

// definitions are the agents of these tests.
func definitions() fstest.MapFS {
	file := func(name, more string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("---\nname: " + name + "\ndescription: d\n" + more + "---\nYou are " + name + ".\n")}
	}
	return fstest.MapFS{
		"agents/plain.md":   file("plain", ""),
		"agents/short.md":   file("short", "maxTurns: 3\n"),
		"agents/careful.md": file("careful", "permissionMode: plan\n"),
	}
}

// bed is a session whose main agent does what a test says.
type bed struct {
	*Spawner
	t      testing.TB
	model  *fake
	tasks  *task.Runtime
	inbox  *mail.Queue
	scope  *tool.Scope
	main   *agent.Context
	log    *transcript.Writer // of the main conversation
	dir    string
	window int                                    // of the model, in tokens; 0: 200,000
	during func(ctx context.Context, c tool.Call) // what a call of Agent does
	tool   func(ctx context.Context, c tool.Call) tool.Result
}

// newBed returns a session whose files are in dir, as an earlier one may have left them.
func newBed(t testing.TB, dir string, r reply, change func(*Options)) *bed {
	t.Helper()
	b := &bed{t: t, dir: dir, inbox: mail.NewQueue(), scope: tool.NewScope(dir, dir)}
	b.model = &fake{reply: r, counts: map[string]int{}, bodies: map[string][][]byte{}}
	office := mail.NewOffice(b.inbox)
	var err error
	if b.tasks, err = task.NewRuntime(task.Options{Dir: filepath.Join(dir, "tasks"), Notifier: office}); err != nil {
		t.Fatal(err)
	}
	office.Lost(b.tasks.Delivered)
	pool, err := tool.NewPool(
		tool.Tool{Name: "Agent", Parallel: true, Waits: true, Run: func(ctx context.Context, c tool.Call) tool.Result {
			b.during(ctx, c)
			return tool.Text("went")
		}},
		tool.Tool{Name: "Monitor", Run: func(ctx context.Context, c tool.Call) tool.Result {
			if b.tool != nil {
				return b.tool(ctx, c)
			}
			return tool.Text("worked")
		}},
	)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Tasks: b.tasks, Office: office, Gate: permission.NewGate(permission.Settings{}, nil),
		Roster: roster.Find(roster.Builtin(), roster.Source{Name: "test", Folders: []string{"agents"}, FS: definitions(), Trusted: true}),
		Choose: func(name string) (agent.Choice, error) {
			if name == "" {
				return agent.Choice{}, errors.New("no name")
			}
			return b.choice(), nil
		},
		Tools: func() *tool.Pool { return pool }, Folder: filepath.Join(dir, "agents"),
		Main: Main{Scope: b.scope, Ledger: agent.NewLedger(agent.Spending{}), Transcript: filepath.Join(dir, "main.jsonl"), Prompt: prompt},
	}
	if change != nil {
		change(&o)
	}
	b.Spawner = NewSpawner(o)
	b.main = agent.NewContext(prompt(), b.scope)
	if b.log, err = transcript.Create(o.Main.Transcript, transcript.Header{Session: "s", Start: time.Now()}); err != nil {
		if b.log, _, err = transcript.Open(o.Main.Transcript); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(b.close)
	return b
}

func (b *bed) close() {
	if err := b.tasks.Close(context.Background()); err != nil {
		b.t.Error(err)
	}
	_ = b.log.Close()
}

func prompt() model.Prompt {
	return model.Prompt{System: []string{"You are main."}, Tools: []model.Tool{{Name: "Agent", Schema: json.RawMessage("{}")}}}
}

// choice is the same model each time: a history is encoded for one.
func (b *bed) choice() agent.Choice {
	return agent.Choice{Model: b.model, Info: model.Info{
		Provider: "p", ID: "one", Window: cmp.Or(b.window, 200_000), MaxOutput: 1000, Price: model.Price{Input: 10, Output: 50, CacheRead: 1},
	}}
}

// call lets the main agent call Agent so many times in one answer.
func (b *bed) call(times int, f func(ctx context.Context, c tool.Call)) {
	b.t.Helper()
	b.during = f
	names := make([]string, times)
	for i := range names {
		names[i] = "Agent"
	}
	n := 0
	main := &fake{counts: map[string]int{}, bodies: map[string][][]byte{}, reply: func(context.Context, int, *model.Request) (model.Response, error) {
		if n++; n == 1 {
			return uses(names...), nil
		}
		return says("done"), nil
	}}
	// The bytes are those of the agents' model, or nothing could be shared.
	c := b.choice()
	c.Model = both{b.model, main}
	cfg := agent.Config{Context: b.main, Tools: b.o.Tools(), Choose: func() agent.Choice { return c }, Ledger: b.o.Main.Ledger}
	for ev, err := range agent.Run(b.t.Context(), cfg, agent.Input{Content: message.FromUser("go").Content, Origin: agent.Human}) {
		if err != nil {
			b.t.Fatal(err)
		}
		if a, ok := ev.(agent.Added); ok {
			if err := b.log.Append(transcript.Message{Message: a.Message, Origin: string(a.Origin)}); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// both answers the main agent by its own script and all others as they are.
type both struct {
	*fake
	main *fake
}

func (m both) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	if r.Agent.ID == "" {
		return m.main.Stream(ctx, r)
	}
	return m.fake.Stream(ctx, r)
}

// spawn starts agents, one a call of the same answer, and returns their tasks.
func (b *bed) spawn(list ...Request) []*task.Task {
	b.t.Helper()
	tasks := make([]*task.Task, len(list))
	var mu sync.Mutex
	next := 0
	b.call(len(list), func(ctx context.Context, c tool.Call) {
		mu.Lock()
		i := next
		next++
		mu.Unlock()
		list[i].Background = true
		t, err := b.Spawn(ctx, c, list[i])
		if err != nil {
			b.t.Errorf("spawn %d: %v", i, err)
			return
		}
		tasks[i] = t
	})
	return tasks
}

// end waits for the end of a task.
func end(t *task.Task) (task.Snapshot, Detail) {
	<-t.Done()
	s := t.Snapshot()
	d, _ := s.Detail.(Detail)
	return s, d
}
