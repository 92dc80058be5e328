package subagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/permission"
	"heddle/internal/task"
)

// verdict puts the answer into the detail, and says how the task ended.
func (n *run) verdict(ctx context.Context, t *task.Task, end agent.Ended) error {
	n.settle(ctx, t)
	n.progress.end(n, t, end)
	if err := n.progress.wrote; err != nil {
		return &task.EndError{Reason: task.ReasonNoSpace, Err: fmt.Errorf("keep the answer: %w", err)}
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return n.failure(end)
}

// failure says what was wrong with an end; nil: nothing.
func (n *run) failure(end agent.Ended) error {
	switch end.Reason {
	case agent.Completed:
		if strings.TrimSpace(end.Text) == "" || !end.Final {
			return errors.New("it ended without an answer")
		}
		return nil
	case agent.MaxTurns:
		return fmt.Errorf("it stopped at its limit of %d turns, before it was done", n.budget.Turns)
	case agent.MaxBudget:
		return errors.New("it stopped because the budget is used up, before it was done")
	case agent.Truncated:
		return errors.New("its answer was cut off by the limit on the length of answers")
	case agent.ContextLimit:
		return errors.New("its context window is full, and compacting it did not help")
	case agent.Refused:
		return errors.New("the model declined to answer")
	case agent.TooDenied:
		return errors.New("permission was refused to it too often")
	}
	if end.Err != nil {
		return fmt.Errorf("it could not go on: %w", end.Err)
	}
	return fmt.Errorf("it ended early (%s)", end.Reason)
}

// outcome is what whoever sent the agent is told of its work: its final text, and if there
// is none what it did last.
func (p *progress) outcome(end agent.Ended) string {
	if end.Text != "" || len(p.d.Activities) == 0 {
		return end.Text
	}
	var did []string
	for _, a := range p.d.Activities {
		did = append(did, a.Words)
	}
	return "(It said nothing. It did last: " + strings.Join(did, "; ") + ".)"
}

// denial is a refusal as the conversation reports its own.
func denial(d permission.Denial) agent.Denial {
	return agent.Denial{Use: message.ToolUse{ID: d.ID, Name: d.Tool, Input: d.Input}, Message: d.Reason}
}

// since is for how long the agent has run.
func (n *run) since() int64 { return time.Since(n.started).Milliseconds() }
