package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/tool"
)

// fake is a model whose answers are given by a function of the request's number,
// from 1. It keeps every request's bytes.
type fake struct {
	answer func(n int, ctx context.Context) (model.Response, error)

	mu       sync.Mutex
	requests []*model.Request
	bodies   [][]byte
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
		f.requests = append(f.requests, r)
		f.bodies = append(f.bodies, append(bytes.Clone(r.Prefix), bytes.Join(r.Messages, []byte{','})...))
		n := len(f.requests)
		f.mu.Unlock()
		resp, err := f.answer(n, ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		if t := resp.Message.Text(); t != "" && !yield(model.TextDelta{Text: t}, nil) {
			return
		}
		if resp.Usage == (message.Usage{}) {
			resp.Usage = message.Usage{Input: 100, Output: 10}
		}
		yield(resp, nil)
	}
}

// answers gives one answer after the other, and fails after the last.
func answers(rs ...model.Response) *fake {
	return &fake{answer: func(n int, _ context.Context) (model.Response, error) {
		if n > len(rs) {
			return model.Response{}, fmt.Errorf("request %d was not expected", n)
		}
		return rs[n-1], nil
	}}
}

func says(text string) model.Response {
	return model.Response{Stop: message.EndTurn, Message: message.Message{Role: message.Assistant, Content: []message.Block{message.Text{Text: text}}}}
}

func calls(uses ...message.ToolUse) model.Response {
	m := message.Message{Role: message.Assistant}
	for _, u := range uses {
		m.Content = append(m.Content, u)
	}
	return model.Response{Stop: message.StopToolUse, Message: m}
}

func use(id, name string) message.ToolUse {
	return message.ToolUse{ID: id, Name: name, Input: json.RawMessage("{}")}
}

// bed is an agent with a fake model, ready to run.
type bed struct {
	Config
	model *fake
	info  model.Info
}

func newBed(t *testing.T, f *fake, tools ...tool.Tool) *bed {
	t.Helper()
	pool, err := tool.NewPool(tools...)
	if err != nil {
		t.Fatal(err)
	}
	b := &bed{model: f, info: model.Info{ID: "m1", Window: 200_000, MaxOutput: 64_000, Price: model.Price{Input: 1, Output: 10}}}
	b.Config = Config{
		Context: NewContext(model.Prompt{System: []string{"sys"}}, tool.NewScope(t.TempDir(), t.TempDir())),
		Tools:   pool,
		Choose:  func() Choice { return Choice{Model: f, Info: b.info} },
	}
	return b
}

func human(text string) Input {
	return Input{Content: []message.Block{message.Text{Text: text}}, Origin: Human}
}

// run runs to the end, checks what holds of every run, and returns the events.
func (b *bed) run(t *testing.T, ctx context.Context, in ...Input) ([]Event, Ended) {
	t.Helper()
	var events []Event
	for ev, err := range Run(ctx, b.Config, in...) {
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
	}
	checkPairs(t, b.Context.History)
	end, ok := events[len(events)-1].(Ended)
	if !ok {
		t.Fatalf("last event = %T, want Ended", events[len(events)-1])
	}
	return events, end
}

