package subagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/permission"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// Every way in which an agent can end has its status and says why.
func TestEnds(t *testing.T) {
	overloaded := &model.Error{Class: model.Overloaded, Message: "overloaded"}
	for _, test := range []struct {
		name   string
		agent  string
		reply  reply
		status task.Status
		err    string // in the error
		result string
	}{
		{"answer", "plain", func(context.Context, int, *model.Request) (model.Response, error) { return says("42"), nil }, task.Completed, "", "42"},
		{"empty", "plain", func(context.Context, int, *model.Request) (model.Response, error) {
			return model.Response{Stop: message.EndTurn}, nil
		}, task.Failed, "without an answer", ""},
		{"empty after work", "plain", func(_ context.Context, n int, _ *model.Request) (model.Response, error) {
			if n == 1 {
				return uses("Monitor"), nil
			}
			return model.Response{Stop: message.EndTurn}, nil
		}, task.Failed, "without an answer", "It did last: Running"},
		{"refusal", "plain", func(context.Context, int, *model.Request) (model.Response, error) {
			return model.Response{Stop: message.Refusal}, nil
		}, task.Failed, "declined", "declined"},
		{"overload", "plain", func(context.Context, int, *model.Request) (model.Response, error) {
			return model.Response{}, overloaded
		}, task.Failed, "overloaded", ""},
		{"cut", "plain", func(context.Context, int, *model.Request) (model.Response, error) {
			return model.Response{}, errors.New("unexpected EOF")
		}, task.Failed, "unexpected EOF", ""},
		{"turns", "short", func(context.Context, int, *model.Request) (model.Response, error) {
			return uses("Monitor"), nil
		}, task.Failed, "limit of 3 turns", "Running"},
		{"overflow", "plain", func(context.Context, int, *model.Request) (model.Response, error) {
			return model.Response{}, &model.Error{Class: model.ContextFull, Message: "too long"}
		}, task.Failed, "context window is full", ""},
		{"panic", "plain", func(context.Context, int, *model.Request) (model.Response, error) { panic("boom") }, task.Failed, "boom", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, t.TempDir(), test.reply, nil)
			s, d := end(b.spawn(Request{Agent: test.agent, Prompt: "work"})[0])
			if s.Status != test.status || !strings.Contains(s.Error, test.err) || !strings.Contains(d.Result, test.result) {
				t.Errorf("ended as %s, %q, with %q; want %s, %q, %q", s.Status, s.Error, d.Result, test.status, test.err, test.result)
			}
			if test.status == task.Completed && (d.DurationMS < 0 || d.Tokens == 0 || s.Error != "") {
				t.Errorf("the detail is %+v", d)
			}
			if len(b.running) > 0 {
				t.Error("it is still counted as running")
			}
		})
	}
}

// An agent is told of the end of its budget before that comes, once, and what came before
// is not lost.
func TestBudgets(t *testing.T) {
	for _, test := range []struct {
		name string
		each Budget
		err  string
	}{
		{"turns", Budget{Turns: 10}, "limit of 10 turns"},
		{"tokens", Budget{Spending: agent.Spending{Tokens: 1100}}, "budget is used up"},
		{"money", Budget{Spending: agent.Spending{USD: 0.015}}, "budget is used up"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, t.TempDir(), func(_ context.Context, n int, _ *model.Request) (model.Response, error) {
				r := uses("Monitor")
				r.Message.Content = append([]message.Block{message.Text{Text: fmt.Sprint("found ", n)}}, r.Message.Content...)
				return r, nil
			}, func(o *Options) { o.Limits.Each = test.each })
			tk := b.spawn(Request{Agent: "plain", Prompt: "work"})[0]
			s, d := end(tk)
			if s.Status != task.Failed || !strings.Contains(s.Error, test.err) || !strings.HasPrefix(d.Result, "found") {
				t.Errorf("%s, %q, %q", s.Status, s.Error, d.Result)
			}
			said := b.model.said(tk.ID)
			last := said[len(said)-1]
			if n := strings.Count(string(last), "Wind up"); n != 1 || strings.Contains(string(said[len(said)/2]), "Wind up") {
				t.Errorf("it was told %d times to wind up, want once and near the end: %s", n, last)
			}
		})
	}
}

