package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"heddle/internal/agent"
	"heddle/internal/mail"
	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/scripted"
	"heddle/internal/permission"
	"heddle/internal/session"
	"heddle/internal/task"
	"heddle/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script is a model that plays it, under any name but "none".
type script string

func (s script) Choose(name string) (agent.Choice, error) {
	if name == "none" {
		return agent.Choice{}, errors.New("there is no model none")
	}
	played, err := scripted.Load("script", []byte(s))
	if err != nil {
		return agent.Choice{}, err
	}
	return agent.Choice{Model: scripted.New(played), Info: model.Info{Provider: "scripted", ID: name, Window: 100_000, MaxOutput: 1000}}, nil
}

func (s script) List() []model.Info      { return []model.Info{{Provider: "p", ID: "m", Window: 5}} }
func (s script) KeySource(string) string { return "none" }

// sitting is a session without a transcript and with a tool Touch, which asks.
func sitting(t testing.TB, s script) *session.Session {
	t.Helper()
	sess, _ := sittingWithTasks(t, s, task.Options{})
	return sess
}

// sittingWithTasks is a sitting whose tasks are to be seen.
func sittingWithTasks(t testing.TB, s script, o task.Options) (*session.Session, *task.Runtime) {
	t.Helper()
	return sittingLate(t, s, o, nil)
}

// sittingLate is a sitting whose tools come with gather.
func sittingLate(t testing.TB, s script, o task.Options, gather func(context.Context) *tool.Pool) (*session.Session, *task.Runtime) {
	t.Helper()
	gate := permission.NewGate(permission.Settings{}, nil)
	pool, err := tool.NewPool(tool.Tool{
		Name: "Touch", Schema: json.RawMessage(`{"type":"object"}`),
		Effects: func(tool.Call) ([]tool.Effect, error) {
			return []tool.Effect{{Action: tool.Run, Target: "touch x"}}, nil
		},
		Run: func(context.Context, tool.Call) tool.Result { return tool.Text("touched") },
	})
	if err != nil {
		t.Fatal(err)
	}
	inbox := mail.NewQueue()
	o.Dir, o.Notifier = t.TempDir(), inbox
	tasks, err := task.NewRuntime(o)
	if err != nil {
		t.Fatal(err)
	}
	sess, err := session.New(session.Parts{
		Tasks: tasks, Inbox: inbox,
		ID: session.NewID(), Dir: "/", Prompt: "prompt", Model: "m", Models: s, Scope: tool.NewScope("/", "/"),
		Tools: pool.Wrap(gate.Middleware), Gather: gather, Gate: gate, Dialog: session.NewDialog(gate),
	})
	if err != nil {
		t.Fatal(err)
	}
	return sess, tasks
}

// lines decodes what was printed.
func lines(t testing.TB, out []byte) (all []map[string]any) {
	t.Helper()
	for line := range bytes.Lines(out) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all = append(all, m)
	}
	return all
}

const forever script = "agents: [{turns: [{text: fine, repeat: forever}]}]"

// Whatever comes on standard input, each line of output is a JSON object, every request is
// answered once, and the run ends when the input does.
func FuzzInput(f *testing.F) {
	for _, line := range []string{
		`{"type":"user","message":{"role":"user","content":"hi"}}`,
		`{"type":"user","shouldQuery":false,"message":{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"x"}]}}`,
		`{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}}`,
		`{"type":"user","message":null}`,
		`{"type":"user","uuid":7}`,
		`{"type":"control_request","request_id":"a","request":{"subtype":"initialize","hooks":null}}`,
		`{"type":"control_request","request_id":"b","request":{"subtype":"set_model","model":"none"}}`,
		`{"type":"control_request","request_id":"c","request":{"subtype":"set_permission_mode","mode":"plan"}}`,
		`{"type":"control_request","request_id":"d","request":{"subtype":"interrupt","cancel_queued":true}}`,
		`{"type":"control_request","request_id":"e","request":null}`,
		`{"type":"control_request","request_id":"f","request":{"subtype":"stop_task","task_id":"b0"}}`,
		`{"type":"control_request","request_id":"g","request":{"subtype":"stop_task"}}`,
		`{"type":"control_request","request_id":"h","request":{"subtype":"move_to_background"}}`,
		`{"type":"control_request","request_id":"i","request":{"subtype":"move_to_background","task_id":[]}}`,
		`{"type":"control_request"}`,
		`{"type":"control_response","response":{"subtype":"success","request_id":"x"}}`,
		`{"type":"control_response","response":[]}`,
		`{"type":"keep_alive"}`, `null`, `[]`, `"`, "\xff\x00", "\r", "{}\n\n{}",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, input string) {
		var out bytes.Buffer
		s := sitting(t, forever)
		err := RunStream(t.Context(), s, strings.NewReader(input+"\n"), true, Options{Format: Stream, Replay: true, Partial: true, Out: &out, Err: io.Discard})
		if err != nil && !errors.Is(err, ErrFailed) {
			t.Fatalf("RunStream: %v", err)
		}
		asked := 0
		for line := range strings.Lines(input) {
			var m inputMessage
			if json.Unmarshal([]byte(strings.TrimSpace(line)), &m) == nil && m.Type == "control_request" {
				asked++
			}
		}
		answered := 0
		for _, m := range lines(t, out.Bytes()) {
			if m["type"] == "control_response" {
				answered++
			}
		}
		if asked != answered {
			t.Errorf("%d requests and %d answers:\n%s", asked, answered, out.String())
		}
	})
}

