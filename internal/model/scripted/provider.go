package scripted

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"heddle/internal/message"
	"heddle/internal/model"
)

const providerName = "scripted"

// Provider plays a script inside the program: no server, no wire.
type Provider struct{ engine *Engine }

var _ model.Provider = (*Provider)(nil)

// New returns a provider that plays s from the beginning.
func New(s *Script) *Provider { return &Provider{NewEngine(s)} }

// Name is the part before the slash in provider/model.
func (*Provider) Name() string { return providerName }

// EncodePrefix serialises system prompt and tools.
func (*Provider) EncodePrefix(p model.Prompt) []byte {
	dst := []byte(`{"system":[`)
	for i, text := range p.System {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = message.Text{Text: text}.AppendJSON(dst)
	}
	dst = append(dst, `],"tools":[`...)
	for i, t := range p.Tools {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"name":`...)
		dst = message.AppendString(dst, t.Name)
		dst = append(dst, `,"description":`...)
		dst = message.AppendString(dst, t.Description)
		dst = append(dst, `,"input_schema":`...)
		dst = append(append(dst, t.Schema...), '}')
	}
	return append(dst, `]}`...)
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
	if err := context.Cause(ctx); err != nil {
		return err
	}
	c, err := decode(r)
	if err != nil {
		return refused(err)
	}
	usage := promptUsage(r)
	if w := p.engine.script.Window; w > 0 && usage.Prompt() > w {
		e := refused(fmt.Errorf("prompt is too long: %d tokens > %d maximum", usage.Prompt(), w))
		e.Class = model.ContextFull
		return e
	}
	a, err := p.engine.Next(c)
	if err != nil {
		return refused(err)
	}
	usage.Output = max(1, len(a.Message.AppendJSON(nil))/bytesPerToken)
	if a.Usage != nil {
		usage = *a.Usage
	}
	for step, err := range a.Steps(ctx) {
		if err != nil {
			return err
		}
		ev, err := a.event(step, r, usage)
		if err != nil {
			return err
		}
		if ev != nil && !yield(ev, nil) {
			return nil
		}
	}
	return nil
}

func refused(err error) *model.Error {
	return &model.Error{Provider: providerName, Class: model.BadRequest, Message: err.Error(), Err: err}
}

func decode(r *model.Request) (Conversation, error) {
	c := Conversation{Agent: r.Agent}
	var prefix struct {
		System []struct {
			Text string `json:"text"`
		} `json:"system"`
	}
	if err := json.Unmarshal(r.Prefix, &prefix); err != nil {
		return c, fmt.Errorf("the prefix of the request: %w", err)
	}
	for i, s := range prefix.System {
		if i > 0 {
			c.System += "\n\n"
		}
		c.System += s.Text
	}
	for i, raw := range r.Messages {
		var m message.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return c, fmt.Errorf("message %d of the request: %w", i, err)
		}
		c.Messages = append(c.Messages, m)
	}
	return c, nil
}

// event is a step as a client reports it.
func (a Answer) event(s Step, r *model.Request, usage message.Usage) (model.Event, error) {
	switch s := s.(type) {
	case Begin:
		started := usage
		started.Output = 0
		return model.Started{ID: a.ID, Model: r.Model.ID, Usage: started}, nil
	case Open:
		if u, ok := s.Block.(message.ToolUse); ok {
			return model.ToolStarted{Index: s.Index, ID: u.ID, Name: u.Name}, nil
		}
	case Piece:
		switch s.Block.(type) {
		case message.Text:
			return model.TextDelta{Index: s.Index, Text: s.Text}, nil
		case message.Thinking:
			return model.ThinkingDelta{Index: s.Index, Text: s.Text}, nil
		}
		return model.InputDelta{Index: s.Index, JSON: s.Text}, nil
	case Stray:
		e := (&Failure{Disorder: true}).err()
		e.Message = fmt.Sprintf("the stream makes no sense: block %d has not begun", s.Index)
		return nil, e
	case Broken:
		return nil, s.Failure.err()
	case End:
		m, partial := a.kept()
		return model.Response{
			ID: a.ID, Model: r.Model.ID, Message: m, Stop: a.Stop, Partial: partial, Refusal: a.Refusal, Usage: usage,
		}, nil
	case Close, Ping:
	default:
		panic(fmt.Sprintf("step %T", s))
	}
	return nil, nil
}

// signature stands in for that of a provider.
const signature = "scripted"

// kept is the message as a client keeps it: what the limit cut off is apart, input
// is clean, thinking signed.
func (a Answer) kept() (m message.Message, partial *message.ToolUse) {
	m.Role = message.Assistant
	cut := a.Stop == message.MaxTokens || a.Stop == message.ContextExceeded
	for i, b := range a.Message.Content {
		switch block := b.(type) {
		case message.Thinking:
			block.Signature = signature
			b = block
		case message.ToolUse:
			input, ok := message.CleanInput(block.Input)
			block.Input, block.Malformed = input, !ok
			if cut && i == len(a.Message.Content)-1 {
				return m, &block
			}
			b = block
		}
		m.Content = append(m.Content, b)
	}
	return m, nil
}

// bytesPerToken is a fair guess, and the same everywhere.
const bytesPerToken = 4

// promptUsage is derived from lengths: what the request before this one sent was
// read from a cache, the rest written to it.
func promptUsage(r *model.Request) message.Usage {
	all, before := len(r.Prefix), 0
	for _, m := range r.Messages {
		if bytes.HasPrefix(m, []byte(`{"role":"assistant"`)) {
			before = all // the answer to this much
		}
		all += len(m)
	}
	return message.Usage{CacheRead: before / bytesPerToken, CacheWrite: all/bytesPerToken - before/bytesPerToken}
}