// checkPairs fails unless an API would take the history: it begins with a user, and each
// call has one result in the next message, in order, before anything else.
func checkPairs(t *testing.T, h *History) {
	t.Helper()
	var open []string
	for i := range h.Len() {
		m, _ := h.Message(i)
		if i == 0 && m.Role != message.User {
			t.Error("the history does not begin with a user")
		}
		for j, b := range m.Content {
			switch b := b.(type) {
			case message.ToolResult:
				if j >= len(open) || open[j] != b.ToolUseID {
					t.Errorf("message %d: result of %s at %d, want %v", i, b.ToolUseID, j, open)
				}
			default:
				if j < len(open) {
					t.Errorf("message %d: %T before the results of %v", i, b, open[j:])
				}
			}
		}
		if len(open) > len(m.Content) {
			t.Errorf("message %d: only %d results of %v", i, len(m.Content), open)
		}
		open = nil
		for _, u := range m.ToolUses() {
			open = append(open, u.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("calls without result: %v", open)
	}
}

func results(t *testing.T, m message.Message) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, b := range m.Content {
		if r, ok := b.(message.ToolResult); ok {
			out[r.ToolUseID] = message.Message{Content: r.Content}.Text()
		}
	}
	return out
}

func echo(name string) tool.Tool {
	return tool.Tool{Name: name, Run: func(_ context.Context, c tool.Call) tool.Result { return tool.Text("ran " + c.ID) }}
}

func TestRunEndsWithTheAnswer(t *testing.T) {
	b := newBed(t, answers(says("hello")))
	_, end := b.run(t, t.Context(), human("hi"))
	if end.Reason != Completed || end.Text != "hello" || !end.Final || end.Turns != 1 {
		t.Errorf("end = %+v", end)
	}
}

func TestEveryRequestBeginsWithTheOneBefore(t *testing.T) {
	var rs []model.Response
	for i := range 20 {
		rs = append(rs, calls(message.ToolUse{ID: fmt.Sprint("t", i), Name: "Echo", Input: json.RawMessage(`{"z":1.50,"a":"\u00e9"}`)}))
	}
	f := answers(append(rs, says("done"), says("again"))...)
	b := newBed(t, f, echo("Echo"))
	b.run(t, t.Context(), human("go"))
	b.run(t, t.Context(), human("more"))
	for i := 1; i < len(f.bodies); i++ {
		if !bytes.HasPrefix(f.bodies[i], f.bodies[i-1]) {
			t.Fatalf("request %d does not begin with request %d", i+1, i)
		}
	}
}

func TestParallelCallsKeepTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		slow := func(name string, parallel bool) tool.Tool {
			return tool.Tool{Name: name, Parallel: parallel, Run: func(_ context.Context, c tool.Call) tool.Result {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Duration(10-len(c.ID)) * time.Second)
				mu.Lock()
				running--
				mu.Unlock()
				return tool.Text(c.ID)
			}}
		}
		f := answers(calls(use("a", "Read"), use("bb", "Read"), use("ccc", "Write"), use("dddd", "Write"), use("eeeee", "Read")), says("ok"))
		b := newBed(t, f, slow("Read", true), slow("Write", false))
		start := time.Now()
		b.run(t, t.Context(), human("go"))
		if most != 2 {
			t.Errorf("%d calls ran at once, want 2", most)
		}
		if d, want := time.Since(start), (9+7+6+5)*time.Second; d != want {
			t.Errorf("took %v, want %v", d, want)
		}
		m, _ := b.Context.History.Message(2)
		if got := fmt.Sprint(m.Content); got != "[{a [{a}] false} {bb [{bb}] false} {ccc [{ccc}] false} {dddd [{dddd}] false} {eeeee [{eeeee}] false}]" {
			t.Errorf("results = %v", got)
		}
	})
}

// An interrupt while one of several calls runs leaves a history that the API takes.
func TestInterruptedCallsHaveResults(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	wait := tool.Tool{Name: "Wait", Run: func(ctx context.Context, c tool.Call) tool.Result {
		cancel()
		<-ctx.Done()
		return tool.Failf("Interrupted.")
	}}
	f := answers(calls(use("t1", "Echo"), use("t2", "Wait"), use("t3", "Echo")), says("went on"))
	b := newBed(t, f, echo("Echo"), wait)
	_, end := b.run(t, ctx, human("go"))
	if end.Reason != Interrupted {
		t.Errorf("reason = %s, want interrupted", end.Reason)
	}
	m, _ := b.Context.History.Message(2)
	got := results(t, m)
	if got["t1"] != "ran t1" || !strings.Contains(got["t2"], "Interrupted") || !strings.Contains(got["t3"], "Interrupted") {
		t.Errorf("results = %v", got)
	}
	if _, end = b.run(t, t.Context(), human("go on")); end.Text != "went on" {
		t.Errorf("end = %+v", end)
	}
}

func TestLeavingTheRangeEndsTheRun(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	wait := tool.Tool{Name: "Wait", Parallel: true, Run: func(ctx context.Context, c tool.Call) tool.Result {
		close(started)
		<-ctx.Done()
		close(ended)
		return tool.Failf("Interrupted.")
	}}
	other := echo("Echo")
	other.Parallel = true
	b := newBed(t, answers(calls(use("t1", "Wait"), use("t2", "Echo"))), wait, other)
	for ev := range Run(t.Context(), b.Config, human("go")) {
		if began, ok := ev.(ToolBegan); ok && began.Use.ID == "t2" {
			<-started
			break
		}
	}
	select {
	case <-ended:
	default:
		t.Error("a call still runs")
	}
	checkPairs(t, b.Context.History)
}

func TestMalformedInputDoesNotRun(t *testing.T) {
	input, ok := message.CleanInput([]byte(`{"command":"rm -rf /`))
	if ok {
		t.Fatal("cut JSON counts as input")
	}
	bad := message.ToolUse{ID: "t1", Name: "Boom", Input: input, Malformed: true}
	boom := tool.Tool{Name: "Boom", Run: func(context.Context, tool.Call) tool.Result { t.Error("ran"); return tool.Result{} }}
	b := newBed(t, answers(calls(bad), says("ok")), boom)
	_, end := b.run(t, t.Context(), human("go"))
	m, _ := b.Context.History.Message(2)
	if got := results(t, m)["t1"]; end.Text != "ok" || !strings.Contains(got, "not a JSON object") {
		t.Errorf("result = %q, end = %+v", got, end)
	}
}

