package session

import (
	"log/slog"

	"heddle/internal/agent"
	"heddle/internal/model"
)

// explain writes an event to the log: what happened and how long it took, never
// what was said.
func explain(l *slog.Logger, ev agent.Event) {
	switch ev := ev.(type) {
	case agent.Requested:
		l.Info("request", "turn", ev.Turn)
	case agent.Added:
		if ev.Origin == agent.FromModel {
			l.Info("answer", "response", ev.ResponseID, "model", ev.Model, "stop", ev.Stop,
				"prompt", ev.Usage.Prompt(), "cached", ev.Usage.CacheRead, "output", ev.Usage.Output, "usd", ev.Cost)
		}
	case agent.Streamed:
		if r, ok := ev.Event.(model.Retrying); ok {
			l.Warn("request failed", "attempt", r.Attempt, "delay", r.Delay, "error", r.Err)
		}
	case agent.ToolEnded:
		l.Info("tool ended", "tool", ev.Use.Name, "id", ev.Use.ID, "duration", ev.Duration, "failed", ev.Result.IsError, "denied", ev.Result.Denied)
	case agent.Compacted:
		l.Info("compacted", "trigger", ev.Trigger, "before", ev.Before, "error", ev.Err)
	case agent.Dropped:
		l.Info("messages dropped", "kept", ev.Keep)
	case agent.Notice:
		l.Warn("notice", "text", ev.Text)
	case agent.Ended:
		l.Info("run ended", "reason", ev.Reason, "turns", ev.Turns, "api", ev.API, "error", ev.Err)
	}
}
