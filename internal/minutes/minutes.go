// Package minutes says what of a run of an agent belongs into a transcript, and brings a
// conversation back from there.
package minutes

import (
	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/transcript"
)

// Of returns the record of an event; ok is false for one that leaves none.
func Of(ev agent.Event) (r transcript.Record, ok bool) {
	switch ev := ev.(type) {
	case agent.Added:
		return transcript.Message{
			Message: ev.Message, Origin: string(ev.Origin), InputID: ev.InputID, ResponseID: ev.ResponseID,
			Model: ev.Model, Stop: ev.Stop, Usage: ev.Usage, Cost: ev.Cost,
		}, true
	case agent.ToolEnded:
		return transcript.Result{Result: message.ToolResult{
			ToolUseID: ev.Use.ID, Content: ev.Result.Content, IsError: ev.Result.IsError,
		}}, true
	case agent.Compacted:
		return transcript.Compaction{Trigger: string(ev.Trigger), Before: ev.Before, Messages: ev.Messages, Cost: ev.Cost}, ev.Err == nil
	case agent.Dropped:
		return transcript.Rewind{Keep: ev.Keep}, true
	}
	return nil, false
}

// Recall puts messages of a transcript into c, which knows nothing yet.
func Recall(c *agent.Context, messages []transcript.Message) {
	for _, m := range messages {
		origin := agent.Origin(m.Origin)
		if origin == "" {
			origin = agent.FromTools
		}
		if m.Message.Role == message.Assistant && m.Model != "" {
			if c.LastModel != "" && c.LastModel != m.Model {
				c.History.DropThinking() // as it was when the model changed
			}
			c.LastModel = m.Model
		}
		c.History.Append(m.Message, origin)
	}
}

// Repair writes what a crash left open, as it was decided.
func Repair(w *transcript.Writer, repairs []transcript.Record) {
	for _, r := range repairs {
		if m, ok := r.(transcript.Message); ok && m.Origin == "" {
			m.Origin = string(agent.System)
			r = m
		}
		// A record that cannot be written now is written later; the repair holds anyway.
		_ = w.Append(r)
	}
}
