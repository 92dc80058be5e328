package scripted

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"
	"time"

	"heddle/internal/message"
	"heddle/internal/model"
)

// Provider plays a script inside the program: no server, no wire.
type Provider struct {
	engine *Engine
}

// New returns a provider that plays s.
func New(s *Script) *Provider { return &Provider{engine: NewEngine(s)} }

// Name is the part before the slash in provider/model.
func (*Provider) Name() string { return "scripted" }

// EncodePrefix keeps the system prompt, which rules may look at.
func (*Provider) EncodePrefix(p model.Prompt) []byte {
	b, _ := json.Marshal(strings.Join(p.System, "\n")) // a string always encodes
	return b
}

// EncodeMessage returns the canonical form.
func (*Provider) EncodeMessage(m message.Message) []byte { return m.AppendJSON(nil) }

// Stream plays the next turn.
func (p *Provider) Stream(ctx context.Context, r *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		if err := p.play(ctx, r, yield); err != nil {
			yield(nil, err)
		}
	}
}

// play yields an answer. It returns nil when the consumer has it, or left.
func (p *Provider) play(ctx context.Context, r *model.Request, yield func(model.Event, error) bool) error {
	c, err := decode(r)
	if err != nil {
		return bad(err)
	}
	a, err := p.engine.Next(c)
	if err != nil {
		return bad(err)
	}
	if err := sleep(ctx, time.Duration(a.Turn.Pause)); err != nil {
		return err
	}
	events := a.events(r)
	if a.Fail != nil {
		return a.Fail.play(ctx, events, yield)
	}
	for _, ev := range events {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if !yield(ev, nil) {
			return nil
		}
	}
	return nil
}

func bad(err error) error {
	return &model.Error{Provider: "scripted", Class: model.BadRequest, Message: err.Error(), Err: err}
}

func decode(r *model.Request) (Conversation, error) {
	c := Conversation{Agent: r.Agent}
	if err := json.Unmarshal(r.Prefix, &c.System); err != nil {
		return c, err
	}
	for _, raw := range r.Messages {
		var m message.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return c, err
		}
		c.Messages = append(c.Messages, m)
	}
	return c, nil
}

// defaultChunk is how many characters a piece of text has.
const defaultChunk = 40

// events are the deltas of an answer, and the response.
func (a Answer) events(r *model.Request) []model.Event {
	resp := model.Response{ID: "msg_scripted", Model: r.Model.ID, Stop: a.Stop, Usage: a.usage(r)}
	events := []model.Event{model.Started{ID: resp.ID, Model: resp.Model, Usage: resp.Usage}}
	if a.Stop == message.Refusal {
		resp.Refusal = &model.RefusalDetails{Category: a.Category}
	}
	for i, b := range a.Message.Content {
		switch b := b.(type) {
		case message.Text:
			for _, piece := range Pieces(b.Text, a.Turn.Chunk) {
				events = append(events, model.TextDelta{Index: i, Text: piece})
			}
		case message.Thinking:
			for _, piece := range Pieces(b.Text, a.Turn.Chunk) {
				events = append(events, model.ThinkingDelta{Index: i, Text: piece})
			}
		case message.ToolUse:
			events = append(events, model.ToolStarted{Index: i, ID: b.ID, Name: b.Name}, model.InputDelta{Index: i, JSON: string(b.Input)})
		}
	}
	resp.Message, resp.Partial = complete(a)
	return append(events, resp)
}

// complete is the message as a client keeps it: what the limit cut off is apart,
// and input is clean.
func complete(a Answer) (m message.Message, partial *message.ToolUse) {
	m.Role = message.Assistant
	cut := a.Stop == message.MaxTokens || a.Stop == message.ContextExceeded
	for i, b := range a.Message.Content {
		if u, ok := b.(message.ToolUse); ok {
			input, valid := message.CleanInput(u.Input)
			u.Input, u.Malformed = input, !valid
			if cut && i == len(a.Message.Content)-1 {
				partial = &u
				continue
			}
			b = u
		}
		m.Content = append(m.Content, b)
	}
	return m, partial
}

// usage derives figures from lengths, at four bytes a token: the prompt of the request
// before counts as read from a cache.
func (a Answer) usage(r *model.Request) message.Usage {
	if u := a.Usage; u != nil {
		return message.Usage{Input: u.Input, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Output: u.Output}
	}
	old, all := len(r.Prefix), len(r.Prefix)
	for i, m := range r.Messages {
		all += len(m)
		if i < len(r.Messages)-2 {
			old += len(m)
		}
	}
	if len(r.Messages) < 3 {
		old = 0
	}
	return message.Usage{CacheRead: old / 4, CacheWrite: (all - old) / 4, Output: len(a.Message.AppendJSON(nil)) / 4}
}

// Pieces cuts text into pieces of so many characters, 40 if that is 0.
func Pieces(s string, chunk int) []string {
	if chunk <= 0 {
		chunk = defaultChunk
	}
	var out []string
	for r := []rune(s); len(r) > 0; {
		n := min(chunk, len(r))
		out = append(out, string(r[:n]))
		r = r[n:]
	}
	return out
}

// sleep waits, or returns why not.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// play fails as f says: with the error that a client of a real server would report.
func (f *Failure) play(ctx context.Context, events []model.Event, yield func(model.Event, error) bool) error {
	if f.Pings > 0 {
		if err := sleep(ctx, time.Duration(f.Pings)); err != nil {
			return err
		}
		for _, ev := range events {
			if !yield(ev, nil) {
				return nil
			}
		}
		return nil
	}
	if f.Status != 0 {
		return f.httpError()
	}
	for i, ev := range events[:len(events)-1] {
		if i >= f.Cut {
			break
		}
		if !yield(ev, nil) {
			return nil
		}
	}
	e := &model.Error{Provider: "scripted", Class: model.Cut, Status: http.StatusOK, Message: "the answer ended before it was complete"}
	switch {
	case f.Silence > 0:
		if err := sleep(ctx, time.Duration(f.Silence)); err != nil {
			return err
		}
		e.Class, e.Message = model.Silent, "nothing came for "+time.Duration(f.Silence).String()
	case f.ErrorEvent != "":
		e.Class, e.Type, e.Message = classOf(f.ErrorEvent, 0), f.ErrorEvent, f.Message
	case f.Disorder:
		e.Message = "the stream is malformed: block 7 has not begun"
	}
	return e
}

func (f *Failure) httpError() error {
	return &model.Error{
		Provider: "scripted", Class: classOf(f.Type, f.Status), Status: f.Status, Type: f.Type, Message: f.Message,
		RetryAfter: time.Duration(f.RetryAfter),
	}
}

// classOf classifies an error by its type, or else by its status.
func classOf(kind string, status int) model.Class {
	switch {
	case kind == "overloaded_error" || status == 529 || status == http.StatusServiceUnavailable:
		return model.Overloaded
	case kind == "rate_limit_error" || status == http.StatusTooManyRequests:
		return model.RateLimited
	case kind == "authentication_error" || status == http.StatusUnauthorized || status == http.StatusForbidden:
		return model.BadCredential
	case kind == "not_found_error" || status == http.StatusNotFound:
		return model.UnknownModel
	case status == http.StatusRequestEntityTooLarge:
		return model.TooLarge
	case kind == "invalid_request_error" || status == http.StatusBadRequest:
		return model.BadRequest
	}
	return model.ServerError
}
