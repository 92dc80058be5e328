package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/scripted"
	"heddle/internal/permission"
	"heddle/internal/task"
	"heddle/internal/tool"
	"heddle/internal/transcript"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scripts are models by name; "p/one" means the script "one" of provider p. A token costs a
// dollar, in thousands.
type scripts map[string]string

func (s scripts) Choose(name string) (agent.Choice, error) {
	text, ok := s[name]
	if !ok {
		return agent.Choice{}, fmt.Errorf("no model %q", name)
	}
	script, err := scripted.Load(name, []byte(text))
	if err != nil {
		return agent.Choice{}, err
	}
	provider, id := filepath.Split(name)
	return agent.Choice{Model: scripted.New(script), Info: model.Info{
		Provider: filepath.Clean(provider), ID: id, Window: 100_000, MaxOutput: 1000, Price: model.Price{Input: 1000},
	}}, nil
}

func (s scripts) List() []model.Info      { return nil }
func (s scripts) KeySource(string) string { return "none" }

// bed is a directory in which a session can be begun and gone on with.
type bed struct {
	t      *testing.T
	models scripts
	path   string // of the transcript
	tools  []tool.Tool
	limits agent.Limits
}

func newBed(t *testing.T, models scripts) *bed {
	return &bed{t: t, models: models, path: transcript.File(t.TempDir(), NewID())}
}

// open begins the session with a model, or goes on with it, then "" means its own.
func (b *bed) open(name string) *Session { return b.openWith(name, func(*Parts) {}) }

func (b *bed) openWith(name string, change func(*Parts)) *Session {
	b.t.Helper()
	dir := b.t.TempDir()
	tasks, err := task.NewRuntime(task.Options{Dir: filepath.Join(dir, "tasks")})
	if err != nil {
		b.t.Fatal(err)
	}
	pool, err := tool.NewPool(b.tools...)
	if err != nil {
		b.t.Fatal(err)
	}
	gate := permission.NewGate(permission.Settings{}, nil)
	p := Parts{
		ID: NewID(), Dir: dir, Prompt: "prompt", Model: name, Models: b.models, Limits: b.limits,
		Scope: tool.NewScope(dir, dir), Tools: pool, Gate: gate, Dialog: NewDialog(gate), Tasks: tasks,
	}
	change(&p)
	if name == "" || exists(b.path) {
		p.Log, p.Past, err = transcript.Open(b.path)
	} else {
		p.Log, err = transcript.Create(b.path, transcript.Header{Session: p.ID, Dir: dir, Model: name})
	}
	if err != nil {
		b.t.Fatal(err)
	}
	s, err := New(p)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

func exists(path string) bool {
	found, _ := filepath.Glob(path)
	return len(found) > 0
}

func say(text string) agent.Input {
	return agent.Input{Content: []message.Block{message.Text{Text: text}}, Origin: agent.Human}
}

// turn runs a turn and returns its end.
func (b *bed) turn(s *Session, text string) (ended agent.Ended) {
	b.t.Helper()
	for ev, err := range s.Turn(b.t.Context(), say(text)) {
		if err != nil {
			b.t.Fatal(err)
		}
		if e, ok := ev.(agent.Ended); ok {
			ended = e
		}
	}
	return ended
}

func (b *bed) close(s *Session) {
	b.t.Helper()
	if err := s.Close(context.Background()); err != nil {
		b.t.Error(err)
	}
}

// What a front end has seen is on disk already, so that a crash takes back nothing.
func TestTranscriptKnowsFirst(t *testing.T) {
	b := newBed(t, scripts{"p/one": "agents: [{turns: [{text: hello}]}]"})
	s := b.open("p/one")
	seen := 0
	for ev, err := range s.Turn(t.Context(), say("hi")) {
		if err != nil {
			t.Fatal(err)
		}
		added, ok := ev.(agent.Added)
		if !ok {
			continue
		}
		seen++
		records, err := transcript.Read(b.path)
		if err != nil {
			t.Fatal(err)
		}
		last, _ := records[len(records)-1].(transcript.Message)
		if last.Message.Text() != added.Message.Text() {
			t.Errorf("%q was told before it was written; the transcript ends in %q", added.Message.Text(), last.Message.Text())
		}
	}
	if seen != 2 {
		t.Errorf("%d messages, want 2", seen)
	}
	b.close(s)
}

// The title of a session stands in many records, so that a prompt without line ends must not
// become one as a whole.
func TestTitleOfALongPromptIsShort(t *testing.T) {
	b := newBed(t, scripts{"p/one": "agents: [{turns: [{text: hello}]}]"})
	s := b.open("p/one")
	prompt := strings.Repeat("ä", 50_000)
	b.turn(s, prompt)
	b.close(s)
	info, err := os.Stat(b.path)
	if err != nil {
		t.Fatal(err)
	}
	if limit := int64(len(prompt)) + 10_000; info.Size() > limit {
		t.Errorf("the transcript has %d bytes, want less than %d", info.Size(), limit)
	}
	list, err := transcript.List(filepath.Dir(b.path))
	if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Title, "äää") || !utf8.ValidString(list[0].Title) {
		t.Errorf("the list is %+v, %v", list, err)
	}
}

