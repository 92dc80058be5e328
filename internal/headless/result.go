package headless

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/session"
	"heddle/internal/task"
)

// result is the last message of a turn.
type result struct {
	envelope
	IsError   bool                  `json:"is_error"`
	Result    string                `json:"result,omitempty"`
	Errors    []string              `json:"errors,omitempty"`
	Duration  int64                 `json:"duration_ms"`
	API       int64                 `json:"duration_api_ms"`
	Turns     int                   `json:"num_turns"`
	Stop      message.StopReason    `json:"stop_reason,omitempty"`
	Cost      float64               `json:"total_cost_usd"`
	Usage     apiUsage              `json:"usage"`
	ByModel   map[string]modelUsage `json:"modelUsage"`
	Denials   []denial              `json:"permission_denials"`
	Terminal  string                `json:"terminal_reason"`
	APIStatus int                   `json:"api_error_status,omitempty"`
	// Origin says who started the turn, if that was no person.
	Origin *originField `json:"origin,omitempty"`
	// Unfinished are the background tasks that end with the run.
	Unfinished []taskBrief `json:"unfinished_tasks,omitempty"`
}

// taskBrief names a task.
type taskBrief struct {
	ID          task.ID   `json:"task_id"`
	Kind        task.Kind `json:"task_type"`
	Description string    `json:"description"`
}

type modelUsage struct {
	Input      int     `json:"inputTokens"`
	Output     int     `json:"outputTokens"`
	CacheRead  int     `json:"cacheReadInputTokens"`
	CacheWrite int     `json:"cacheCreationInputTokens"`
	Searches   int     `json:"webSearchRequests"`
	Cost       float64 `json:"costUSD"`
	Window     int     `json:"contextWindow"`
	MaxOutput  int     `json:"maxOutputTokens"`
}

type denial struct {
	Tool  string          `json:"tool_name"`
	Use   string          `json:"tool_use_id"`
	Input json.RawMessage `json:"tool_input"`
}

// clock measures a turn.
type clock struct{ begin time.Time }

func newClock() clock { return clock{time.Now()} }

// result makes the result of a turn. A bad end is never an empty success.
func (d *driver) result(e agent.Ended, c clock) result {
	r := result{
		envelope: d.w.head("result", "success"),
		Duration: time.Since(c.begin).Milliseconds(), API: e.API.Milliseconds(), Turns: e.Turns,
		Usage: usageOf(e.Usage), ByModel: map[string]modelUsage{}, Denials: []denial{}, Stop: e.Stop,
	}
	tally := d.s.Tally()
	r.Cost = tally.USD
	for id, m := range tally.ByModel {
		u := usageOf(m.Usage)
		r.ByModel[id] = modelUsage{
			Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite,
			Cost: m.USD, Window: m.Info.Window, MaxOutput: m.Info.MaxOutput,
		}
	}
	for _, den := range e.Denials {
		r.Denials = append(r.Denials, denial{den.Use.Name, den.Use.ID, den.Use.Input})
	}
	r.conclude(e)
	return r
}

// conclude says how the turn ended.
func (r *result) conclude(e agent.Ended) {
	fail := func(subtype, terminal, text string) {
		r.Subtype, r.Terminal, r.IsError = subtype, terminal, true
		r.Errors = []string{text}
		r.Result = e.Text
	}
	const broken = "error_during_execution"
	switch e.Reason {
	case agent.Completed:
		r.Result, r.Terminal = e.Text, "completed"
		if e.Text == "" {
			fail(broken, "model_error", "the model ended its turn without any text")
		}
	case agent.MaxTurns:
		fail("error_max_turns", "max_turns", fmt.Sprintf("stopped at the limit of --max-turns, %d", e.Turns))
	case agent.MaxBudget:
		fail("error_max_budget_usd", "budget_exhausted", fmt.Sprintf("stopped at $%.4f, the limit of --max-budget-usd", r.Cost))
	case agent.Interrupted:
		fail(broken, "aborted_streaming", "interrupted")
	case agent.Refused:
		fail(broken, "model_error", e.Text)
		r.Result = ""
	case agent.Truncated:
		fail(broken, "model_error", "the answer was cut off by the limit on its length, and asking to go on did not help")
	case agent.ContextLimit:
		fail(broken, "prompt_too_long", "the context window is full, and compacting the conversation did not help")
	case agent.TooDenied:
		fail(broken, "blocking_limit", "stopped because permission was refused too often")
	case agent.Stopped:
		why := "hook_stopped"
		if _, ok := errors.AsType[*session.BadCommand](e.Err); ok {
			why = "invalid_command"
		}
		fail(broken, why, errorText(e.Err))
	default:
		fail(broken, "api_error", errorText(e.Err))
		var me *model.Error
		if errors.As(e.Err, &me) {
			r.APIStatus = me.Status
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return "the model stopped for a reason that heddle does not know"
	}
	return err.Error()
}
