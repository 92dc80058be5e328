package agent

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/tool"
)

//go:embed compact.md
var compactPrompt string

const (
	// room is what a prompt leaves free for the answer, and for a summary to be
	// asked for.
	room = 20_000
	// bytesPerToken is a low guess, so that an estimate errs on the safe side.
	// Source: reference figures for code and English, 3.5 to 4.
	bytesPerToken = 3.5
	// summaryTokens bounds a summary.
	summaryTokens = 8_000
)

// tokens estimates the length of the next prompt: what the provider counted for
// the newest one, and bytes for what came after.
func (r *run) tokens() int {
	h := r.Context.History
	from := min(r.measured, h.Len())
	n := 0
	if from > 0 {
		n = r.Context.Tally.Prompt
	} else {
		n = int(float64(len(h.prefix)) / bytesPerToken)
	}
	return n + int(float64(h.size(from))/bytesPerToken)
}

// tooLong reports whether the next prompt would leave too little of the window.
func (r *run) tooLong() bool {
	w := r.choice.Info.Window
	return w > 0 && r.tokens() > max(w-room, w*3/4) && r.Context.History.Len() > len(r.pending()) && !r.compacted
}

// compact replaces the history by a summary, and what nobody has answered yet. It
// reports whether the history is now shorter; if not, it is as it was.
func (r *run) compact(ctx context.Context, trigger Trigger, instructions string) bool {
	h := r.Context.History
	pending := r.pending()
	if h.Len() == len(pending) {
		r.failure = errors.New("there is nothing to summarise")
		r.emit(Compacted{Trigger: trigger, Err: r.failure})
		return false
	}
	if r.Guard != nil {
		if r.failure = r.Guard.Compacting(ctx, trigger, instructions); r.failure != nil {
			r.emit(Compacted{Trigger: trigger, Err: r.failure})
			return false
		}
	}
	r.emit(Compacting{trigger})
	before := r.tokens()
	resp, err := r.summarise(ctx, instructions, h.Len()-len(pending))
	done := Compacted{Trigger: trigger, Before: before, Messages: 1 + len(pending)}
	if resp.Message.Role != "" {
		done.Usage, done.Cost = resp.Usage, r.count(resp)
	}
	summary := resp.Message.Text()
	if err == nil && summary == "" {
		err = errors.New("the model gave no summary")
	}
	if done.Err = err; err != nil {
		r.failure = err
		r.emit(done)
		return false
	}
	h.reset()
	r.measured, r.Context.Tally.Prompt, r.compacted = 0, 0, true
	r.emit(done)
	if r.Guard != nil {
		r.Guard.Compacted(ctx, trigger, summary)
	}
	r.receive([]Input{{Content: []message.Block{message.Text{Text: afterSummary(summary, len(pending) == 0 && trigger == Automatic)}}, Origin: System}})
	for _, e := range pending {
		r.add(Added{Message: e.message, Origin: e.origin})
	}
	return true
}

func afterSummary(summary string, working bool) string {
	text := "<conversation-summary>\n" + summary + "\n</conversation-summary>\n\n" +
		"The conversation before this point was replaced by the summary above. Files that you read before must be read again before you edit them if they may have changed."
	if working {
		text += " Go on with the task from where it stood."
	}
	return text
}

// pending returns the messages at the end that came from outside and have no
// answer yet.
func (r *run) pending() []entry {
	h := r.Context.History
	n := h.Len()
	for n > 0 {
		o := h.at(n - 1).origin
		if o != Human && o != Notification && o != FromAgent {
			break
		}
		n--
	}
	var list []entry
	for ; n < h.Len(); n++ {
		list = append(list, *h.at(n))
	}
	return list
}

// summarise asks for a summary of the first n messages: with the conversation
// itself, whose beginning the provider has in its cache, or, if that is too long
// already, with an abridged copy of it as text.
func (r *run) summarise(ctx context.Context, instructions string, n int) (model.Response, error) {
	ask := compactPrompt
	if instructions != "" {
		ask += "\n\nThe user asks you to keep this in particular:\n" + instructions
	}
	h := r.Context.History
	question := r.choice.Model.EncodeMessage(message.FromUser(ask))
	req := &model.Request{
		Model: r.choice.Info, Prefix: h.prefix, Messages: append(h.upTo(n), question),
		MaxTokens: min(summaryTokens, r.choice.Info.MaxOutput), Agent: r.Agent,
	}
	resp, err := r.quietly(ctx, req)
	var me *model.Error
	tooLong := errors.As(err, &me) && full(me) || err == nil && resp.Message.Text() == ""
	if !tooLong {
		return resp, err
	}
	entries := make([]entry, n)
	for i := range entries {
		entries[i] = *h.at(i)
	}
	text := abridged(entries, r.choice.Info.Window)
	req.Prefix = r.choice.Model.EncodePrefix(model.Prompt{System: h.prompt.System})
	req.Messages = [][]byte{r.choice.Model.EncodeMessage(message.FromUser("<conversation>\n" + text + "\n</conversation>\n\n" + ask))}
	return r.quietly(ctx, req)
}

// quietly makes a request whose text is not for the person.
func (r *run) quietly(ctx context.Context, req *model.Request) (model.Response, error) {
	begin := time.Now()
	defer func() { r.api += time.Since(begin) }()
	for ev, err := range r.choice.Model.Stream(ctx, req) {
		if err != nil {
			return model.Response{}, err
		}
		switch ev := ev.(type) {
		case model.Response:
			return ev, nil
		case model.Retrying:
			r.emit(Streamed{ev})
		}
	}
	return model.Response{}, errors.New("the model's stream ended without a response")
}

// abridged renders a conversation as text that fits a window of that many tokens.
func abridged(entries []entry, window int) string {
	const each = 2_000 // bytes of a block
	var b strings.Builder
	for _, e := range entries {
		for _, block := range e.message.Content {
			switch block := block.(type) {
			case message.Text:
				fmt.Fprintf(&b, "%s: %s\n", e.message.Role, tool.Clip(block.Text, each))
			case message.ToolUse:
				fmt.Fprintf(&b, "%s calls %s: %s\n", e.message.Role, block.Name, tool.Clip(string(block.Input), each))
			case message.ToolResult:
				fmt.Fprintf(&b, "result: %s\n", tool.Clip(message.Message{Content: block.Content}.Text(), each))
			}
		}
	}
	return tool.Clip(b.String(), max(window, room)) // a byte a token leaves ample room
}