func TestPanicInAToolIsAResult(t *testing.T) {
	boom := tool.Tool{Name: "Boom", Parallel: true, Run: func(context.Context, tool.Call) tool.Result { panic("bug") }}
	b := newBed(t, answers(calls(use("t1", "Boom"), use("t2", "Nope")), says("ok")), boom)
	b.run(t, t.Context(), human("go"))
	m, _ := b.Context.History.Message(2)
	got := results(t, m)
	if !strings.Contains(got["t1"], "bug") || !strings.Contains(got["t2"], `no tool named "Nope"`) {
		t.Errorf("results = %v", got)
	}
}

func TestCutCallIsMadeAgainWithMoreRoom(t *testing.T) {
	cut := model.Response{Stop: message.MaxTokens, Message: message.Message{Role: message.Assistant, Content: []message.Block{message.Text{Text: "writing"}}}, Partial: &message.ToolUse{Name: "Write"}}
	f := answers(cut, calls(use("t1", "Echo")), cut, cut, says("smaller"))
	b := newBed(t, f, echo("Echo"))
	_, end := b.run(t, t.Context(), human("go"))
	var limits []int
	for _, r := range f.requests {
		limits = append(limits, r.MaxTokens)
	}
	if got := fmt.Sprint(limits); got != "[32000 64000 32000 64000 32000]" {
		t.Errorf("limits = %v", got)
	}
	if end.Text != "smaller" {
		t.Errorf("end = %+v", end)
	}
	last := f.bodies[len(f.bodies)-1]
	if !bytes.Contains(last, []byte("smaller pieces")) {
		t.Error("the model was not told to write in smaller pieces")
	}
	if n := bytes.Count(last, []byte(`"writing"`)); n != 1 {
		t.Errorf("the text of a cut answer stands %d times in the history, want once", n)
	}
}

func TestStopReasons(t *testing.T) {
	with := func(r model.Response, s message.StopReason) model.Response { r.Stop = s; return r }
	empty := model.Response{Stop: message.EndTurn, Message: message.Message{Role: message.Assistant}}
	for _, c := range []struct {
		name     string
		answers  []model.Response
		reason   Reason
		text     string
		requests int
	}{
		{"pause", []model.Response{with(says("searching"), message.PauseTurn), says("found")}, Completed, "found", 2},
		{"cut text", []model.Response{with(says("one"), message.MaxTokens), says("two")}, Completed, "onetwo", 2},
		{"always cut", []model.Response{with(says("a"), message.MaxTokens), with(says("b"), message.MaxTokens), with(says("c"), message.MaxTokens), with(says("d"), message.MaxTokens)}, Truncated, "abcd", 4},
		{"empty once", []model.Response{empty, says("x")}, Completed, "x", 2},
		{"always empty", []model.Response{empty, empty}, Completed, "", 2},
		{"stop with calls", []model.Response{with(calls(use("t", "Echo")), message.EndTurn), says("x")}, Completed, "x", 2},
		{"stop sequence", []model.Response{with(says("x"), message.StopSequence)}, Completed, "x", 1},
		{"unknown", []model.Response{with(says("x"), "new_reason")}, Failed, "x", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := answers(c.answers...)
			b := newBed(t, f, echo("Echo"))
			_, end := b.run(t, t.Context(), human("go"))
			if end.Reason != c.reason || end.Text != c.text || len(f.requests) != c.requests {
				t.Errorf("end = %s %q after %d requests, want %s %q after %d", end.Reason, end.Text, len(f.requests), c.reason, c.text, c.requests)
			}
		})
	}
}

func TestRefusedTurnLeavesTheHistory(t *testing.T) {
	refusal := model.Response{Stop: message.Refusal, Refusal: &model.RefusalDetails{Category: "cyber"}, Message: says("partial").Message}
	f := answers(says("hello"), calls(use("t", "Echo")), refusal, says("fine"))
	b := newBed(t, f, echo("Echo"))
	b.run(t, t.Context(), human("hi"))
	events, end := b.run(t, t.Context(), human("bad"))
	if end.Reason != Refused || !strings.Contains(end.Text, "cyber") {
		t.Errorf("end = %+v", end)
	}
	if d, ok := events[len(events)-2].(Dropped); !ok || d.Keep != 2 {
		t.Errorf("event before the end = %+v, want Dropped to 2", events[len(events)-2])
	}
	if _, end = b.run(t, t.Context(), human("good")); end.Text != "fine" {
		t.Errorf("end = %+v", end)
	}
	if last := f.bodies[len(f.bodies)-1]; bytes.Contains(last, []byte(`"bad"`)) || bytes.Contains(last, []byte("partial")) {
		t.Error("the refused turn was sent again")
	}
}

