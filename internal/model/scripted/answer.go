package scripted

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"heddle/internal/message"
	"heddle/internal/model"
)

// answer makes the answer of a turn.
func (t Turn) answer(at *track, who model.Agent) (Answer, error) {
	tag := fmt.Sprint(at.turn + 1)
	if who.ID != "" {
		tag = plainID(who.ID) + "_" + tag
	}
	m := message.Message{Role: message.Assistant}
	thinking, err := at.values.fill(t.Thinking)
	if err != nil {
		return Answer{}, err
	}
	if thinking != "" {
		m.Content = append(m.Content, message.Thinking{Text: thinking})
	}
	text, err := at.values.fill(t.Text)
	if err != nil {
		return Answer{}, err
	}
	if text != "" {
		m.Content = append(m.Content, message.Text{Text: text})
	}
	for i, c := range t.Calls {
		use, err := c.use(fmt.Sprintf("toolu_%s_%d", tag, i+1), at.values)
		if err != nil {
			return Answer{}, fmt.Errorf("input of %s: %w", c.Tool, err)
		}
		m.Content = append(m.Content, use)
	}
	a := Answer{ID: "msg_" + tag, Message: m, Stop: t.stop(), turn: t}
	if t.Refusal != nil {
		a.Refusal = &model.RefusalDetails{Category: t.Refusal.Category, Explanation: t.Refusal.Explanation}
	}
	if t.Usage != nil {
		u := t.Usage.Tokens()
		a.Usage = &u
	}
	return a, nil
}

func (t Turn) stop() message.StopReason {
	switch {
	case t.Stop != "":
		return t.Stop
	case t.Refusal != nil:
		return message.Refusal
	case len(t.Calls) > 0:
		return message.StopToolUse
	}
	return message.EndTurn
}

// plainID keeps what ids of all protocols may be made of.
func plainID(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, s)
}

func (c Call) use(id string, v values) (message.ToolUse, error) {
	if c.ID != "" {
		id = c.ID
	}
	if c.InputRaw != nil {
		return message.ToolUse{ID: id, Name: c.Tool, Input: []byte(*c.InputRaw)}, nil
	}
	input, err := c.Input.fill(v)
	return message.ToolUse{ID: id, Name: c.Tool, Input: input}, err
}

// Step is a piece of an answer on its way: [Begin], [Open], [Piece], [Close],
// [End], [Ping], [Stray] or [Broken].
type Step interface{ step() }

// Begin is the first step of an answer, if it does not fail before.
type Begin struct{}

// Open says that the block at Index begins.
type Open struct {
	Index int
	Block message.Block
}

// Piece is a part of the text of a block: of the input, if it is a call.
type Piece struct {
	Index int
	Block message.Block
	Text  string
}

// Close says that the block at Index ends.
type Close struct {
	Index int
	Block message.Block
}

// End is the last step of an answer that is whole.
type End struct{}

// Ping says nothing.
type Ping struct{}

// Stray is a piece of a block that has not begun.
type Stray struct{ Index int }

// Broken is the last step of an answer that fails in this way.
type Broken struct{ Failure *Failure }

func (Begin) step()  {}
func (Open) step()   {}
func (Piece) step()  {}
func (Close) step()  {}
func (End) step()    {}
func (Ping) step()   {}
func (Stray) step()  {}
func (Broken) step() {}

// Steps plays the answer, with its pauses. An error, always the last element, is
// that of ctx.
func (a Answer) Steps(ctx context.Context) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		p := newPlayer(ctx, a, yield)
		p.play()
		if p.err != nil {
			yield(nil, p.err)
		}
	}
}
