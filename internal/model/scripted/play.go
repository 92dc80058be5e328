package scripted

import (
	"context"
	"time"

	"heddle/internal/message"
)

// pingEvery is how long a server that only pings waits for the next one.
const pingEvery = time.Second

// player plays one answer.
type player struct {
	ctx    context.Context
	answer Answer
	yield  func(Step, error) bool

	blocks [][]string // the pieces of each
	sent   int        // pieces so far
	failAt int        // the number of pieces after which it fails; -1: not any more
	over   bool       // the consumer left, or the answer failed
	err    error      // of ctx
}

func newPlayer(ctx context.Context, a Answer, yield func(Step, error) bool) *player {
	p := &player{ctx: ctx, answer: a, yield: yield, failAt: -1}
	total := 0
	for _, b := range a.Message.Content {
		pieces := a.turn.pieces(content(b))
		p.blocks = append(p.blocks, pieces)
		total += len(pieces)
	}
	if a.Fail != nil {
		p.failAt = min(a.Fail.After, total)
	}
	return p
}

// content is the text of a block that comes in pieces.
func content(b message.Block) string {
	switch b := b.(type) {
	case message.Text:
		return b.Text
	case message.Thinking:
		return b.Text
	case message.ToolUse:
		return string(b.Input)
	}
	return ""
}

func (p *player) play() {
	p.wait(p.answer.turn.Pause)
	if f := p.answer.Fail; f != nil && (f.Status != 0 || f.HTML != 0) {
		p.send(Broken{f})
		return
	}
	p.send(Begin{})
	for i, b := range p.answer.Message.Content {
		p.fail(i)
		p.send(Open{i, b})
		for _, text := range p.blocks[i] {
			p.fail(i)
			if p.sent > 0 {
				p.wait(p.answer.turn.Pace)
			}
			p.send(Piece{i, b, text})
			p.sent++
		}
		p.fail(i)
		p.send(Close{i, b})
	}
	p.fail(len(p.blocks))
	p.send(End{})
}

// send yields a step, unless the answer is over.
func (p *player) send(s Step) {
	if p.over {
		return
	}
	if p.err = context.Cause(p.ctx); p.err != nil || !p.yield(s, nil) {
		p.over = true
	}
}

// wait waits, unless the answer is over.
func (p *player) wait(d Duration) {
	if p.over || d <= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(d))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
		p.over, p.err = true, context.Cause(p.ctx)
	}
}

// fail does what is to go wrong when so many pieces were sent.
func (p *player) fail(index int) {
	if p.over || p.sent != p.failAt {
		return
	}
	p.failAt = -1
	f := p.answer.Fail
	switch {
	case f.Disorder:
		p.send(Stray{index + 7})
	case f.Pings > 0:
		for left := time.Duration(f.Pings); left > 0; left -= pingEvery {
			p.send(Ping{})
			p.wait(Duration(min(left, pingEvery)))
		}
	default:
		p.wait(f.Silence)
		p.send(Broken{f})
		p.over = true
	}
}