// The budget of whoever sent an agent holds for it.
func TestBudgetsNarrow(t *testing.T) {
	b := newBed(t, t.TempDir(), func(context.Context, int, *model.Request) (model.Response, error) { return uses("Monitor"), nil }, func(o *Options) {
		o.Main.Ledger = agent.NewLedger(agent.Spending{Tokens: 1000})
		o.Limits.Each.Tokens = 1_000_000
	})
	s, _ := end(b.spawn(Request{Agent: "plain", Prompt: "work"})[0])
	if !strings.Contains(s.Error, "budget is used up") {
		t.Errorf("%s: %s", s.Status, s.Error)
	}
}

// Silence of the model ends an agent, that of a tool does not, and neither outlives the
// time that it may take.
func TestSignsOfLife(t *testing.T) {
	wait := func(d time.Duration) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			select {
			case <-time.After(d):
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	for _, test := range []struct {
		name        string
		model, tool time.Duration
		most        time.Duration
		status      task.Status
		after       time.Duration
	}{
		{"a tool that is silent for long", time.Minute, 5 * time.Hour, 0, task.Completed, 5*time.Hour + 2*time.Minute},
		{"a model that is silent", time.Hour, 0, 0, task.Killed, 10 * time.Minute},
		{"a time limit", time.Minute, 5 * time.Hour, time.Hour, task.Killed, time.Hour},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := newBed(t, dir, func(ctx context.Context, n int, _ *model.Request) (model.Response, error) {
					if err := wait(test.model)(ctx); err != nil {
						return model.Response{}, err
					}
					if n == 1 {
						return uses("Monitor"), nil
					}
					return says("done"), nil
				}, func(o *Options) { o.Limits.Each.Time = test.most })
				b.tool = func(ctx context.Context, _ tool.Call) tool.Result {
					_ = wait(test.tool)(ctx)
					return tool.Text("worked")
				}
				began := time.Now()
				s, _ := end(b.spawn(Request{Agent: "plain", Prompt: "work"})[0])
				if s.Status != test.status || time.Since(began) != test.after {
					t.Errorf("%s after %v (%s), want %s after %v", s.Status, time.Since(began), s.Error, test.status, test.after)
				}
				if s.Status == task.Killed && s.Reason != task.ReasonTimeout {
					t.Errorf("the reason is %q", s.Reason)
				}
			})
		})
	}
}

// No more agents run at once than may, however many are started at the same moment.
func TestLimitHoldsForBursts(t *testing.T) {
	release := make(chan struct{})
	b := newBed(t, t.TempDir(), func(ctx context.Context, _ int, _ *model.Request) (model.Response, error) {
		<-release
		return says("done"), nil
	}, func(o *Options) { o.Limits.Running = 3 })
	var mu sync.Mutex
	var started []*task.Task
	var refused []error
	b.call(12, func(ctx context.Context, c tool.Call) {
		t, err := b.Spawn(ctx, c, Request{Agent: "plain", Prompt: "work", Background: true})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			refused = append(refused, err)
		} else {
			started = append(started, t)
		}
	})
	if len(started) != 3 || len(refused) != 9 || !strings.Contains(refused[0].Error(), "3 agents run already") {
		t.Fatalf("%d started, %d refused: %v", len(started), len(refused), refused)
	}
	close(release)
	for _, tk := range started {
		end(tk)
	}
	if s, _ := end(b.spawn(Request{Agent: "plain", Prompt: "work"})[0]); s.Status != task.Completed {
		t.Error("there is no room again when agents have ended")
	}
}

