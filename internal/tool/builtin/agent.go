package builtin

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"heddle/internal/message"
	"heddle/internal/task"
	"heddle/internal/task/subagent"
	"heddle/internal/tool"
)

//go:embed agent.md
var agentPrompt string

const agentSchema = `{"type":"object","properties":{` +
	`"description":{"type":"string","description":"The work in three to five words"},` +
	`"prompt":{"type":"string","description":"All that the agent has to know and do, and what it is to report"},` +
	`"subagent_type":{"type":"string","description":"Which agent; see the list"},` +
	`"model":{"type":"string","description":"Another model than that of the agent"},` +
	`"isolation":{"type":"string","enum":["worktree"],"description":"Let it work in a git checkout of its own"},` +
	`"base":{"type":"string","enum":["head","working"],"description":"What that checkout begins with: the last commit, or the files as they are"},` +
	`"run_in_background":{"type":"boolean","description":"Go on at once, and be told when it ends"}},` +
	`"required":["description","prompt"],"additionalProperties":false}`

// agentBudget is how long a call waits for an agent before that goes on in the background.
const agentBudget = 120 * time.Second

// AgentOptions say how agents are called.
type AgentOptions struct {
	Spawner *subagent.Spawner
	Tasks   *task.Runtime
	Listing string // of the agents that there are
	// Foreground says that nothing goes to the background.
	Foreground bool
}

// Agent returns the tool that hands a part of the work to another agent.
func Agent(o AgentOptions) tool.Tool {
	return tool.Tool{
		Name: "Agent", Description: strings.Replace(strings.TrimSpace(agentPrompt), "{{agents}}", strings.TrimSpace(o.Listing), 1),
		Schema: json.RawMessage(agentSchema), Parallel: true, Waits: true,
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decode[agentInput](c)
			switch {
			case err != nil:
				return failed(err)
			case strings.TrimSpace(in.Prompt) == "":
				return tool.Failf("Agent: prompt is missing. Call again and say what the agent is to do.")
			}
			return o.call(ctx, c, in)
		},
	}
}

type agentInput struct {
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Type        string `json:"subagent_type"`
	Model       string `json:"model"`
	Background  flag   `json:"run_in_background"`
	Isolation   string `json:"isolation"`
	Base        string `json:"base"`
}

func (o AgentOptions) call(ctx context.Context, c tool.Call, in agentInput) tool.Result {
	background := bool(in.Background) && !o.Foreground
	t, err := o.Spawner.Spawn(ctx, c, subagent.Request{
		Agent: in.Type, Description: in.Description, Prompt: in.Prompt, Model: in.Model, Background: background,
		Isolation: in.Isolation, Base: in.Base,
	})
	if err != nil {
		return tool.Failf("No agent was started: %v.", err)
	}
	if t.Snapshot().Backgrounded {
		return launched(t.Snapshot(), "The agent works in the background")
	}
	budget := agentBudget
	if o.Foreground {
		budget = 0
	}
	if t.Attach(ctx, budget) == task.Backgrounded {
		return launched(t.Snapshot(), "The agent is not done yet and goes on in the background")
	}
	return agentAnswer(t.Snapshot())
}

// agentData is the structured result, for programs that watch.
type agentData struct {
	Status     string  `json:"status"`
	AgentID    string  `json:"agentId"`
	Agent      string  `json:"agentType,omitempty"`
	Tokens     int     `json:"totalTokens,omitempty"`
	ToolUses   int     `json:"totalToolUseCount,omitempty"`
	DurationMS int64   `json:"totalDurationMs,omitempty"`
	CacheRead  int     `json:"cacheReadTokens,omitempty"`
	Saved      float64 `json:"savedUsd,omitempty"`
	OutputFile string  `json:"outputFile,omitempty"`
}

// launched is the result of a call whose agent goes on.
func launched(s task.Snapshot, how string) tool.Result {
	r := tool.Text(fmt.Sprintf("%s, as task %s. You will be told when it ends, with its answer: do something else meanwhile, or wait with TaskOutput. Do not do its work yourself.", how, s.ID))
	r.Data = agentData{Status: "async_launched", AgentID: string(s.ID), OutputFile: s.OutputFile}
	return r
}

// agentAnswer is the result of an agent that was waited for: its final text, or why there is
// none, with what there is.
func agentAnswer(s task.Snapshot) tool.Result {
	d, _ := s.Detail.(subagent.Detail)
	text := tool.Clip(d.Result, agentLimit)
	if len(d.Result) > agentLimit {
		text += fmt.Sprintf("\n[The answer has %d bytes and was shortened. All of it is in %s.]", len(d.Result), s.OutputFile)
	}
	r := tool.Text(text)
	if s.Status != task.Completed {
		why := cmp.Or(s.Error, string(s.Reason))
		r = tool.Failf("The agent (%s) did not finish: %s.%s", s.ID, strings.TrimSuffix(why, "."), saidLast(text))
	}
	for _, add := range beside(s, d) {
		r.Content = append(r.Content, message.Text{Text: add})
	}
	r.Data = agentData{Status: string(s.Status), AgentID: string(s.ID), Agent: d.Agent, Tokens: d.Tokens, ToolUses: d.ToolUses, DurationMS: d.DurationMS, CacheRead: d.CacheRead, Saved: d.Saved}
	return r
}

// saidLast is the last text of an agent that did not finish.
func saidLast(text string) string {
	if text == "" {
		return ""
	}
	return " What it said last:\n" + text
}

// beside is what there is to know of an agent that is done, beside its answer.
func beside(s task.Snapshot, d subagent.Detail) (list []string) {
	if d.Checkout != nil {
		list = append(list, "["+d.Checkout.Words()+"]")
	}
	if notes := d.AllNotes(); len(notes) > 0 {
		list = append(list, "["+strings.Join(notes, " ")+" Its output: "+s.OutputFile+"]")
	}
	return list
}

// agentLimit is how many bytes of an answer the caller reads.
const agentLimit = 32_000
