// Package minutes says what of a run of an agent belongs into a transcript.
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