// An agent has the mode of its definition, what is refused to it is told once, and nothing
// of it stays at the gate.
func TestModeAndDenials(t *testing.T) {
	b := newBed(t, t.TempDir(), func(_ context.Context, n int, _ *model.Request) (model.Response, error) {
		if n == 1 {
			return uses("Monitor"), nil
		}
		return says("done"), nil
	}, nil)
	b.tool = func(ctx context.Context, c tool.Call) tool.Result {
		t := tool.Tool{Name: "Write", Effects: func(tool.Call) ([]tool.Effect, error) {
			return []tool.Effect{{Action: tool.Write, Target: "x"}}, nil
		}}
		return b.o.Gate.Middleware(t, func(context.Context, tool.Call) tool.Result { return tool.Text("written") })(ctx, c)
	}
	tk := b.spawn(Request{Agent: "careful", Prompt: "work"})[0]
	end(tk)
	if got := b.TakeDenied(); len(got) != 1 || got[0].Use.Name != "Monitor" || len(b.TakeDenied()) != 0 {
		t.Errorf("refused: %+v", got)
	}
	if got := string(b.model.said(tk.ID)[1]); !strings.Contains(got, "plan mode is on") {
		t.Errorf("it was told %s", got)
	}
	if b.o.Gate.ModeOf(string(tk.ID)) != permission.Default || len(b.o.Gate.Denied(string(tk.ID))) > 0 {
		t.Error("something of it stayed at the gate")
	}
}

// What people settled for all agents beats definitions and calls.
func TestPolicy(t *testing.T) {
	var asked []string
	b := newBed(t, t.TempDir(), func(_ context.Context, _ int, r *model.Request) (model.Response, error) { return says("done"), nil }, func(o *Options) {
		choose := o.Choose
		o.Choose = func(name string) (agent.Choice, error) { asked = append(asked, name); return choose(name) }
		o.Policy = Policy{Models: map[string]string{"plain": "forced", "*": "usual"}, Disallowed: []string{"Monitor"}}
	})
	for _, name := range []string{"plain", "short", "fork"} {
		tk := b.spawn(Request{Agent: name, Prompt: "work", Model: "wanted"})[0]
		end(tk)
		var p model.Prompt
		_ = json.Unmarshal(b.model.said(tk.ID)[0], &p)
		if strings.Contains(string(b.model.said(tk.ID)[0]), `"Name":"Monitor"`) {
			t.Errorf("%s has the tool that is forbidden to all", name)
		}
	}
	if strings.Join(asked, " ") != "forced usual" {
		t.Errorf("the models were %v", asked)
	}
}

// When an agent ends, so does what it has started, at any depth.
func TestEndsCascade(t *testing.T) {
	hold := make(chan struct{})
	b := newBed(t, t.TempDir(), func(ctx context.Context, n int, _ *model.Request) (model.Response, error) {
		if n == 1 {
			return uses("Agent"), nil
		}
		select {
		case <-ctx.Done():
			return model.Response{}, context.Cause(ctx)
		case <-hold:
			return says("done"), nil
		}
	}, func(o *Options) { o.Limits.Depth = 3 })
	var mu sync.Mutex
	var all []*task.Task
	deep := make(chan struct{})
	b.call(1, func(ctx context.Context, c tool.Call) {
		t, err := b.Spawn(ctx, c, Request{Agent: "plain", Prompt: "work", Background: true})
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			b.t.Error(err)
			return
		}
		if all = append(all, t); len(all) == 3 {
			close(deep) // it has no tool to go deeper
		}
	})
	<-deep
	if err := b.tasks.Kill(all[0].ID, task.ErrKilled); err != nil {
		t.Fatal(err)
	}
	for i, tk := range all {
		s, _ := end(tk)
		want := task.ReasonOwnerEnded
		if i == 0 {
			want = task.ReasonStoppedByUser
		}
		if s.Status != task.Killed || s.Reason != want {
			t.Errorf("agent %d: %s, %s, want killed, %s", i, s.Status, s.Reason, want)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.prune() // one that was ended before it ran is found when room is needed
	if len(all) != 3 || len(b.running) != 0 {
		t.Errorf("%d agents, %d of them still count as running", len(all), len(b.running))
	}
}