func TestLimits(t *testing.T) {
	f := &fake{answer: func(n int, _ context.Context) (model.Response, error) {
		return calls(use(fmt.Sprint(n), "Echo")), nil
	}}
	b := newBed(t, f, echo("Echo"))
	b.Limits.Turns = 3
	if _, end := b.run(t, t.Context(), human("go")); end.Reason != MaxTurns || end.Turns != 3 {
		t.Errorf("end = %+v", end)
	}
	b.Limits = Limits{USD: 0.001} // 200 millionths of a dollar a request
	if _, end := b.run(t, t.Context(), human("go")); end.Reason != MaxBudget || end.Turns != 2 {
		t.Errorf("end = %+v, spent %v", end, b.Context.Tally.USD)
	}
}

func TestTokensAreCounted(t *testing.T) {
	one, two := calls(use("t", "Echo")), says("x")
	one.Usage = message.Usage{Input: 10, CacheRead: 100, CacheWrite: 5, Output: 7}
	two.Usage = message.Usage{Input: 20, CacheRead: 115, Output: 3}
	b := newBed(t, answers(one, two), echo("Echo"))
	_, end := b.run(t, t.Context(), human("go"))
	if b.Context.Tally.Prompt != 138 || b.Context.Tally.Output != 10 {
		t.Errorf("tally = %+v, want the newest prompt with its answer (138) and all output (10)", b.Context.Tally)
	}
	if end.Usage.CacheRead != 215 || end.Usage.Output != 10 {
		t.Errorf("usage = %+v", end.Usage)
	}
}

func TestFailureOfTheModelIsTold(t *testing.T) {
	broken := &model.Error{Provider: "fake", Class: model.Overloaded, Status: 529}
	b := newBed(t, &fake{answer: func(int, context.Context) (model.Response, error) { return model.Response{}, broken }})
	_, end := b.run(t, t.Context(), human("go"))
	if end.Reason != Failed || !errors.Is(end.Err, broken) {
		t.Errorf("end = %+v", end)
	}
}

type mailbag struct{ rounds [][]Input }

func (m *mailbag) Take(bool) []Input {
	if len(m.rounds) == 0 {
		return nil
	}
	in := m.rounds[0]
	m.rounds = m.rounds[1:]
	return in
}

func TestMailIsReadBetweenRequests(t *testing.T) {
	f := answers(calls(use("t", "Echo")), says("one"), says("two"))
	b := newBed(t, f, echo("Echo"))
	news := func(s string) []Input {
		return []Input{{Content: []message.Block{message.Text{Text: s}}, Origin: Notification}}
	}
	b.Inbox = &mailbag{[][]Input{news("first"), news("second"), nil}}
	_, end := b.run(t, t.Context(), human("go"))
	if end.Text != "two" || end.Turns != 3 {
		t.Errorf("end = %+v", end)
	}
	var origins []string
	for i := range b.Context.History.Len() {
		_, o := b.Context.History.Message(i)
		origins = append(origins, string(o))
	}
	if got := strings.Join(origins, " "); got != "human model tools task-notification model task-notification model" {
		t.Errorf("history = %s", got)
	}
}

func TestAnotherModelDoesNotGetForeignReasoning(t *testing.T) {
	thinking := says("hm")
	thinking.Message.Content = append([]message.Block{message.Thinking{Text: "secret", Signature: "s"}}, thinking.Message.Content...)
	f := answers(thinking, says("same"), says("other"))
	b := newBed(t, f)
	b.run(t, t.Context(), human("a"))
	b.run(t, t.Context(), human("b"))
	b.info.ID = "m2"
	b.run(t, t.Context(), human("c"))
	if !bytes.Contains(f.bodies[1], []byte("secret")) || bytes.Contains(f.bodies[2], []byte("secret")) {
		t.Error("reasoning must go back to its own model, and to no other")
	}
}

// Servers that count calls from zero in each answer must not make a history that
// others refuse.
func TestCallsHaveIDsOfTheirOwn(t *testing.T) {
	b := newBed(t, answers(calls(use("call_0", "Echo"), use("call_0", "Echo")), calls(use("call_0", "Echo"), use("", "Echo")), says("ok")), echo("Echo"))
	b.run(t, t.Context(), human("go"))
	var ids []string
	for i := range b.Context.History.Len() {
		m, _ := b.Context.History.Message(i)
		for _, u := range m.ToolUses() {
			ids = append(ids, u.ID)
		}
	}
	if got := fmt.Sprint(ids); got != "[call_0 call_0_2 call_0_3 _2]" {
		t.Errorf("ids = %s", got)
	}
}