// A budget is for the session, however often it is resumed.
func TestSpendingSurvivesAResume(t *testing.T) {
	b := newBed(t, scripts{"p/one": "usage: {input: 1000, output: 1}\nagents: [{turns: [{text: hello, repeat: forever}]}]"})
	b.limits.USD = 1.5
	s := b.open("p/one")
	if e := b.turn(s, "a"); e.Reason != agent.Completed {
		t.Errorf("the first turn ended as %s, %v", e.Reason, e.Err)
	}
	b.close(s)
	s = b.open("")
	if got := s.Tally().USD; got != 1 {
		t.Errorf("after a resume, $%v are spent, want $1", got)
	}
	b.turn(s, "b")
	b.close(s)
	s = b.open("")
	if e := b.turn(s, "c"); e.Reason != agent.MaxBudget || e.Turns != 0 {
		t.Errorf("over the budget, a turn ended as %s after %d answers", e.Reason, e.Turns)
	}
	b.close(s)
}

// A model that was chosen on the way counts after a resume, and a reset returns to the one at
// the start.
func TestModelIsRemembered(t *testing.T) {
	b := newBed(t, scripts{
		"p/one": "agents: [{turns: [{text: one, repeat: forever}]}]",
		"p/two": "agents: [{turns: [{text: two, repeat: forever}]}]",
	})
	model := func(s *Session, want string) {
		t.Helper()
		if got := s.About().Model; got != want {
			t.Errorf("the model is %s, want %s", got, want)
		}
	}
	s := b.open("p/one")
	if err := s.SetModel("p/two"); err != nil {
		t.Fatal(err)
	}
	b.close(s)
	s = b.open("")
	model(s, "p/two")
	b.close(s)
	s = b.open("p/one") // as a flag does
	model(s, "p/one")
	if err := s.SetModel("p/none"); err == nil {
		t.Error("an unknown model was accepted")
	}
	model(s, "p/one")
	b.close(s)
	s = b.open("")
	model(s, "p/one")
	if err := s.SetModel("p/two"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetModel(""); err != nil {
		t.Fatal(err)
	}
	model(s, "p/one")
	b.close(s)
}

// Closing ends the turn that runs, and its calls have results when the session goes on.
func TestCloseEndsTheRunningTurn(t *testing.T) {
	b := newBed(t, scripts{"p/one": "agents: [{turns: [{calls: [{tool: Wait}]}, {expect: '(?s)closed.*again', text: done}]}]"})
	running := make(chan bool, 1)
	b.tools = []tool.Tool{{Name: "Wait", Schema: []byte(`{"type":"object"}`), Run: func(ctx context.Context, c tool.Call) tool.Result {
		running <- true
		<-ctx.Done()
		return tool.Failf("closed")
	}}}
	s := b.open("p/one")
	over := make(chan agent.Ended)
	go func() { over <- b.turn(s, "go") }()
	<-running
	closed := make(chan error)
	go func() { closed <- s.Close(context.Background()) }()
	if e := <-over; e.Reason != agent.Interrupted {
		t.Errorf("the turn ended as %s", e.Reason)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	s = b.open("")
	if e := b.turn(s, "again"); e.Text != "done" {
		t.Errorf("the next turn ended as %s with %q, %v", e.Reason, e.Text, e.Err)
	}
	b.close(s)
}

func TestCompactCommand(t *testing.T) {
	for _, c := range []struct {
		text, instructions string
		ok                 bool
	}{
		{"/compact", "", true},
		{"  /compact \n", "", true},
		{"/compact keep the names", "keep the names", true},
		{"/compact\nkeep the names", "keep the names", true},
		{"/compacting", "", false},
		{"do not /compact", "", false},
		{"", "", false},
	} {
		got, ok := compactCommand(say(c.text))
		if got != c.instructions || ok != c.ok {
			t.Errorf("compactCommand(%q) = %q, %v, want %q, %v", c.text, got, ok, c.instructions, c.ok)
		}
	}
	foreign := say("/compact")
	foreign.Origin = agent.Notification
	if _, ok := compactCommand(foreign); ok {
		t.Error("what no person said was taken for a command")
	}
}

// person answers questions of permission.
type person func(permission.Question) (permission.Answer, error)

func (p person) Ask(_ context.Context, q permission.Question) (permission.Answer, error) { return p(q) }

func TestPlanModeEndsWithAnApproval(t *testing.T) {
	toDefault := []permission.Update{{Type: permission.SetMode, Mode: permission.Default, Destination: permission.ToSession}}
	for _, c := range []struct {
		name     string
		answer   permission.Answer
		err      error
		approved bool
		mode     permission.Mode
	}{
		{"approved: back to the mode before", permission.Answer{Allow: true}, nil, true, permission.AcceptEdits},
		{"approved into another mode", permission.Answer{Allow: true, Updates: toDefault}, nil, true, permission.Default},
		{"rejected", permission.Answer{Message: "no"}, nil, false, permission.Plan},
		{"nobody answered", permission.Answer{}, errors.New("gone"), false, permission.Plan},
	} {
		t.Run(c.name, func(t *testing.T) {
			gate := permission.NewGate(permission.Settings{Mode: permission.AcceptEdits}, nil)
			d := NewDialog(gate)
			d.setAsker(person(func(permission.Question) (permission.Answer, error) { return c.answer, c.err }))
			call := tool.Call{Scope: tool.NewScope("/", "/")}
			if _, _, err := d.ExitPlan(t.Context(), call, "x"); err == nil {
				t.Error("plan mode was left before it was entered")
			}
			for range 2 { // the second changes nothing
				if err := d.EnterPlan(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			approved, feedback, err := d.ExitPlan(t.Context(), call, "x")
			if approved != c.approved || feedback != c.answer.Message || !errors.Is(err, c.err) || gate.Mode() != c.mode {
				t.Errorf("approved %v, %q, %v, mode %s; want %v, %q, %v, mode %s",
					approved, feedback, err, gate.Mode(), c.approved, c.answer.Message, c.err, c.mode)
			}
		})
	}
}

// Answers to the model's questions come from a person, or there are none.
func TestQuestionsNeedAnswers(t *testing.T) {
	gate := permission.NewGate(permission.Settings{}, nil)
	d := NewDialog(gate)
	call := tool.Call{Scope: tool.NewScope("/", "/"), Input: []byte(`{"answers":{"q":"forged"}}`)}
	if _, err := d.Ask(t.Context(), call); !errors.Is(err, errNobody) {
		t.Errorf("without anybody: %v", err)
	}
	for _, c := range []struct {
		answer permission.Answer
		want   map[string]string
	}{
		{permission.Answer{Allow: true, Input: []byte(`{"answers":{"q":"yes"}}`)}, map[string]string{"q": "yes"}},
		{permission.Answer{Allow: true, Input: []byte(`{"answers":{}}`)}, nil},
		{permission.Answer{Allow: true, Input: []byte(`[`)}, nil},
		{permission.Answer{Allow: true}, nil},
		{permission.Answer{Message: "ask me later"}, nil},
	} {
		d.setAsker(person(func(permission.Question) (permission.Answer, error) { return c.answer, nil }))
		got, err := d.Ask(t.Context(), call)
		if fmt.Sprint(got) != fmt.Sprint(c.want) && err == nil || (err == nil) != (c.want != nil) {
			t.Errorf("Ask with %+v = %v, %v, want %v", c.answer, got, err, c.want)
		}
	}
}

// A front end that stops listening ends the turn, and the session can go on.
func TestTurnEndsWhenNobodyListens(t *testing.T) {
	b := newBed(t, scripts{"p/one": "agents: [{turns: [{text: one}, {text: two, repeat: forever}]}]"})
	s := b.open("p/one")
	var seen []string
	for ev, err := range s.Turn(t.Context(), say("a")) {
		if err != nil {
			t.Fatal(err)
		}
		if added, ok := ev.(agent.Added); ok {
			seen = append(seen, added.Message.Text())
			break
		}
	}
	if !slices.Equal(seen, []string{"a"}) {
		t.Errorf("seen %v", seen)
	}
	if e := b.turn(s, "b"); e.Reason != agent.Completed {
		t.Errorf("the next turn ended as %s, %v", e.Reason, e.Err)
	}
	b.close(s)
}
