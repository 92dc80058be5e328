package main

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"strings"

	"heddle/internal/agent"
	"heddle/internal/mail"
	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/anthropic"
	"heddle/internal/model/fakeapi"
	"heddle/internal/model/scripted"
	"heddle/internal/permission"
	"heddle/internal/roster"
	"heddle/internal/task"
	"heddle/internal/task/subagent"
	"heddle/internal/tool"
)

// forked is how long the conversation is that is forked, in bytes.
const forked = 1_000_000

// wakes is how often a fork that is done is asked on.
const wakes = 3

const forkScript = `
agents:
  - main: true
    turns: [{calls: [{tool: Agent, input: {}}]}, {text: done}]
  - type: fork
    turns: [{text: done, repeat: forever}]
`

// cache measures what of a long conversation a provider reads from its cache when an agent
// forks from it, and each time when that is asked on. The server remembers prefixes as a
// real one does; the conversation and the agents run in this process.
func (b *bench) cache() ([]row, error) {
	script, err := scripted.Load("fork", []byte(forkScript))
	if err != nil {
		return nil, err
	}
	api := fakeapi.NewServer(script, nil)
	server := httptest.NewServer(api)
	defer server.Close()
	if err := b.forkAndWake(server.URL); err != nil {
		return nil, err
	}
	var shares []float64 // of the request before
	past := 0
	for _, r := range api.Requests() {
		c := r.Cache
		if r.Agent == roster.Fork {
			shares = append(shares, float64(c.Read)/float64(past))
		}
		if r.Agent == roster.Fork || past == 0 { // the main agent goes on by itself
			past = c.Read + c.Write + c.Write1h + c.Input
		}
	}
	if len(shares) != 1+wakes {
		return nil, fmt.Errorf("the fork asked %d times", len(shares))
	}
	var rows []row
	for i, share := range shares {
		what := "a fork of 1 MB: from the cache at its start"
		if i > 0 {
			what = fmt.Sprintf("  and when it is woken, %d.", i)
		}
		rows = append(rows, row{what, fmt.Sprintf("%.2f %%", 100*share), "99 %", 0.99 / share, 1})
	}
	return rows, nil
}

// forkAndWake lets a long conversation call an agent that is a fork of it, and wakes that.
func (b *bench) forkAndWake(url string) (err error) {
	dir := filepath.Join(b.dir, "fork")
	inbox := mail.NewQueue()
	office := mail.NewOffice(inbox)
	tasks, err := task.NewRuntime(task.Options{Dir: filepath.Join(dir, "tasks"), Notifier: office})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tasks.Close(context.Background())) }()
	choice := agent.Choice{
		Model: model.NewClient(anthropic.New(anthropic.Options{BaseURL: url, APIKey: "bench"}), nil, model.Policy{}),
		Info:  model.Info{Provider: "anthropic", ID: "bench", Window: 10_000_000, MaxOutput: 1000},
	}
	var spawner *subagent.Spawner
	var forks []*task.Task
	pool, err := tool.NewPool(tool.Tool{
		Name: "Agent", Description: "Starts an agent.", Schema: []byte(`{"type":"object"}`),
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			t, err := spawner.Spawn(ctx, c, subagent.Request{Agent: roster.Fork, Prompt: "Do your part."})
			if err != nil {
				return tool.Failf("%v", err)
			}
			t.Attach(ctx, 0)
			forks = append(forks, t)
			return tool.Text("done")
		},
	})
	if err != nil {
		return err
	}
	prompt := model.Prompt{System: []string{"You are measured."}, Tools: []model.Tool{{Name: "Agent", Description: "Starts an agent.", Schema: []byte(`{"type":"object"}`)}}}
	scope, ledger := tool.NewScope(dir, dir), agent.NewLedger(agent.Spending{})
	spawner = subagent.NewSpawner(subagent.Options{
		Tasks: tasks, Office: office, Roster: roster.Find(roster.Builtin()), Gate: permission.NewGate(permission.Settings{}, nil),
		Choose: func(string) (agent.Choice, error) { return choice, nil }, Tools: func() *tool.Pool { return pool },
		Main: subagent.Main{Scope: scope, Ledger: ledger},
	})
	main := agent.NewContext(prompt, scope)
	for range forked / 1000 { // no answers: the script counts those
		main.History.Append(message.FromUser(strings.Repeat("word ", 200)), agent.Human)
	}
	cfg := agent.Config{Context: main, Tools: pool, Choose: func() agent.Choice { return choice }, Ledger: ledger}
	var end agent.Ended
	for ev, err := range agent.Run(context.Background(), cfg, said("Go on.")) {
		if err != nil {
			return err
		}
		if e, ok := ev.(agent.Ended); ok {
			end = e
		}
	}
	if len(forks) != 1 {
		return fmt.Errorf("no fork was started (%s): %w", end.Reason, end.Err)
	}
	for range wakes {
		t, err := spawner.Resume(forks[0].ID, said("And now?"))
		if err != nil {
			return err
		}
		<-t.Done()
		if s := t.Snapshot(); s.Status != task.Completed {
			return fmt.Errorf("a fork that was woken is %s: %s", s.Status, s.Error)
		}
	}
	return nil
}

func said(text string) agent.Input {
	return agent.Input{Content: message.FromUser(text).Content, Origin: agent.FromAgent}
}
