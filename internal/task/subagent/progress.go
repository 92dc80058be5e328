package subagent

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"heddle/internal/agent"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// Detail is what a task of this kind has to say: how far the agent is, and at the end what
// it answers. It holds all that is needed to go on with the agent after a restart.
type Detail struct {
	Agent    string `json:"agent_type"`
	Model    string `json:"model"`
	Provider string `json:"provider,omitempty"`
	Effort   string `json:"effort,omitempty"`
	Depth    int    `json:"depth,omitempty"`
	Isolated bool   `json:"isolated,omitempty"` // it has a checkout of its own

	ToolUses int `json:"tool_uses"`
	// Tokens are those of the newest prompt and of all answers.
	Tokens int     `json:"total_tokens"`
	USD    float64 `json:"cost_usd"`
	// CacheRead are the tokens that the provider did not have to read anew, and Saved what
	// that saved, in US dollars.
	CacheRead  int        `json:"cache_read_tokens,omitempty"`
	Saved      float64    `json:"saved_usd,omitempty"`
	DurationMS int64      `json:"duration_ms,omitempty"`   // at the end
	Doing      string     `json:"summary,omitempty"`       // one line: what it does now
	Activities []Activity `json:"activities,omitempty"`    // the last five, the oldest first
	Result     string     `json:"result,omitempty"`        // its final text, or what there was of it
	Earlier    int        `json:"earlier_bytes,omitempty"` // of texts before that one; they are in the output
	Unknown    []string   `json:"unknown_tools,omitempty"`
	Notes      []string   `json:"notes,omitempty"` // what it had to do without
	Checkout   *Checkout  `json:"worktree,omitempty"`
}

// Activity is something that the agent did.
type Activity = tool.Activity

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
	if notes := d.AllNotes(); len(notes) > 0 {
		list = append(list, task.Element{Name: "notes", Text: strings.Join(notes, "\n")})
	}
	number := func(name string, n any) task.Element { return task.Element{Name: name, Text: fmt.Sprint(n)} }
	usage := []task.Element{number("total_tokens", d.Tokens), number("tool_uses", d.ToolUses), number("duration_ms", d.DurationMS)}
	if d.Agent == "fork" && d.CacheRead > 0 {
		usage = append(usage, number("cache_read_tokens", d.CacheRead), number("saved_usd", fmt.Sprintf("%.4f", d.Saved)))
	}
	return append(list, task.Element{Name: "usage", Inner: usage})
}

// AllNotes are what whoever sent the agent should know, beside its answer.
func (d Detail) AllNotes() []string {
	notes := slices.Clone(d.Notes)
	if d.Earlier > len(d.Result) && d.Result != "" {
		notes = append(notes, "It said more before this, which is in its output.")
	}
	if len(d.Unknown) > 0 {
		notes = append(notes, "Its definition names tools that there are not: "+strings.Join(d.Unknown, ", ")+".")
	}
	return notes
}

// Look is how far the agent is, in a line of at most 400 bytes.
func (d Detail) Look() string {
	text := fmt.Sprintf("%d tool uses, %d tokens", d.ToolUses, d.Tokens)
	if d.Doing != "" {
		text += "; it does: " + tool.Clip(d.Doing, 300)
	}
	return text
}

// maxResult is how many bytes of an answer the owner is shown; all of it is in the output.
const maxResult = 32_000

// maxActivities is how many activities are kept.
const maxActivities = 5

// progress is the detail in the making. It belongs to the goroutine of the run.
type progress struct {
	d     Detail
	paid  float64 // in attempts before this one
	last  string  // text that went into the output
	wrote error   // what came of that
}

func (p *progress) begin(n *run, t *task.Task) {
	p.paid = p.d.USD
	p.d.Result, p.d.Earlier, p.d.Checkout, p.d.Doing, p.d.Notes = "", 0, nil, "", nil
	p.last, p.wrote = "", nil
	p.d.Agent, p.d.Model, p.d.Provider, p.d.Effort = n.def.Name, n.choice.Info.ID, n.choice.Info.Provider, n.choice.Effort
	p.d.Depth, p.d.Isolated, p.d.Unknown = n.depth, n.isolated, n.unknown
	t.Record(p.d)
}

// event counts what happens.
func (p *progress) event(n *run, t *task.Task, ev agent.Event) {
	switch ev := ev.(type) {
	case agent.ToolBegan:
		p.d.ToolUses++
		a := tool.ActivityOf(ev.Use.Name, ev.Use.Input, n.scope.Root)
		list := append(p.d.Activities[:len(p.d.Activities):len(p.d.Activities)], a)
		p.d.Activities, p.d.Doing = list[max(0, len(list)-maxActivities):], a.Words
	case agent.Added:
		if ev.Origin != agent.FromModel {
			return
		}
		p.say(t, ev.Message.Text())
		p.d.Tokens = n.context.Tally.Prompt + n.context.Tally.Output - ev.Usage.Output
		p.d.CacheRead += ev.Usage.CacheRead
		p.d.Saved += n.choice.Info.Saved(ev.Usage)
		p.d.USD = p.paid + n.ledger.Spent().USD
	case agent.Compacting:
		p.d.Doing = "Compacting its conversation"
	default:
		return
	}
	p.show(t)
}

// say puts what the agent says into the output, where it can be read as it comes.
func (p *progress) say(t *task.Task, text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	p.d.Earlier += len(p.last)
	p.last = text
	if _, err := io.WriteString(t.Output, text+"\n"); err != nil && p.wrote == nil {
		p.wrote = err
	}
}

// show makes the detail as it is now that of the task.
func (p *progress) show(t *task.Task) {
	d := p.d
	t.Update(func(s *task.Snapshot) { s.Detail = d })
}

// end keeps what the agent answers.
func (p *progress) end(n *run, t *task.Task, end agent.Ended) {
	if p.last == "" || !strings.HasSuffix(end.Text, p.last) { // what was put together of several stands there
		p.say(t, end.Text)
	}
	p.d.Result, p.d.DurationMS, p.d.USD = p.outcome(end), n.since(), p.paid+n.ledger.Spent().USD
	p.d.Doing, p.d.Notes = "", n.notes
	p.show(t)
}

// noted is the detail with one more note.
func (p *progress) noted(text string) Detail {
	p.d.Notes = append(slices.Clone(p.d.Notes), text)
	return p.d
}
