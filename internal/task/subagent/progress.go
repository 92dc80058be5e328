package subagent

import (
	"encoding/json"
	"fmt"
	"time"

	"heddle/internal/agent"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// Detail is what a task of this kind has to say: how far the agent is, and at the end what
// it answers.
type Detail struct {
	Agent    string `json:"agent_type"`
	Model    string `json:"model"`
	ToolUses int    `json:"tool_uses"`
	// Tokens are those of the newest prompt and of all answers.
	Tokens     int        `json:"total_tokens"`
	USD        float64    `json:"cost_usd"`
	DurationMS int64      `json:"duration_ms,omitempty"` // at the end
	Activities []Activity `json:"activities,omitempty"`  // the last five, the oldest first
	Result     string     `json:"result,omitempty"`      // its final text, or what there was of it
	Unknown    []string   `json:"unknown_tools,omitempty"`
	Checkout   *Checkout  `json:"worktree,omitempty"`
}

// Activity is something that the agent did.
type Activity struct {
	Tool  string `json:"tool"`
	Input string `json:"input"` // shortened
}

// Kind is the kind of these tasks.
func (Detail) Kind() task.Kind { return task.LocalAgent }

// Tell is what the owner is told beside the end itself.
func (d Detail) Tell() []task.Element {
	var list []task.Element
	if d.Result != "" {
		list = append(list, task.Element{Name: "result", Text: tool.Clip(d.Result, maxResult)})
	}
	if c := d.Checkout; c != nil {
		list = append(list, task.Element{Name: "worktree", Text: c.Words()})
	}
	return append(list, task.Element{Name: "usage", Inner: []task.Element{
		{Name: "total_tokens", Text: fmt.Sprint(d.Tokens)}, {Name: "tool_uses", Text: fmt.Sprint(d.ToolUses)}, {Name: "duration_ms", Text: fmt.Sprint(d.DurationMS)},
	}})
}

// maxResult is how many bytes of an answer the owner is shown; all of it is in the output.
const maxResult = 32_000

// maxActivities is how many activities are kept.
const maxActivities = 5

// progress is the detail in the making. It belongs to the goroutine of the run.
type progress struct{ d Detail }

func (p *progress) begin(n *run, t *task.Task) {
	p.d = Detail{Agent: n.def.Name, Model: n.choice.Info.ID, Unknown: n.unknown}
	t.Record(p.d)
}

// event counts what happens.
func (p *progress) event(n *run, t *task.Task, ev agent.Event) {
	switch ev := ev.(type) {
	case agent.ToolBegan:
		p.d.ToolUses++
		list := append(p.d.Activities[:len(p.d.Activities):len(p.d.Activities)], Activity{ev.Use.Name, short(ev.Use.Input)})
		p.d.Activities = list[max(0, len(list)-maxActivities):]
	case agent.Added:
		if ev.Origin != agent.FromModel {
			return
		}
		p.d.Tokens = n.context.Tally.Prompt + n.context.Tally.Output - ev.Usage.Output
		p.d.USD = n.ledger.Spent().USD
	default:
		return
	}
	d := p.d
	t.Update(func(s *task.Snapshot) { s.Detail = d })
}

// end keeps what the agent answers.
func (p *progress) end(n *run, t *task.Task, end agent.Ended) {
	p.d.Result, p.d.DurationMS, p.d.USD = end.Text, time.Since(n.started).Milliseconds(), n.ledger.Spent().USD
	d := p.d
	t.Update(func(s *task.Snapshot) { s.Detail = d })
}

func short(input json.RawMessage) string { return tool.Clip(string(input), 200) }
