package agent

import (
	"context"
	"fmt"

	"heddle/internal/message"
	"heddle/internal/model"
)

// How often in a row a model is asked to go on after an answer that was cut, and
// after an empty one: what gave nothing twice will not give more.
const (
	cutNudges   = 3
	emptyNudges = 1
)

// answered handles an answer by why it stopped. Tool calls that are complete
// decide before the stop reason does: providers have called a stop what was a call.
func (r *run) answered(ctx context.Context, resp model.Response) (step, Reason) {
	usd := r.count(resp)
	if resp.Stop == message.Refusal {
		return r.refused(resp)
	}
	if resp.Partial != nil && r.maxTokens == 0 && r.choice.Info.MaxOutput > usualOutput && resp.Stop == message.MaxTokens {
		// The call did not fit. Nothing of this answer is kept.
		r.maxTokens = r.choice.Info.MaxOutput
		return goOn, ""
	}
	r.maxTokens = 0
	resp.Message = r.Context.History.withOwnIDs(resp.Message)
	r.keep(resp, usd)
	if uses := resp.Message.ToolUses(); len(uses) > 0 {
		r.nudges = 0
		return r.runTools(ctx, uses, resp.Partial)
	}
	switch resp.Stop {
	case message.EndTurn, message.StopSequence, message.StopToolUse:
		if len(resp.Message.Content) == 0 && r.text == "" {
			return r.nudge(emptyNudges, "Your last answer was empty. Go on, or say that you are done.", Completed)
		}
		return stopUnlessMail, Completed
	case message.PauseTurn:
		return goOn, "" // the provider goes on from what it said
	case message.MaxTokens:
		if resp.Partial != nil {
			return r.nudge(cutNudges, cutCall(resp.Partial), Truncated)
		}
		r.begun = r.text
		return r.nudge(cutNudges, "Your answer was cut off by the limit on its length. Go on exactly where it stopped.", Truncated)
	case message.ContextExceeded:
		if !r.compact(ctx, Automatic, "") {
			return stop, r.stuck(ctx)
		}
		return r.nudge(cutNudges, "Your answer was cut off because the context window was full. Go on.", ContextLimit)
	}
	return stop, Failed
}

func cutCall(u *message.ToolUse) string {
	return fmt.Sprintf("Your call of %s was cut off by the limit on the length of an answer and did not run. Do it in smaller pieces.", u.Name)
}

// keep appends an answer to the history. One without content cannot be sent
// back and is left out.
func (r *run) keep(resp model.Response, usd float64) {
	r.compacted = false
	t := resp.Message.Text()
	if r.final = t != ""; r.final {
		r.text = r.begun + t
	}
	r.begun = ""
	if len(resp.Message.Content) > 0 {
		r.add(Added{
			Message: resp.Message, Origin: FromModel, ResponseID: resp.ID, Model: r.choice.Info.ID,
			Stop: resp.Stop, Usage: resp.Usage, Cost: usd,
		})
	}
	r.Context.LastModel = r.choice.Info.ID
	r.measured = r.Context.History.Len()
}

// nudge asks the model to go on, unless it was asked too often.
func (r *run) nudge(most int, text string, otherwise Reason) (step, Reason) {
	if r.nudges++; r.nudges > most {
		return stop, otherwise
	}
	r.add(Added{Message: message.FromUser(text), Origin: System})
	return goOn, ""
}

// refused handles an answer that the provider declined to give. What it said and
// the input that it declined leave the history, or the conversation would stay
// refused.
func (r *run) refused(resp model.Response) (step, Reason) {
	h := r.Context.History
	n := h.Len()
	for n > 0 {
		_, origin := h.Message(n - 1)
		n--
		if origin == Human || origin == Notification || origin == FromAgent {
			break
		}
	}
	r.text = "The model declined to answer."
	if d := resp.Refusal; d != nil {
		if d.Category != "" {
			r.text += " Category: " + d.Category + "."
		}
		if d.Explanation != "" {
			r.text += " " + d.Explanation
		}
	}
	h.Truncate(n)
	r.measured = min(r.measured, n)
	r.emit(Dropped{Keep: n})
	return stop, Refused
}