// A line that is longer than any message ends the input: what follows in it cannot be trusted.
// It is told, and what came before is done.
func TestEndlessLineIsTold(t *testing.T) {
	var out bytes.Buffer
	in := io.MultiReader(
		strings.NewReader(`{"type":"user","message":{"role":"user","content":"hi"}}`+"\n"),
		io.LimitReader(endless(strings.Repeat("x", 1<<20)), maxLine+1),
	)
	if err := RunStream(t.Context(), sitting(t, forever), in, false, Options{Format: Stream, Out: &out, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	all := lines(t, out.Bytes())
	last := all[len(all)-1]
	if last["subtype"] != "informational" || !strings.Contains(fmt.Sprint(last["content"]), "too long") || !strings.Contains(out.String(), `"result":"fine"`) {
		t.Errorf("output:\n%s", out.String())
	}
}

// endless is a piece of text that is read again and again.
type endless string

func (e endless) Read(p []byte) (int, error) { return copy(p, e), nil }

// full is a reader's end that takes n writes and is gone then.
type full struct{ n int }

var errGone = errors.New("broken pipe")

func (f *full) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errGone
	}
	return len(p), nil
}

// Wherever the reader leaves, the run ends with its error.
func TestReaderLeavesAtAnyMoment(t *testing.T) {
	const calls script = "agents: [{turns: [{calls: [{tool: Touch}]}, {calls: [{tool: Touch}]}, {text: fine}]}]"
	for _, format := range []Format{Text, JSON, Stream} {
		whole := 0
		for n := 0; ; n++ {
			w := &full{n}
			err := Run(t.Context(), sitting(t, calls), "go", Options{Format: format, Out: w, Err: io.Discard})
			if err == nil {
				whole = n
				break
			}
			if !errors.Is(err, errGone) || n > 50 {
				t.Fatalf("%s, after %d writes: %v", format, n, err)
			}
		}
		if whole == 0 {
			t.Errorf("%s: nothing was written", format)
		}
	}
}

// How a run ended decides what its result says, and a bad end is never an empty success.
func TestResultSaysHowItEnded(t *testing.T) {
	overloaded := &model.Error{Provider: "p", Class: model.Overloaded, Status: 529, Message: "busy"}
	for _, c := range []struct {
		ended            agent.Ended
		subtype, because string
		result, errors   string
		status           int
	}{
		{agent.Ended{Reason: agent.Completed, Text: "done"}, "success", "completed", "done", "", 0},
		{agent.Ended{Reason: agent.Completed}, "error_during_execution", "model_error", "", "without any text", 0},
		{agent.Ended{Reason: agent.MaxTurns, Text: "so far", Turns: 3}, "error_max_turns", "max_turns", "so far", "--max-turns, 3", 0},
		{agent.Ended{Reason: agent.MaxBudget}, "error_max_budget_usd", "budget_exhausted", "", "--max-budget-usd", 0},
		{agent.Ended{Reason: agent.Interrupted, Text: "so far"}, "error_during_execution", "aborted_streaming", "so far", "interrupted", 0},
		{agent.Ended{Reason: agent.Refused, Text: "declined"}, "error_during_execution", "model_error", "", "declined", 0},
		{agent.Ended{Reason: agent.Truncated}, "error_during_execution", "model_error", "", "cut off", 0},
		{agent.Ended{Reason: agent.ContextLimit}, "error_during_execution", "prompt_too_long", "", "full", 0},
		{agent.Ended{Reason: agent.TooDenied}, "error_during_execution", "blocking_limit", "", "refused", 0},
		{agent.Ended{Reason: agent.Failed, Err: overloaded}, "error_during_execution", "api_error", "", "busy", 529},
		{agent.Ended{Reason: agent.Failed}, "error_during_execution", "api_error", "", "does not know", 0},
	} {
		d := newDriver(sitting(t, forever), Options{Out: io.Discard})
		r := d.result(c.ended, newClock())
		if r.Subtype != c.subtype || r.Terminal != c.because || r.Result != c.result || r.APIStatus != c.status ||
			r.IsError != (c.subtype != "success") || !strings.Contains(strings.Join(r.Errors, " "), c.errors) {
			t.Errorf("result(%+v) = %+v", c.ended, r)
		}
	}
}

// The failures of models have the names by which readers know them.
func TestErrorNames(t *testing.T) {
	for class, want := range map[model.Class]string{
		model.RateLimited: "rate_limit", model.Overloaded: "overloaded", model.QuotaExceeded: "billing_error",
		model.BadCredential: "authentication_failed", model.UnknownModel: "model_not_found",
		model.ContextFull: "invalid_request", model.Cut: "server_error", model.Silent: "server_error",
	} {
		if got := errorName(fmt.Errorf("ask: %w", &model.Error{Class: class})); got != want {
			t.Errorf("errorName(%v) = %s, want %s", class, got, want)
		}
	}
	if got := errorName(errors.New("other")); got != "unknown" {
		t.Errorf("errorName(other) = %s", got)
	}
}

// What a host adds to the conversation keeps its id and its origin.
func TestUserInput(t *testing.T) {
	q := userInput(inputMessage{
		UUID: "id", Synthetic: true,
		Message: json.RawMessage(`{"role":"user","content":[{"type":"text","text":""},{"type":"text","text":"x"}]}`),
	})
	want := []message.Block{message.Text{Text: "x"}}
	if q.bad != nil || q.input.ID != "id" || q.input.Origin != agent.System || !slices.Equal(q.input.Content, want) {
		t.Errorf("userInput = %+v", q)
	}
}
