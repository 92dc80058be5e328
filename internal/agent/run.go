package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/internal/message"
	"heddle/internal/model"
)

// run is one run of the loop. It is owned by the goroutine that ranges over the
// events.
type run struct {
	Config
	yield   func(Event, error) bool
	cancel  context.CancelFunc
	left    bool // the consumer stopped listening
	started time.Time

	choice    Choice
	maxTokens int // of the next answer; 0: the usual
	turns     int
	api       time.Duration
	usage     message.Usage
	usd       float64
	denials   []Denial
	text      string // the newest text of the model
	begun     string // what an answer said that was cut off and goes on
	stop      message.StopReason
	nudges    int   // how often in a row the model was asked to go on
	again     int   // how often the guard made the run go on
	measured  int   // messages that the newest usage covers
	compacted bool  // since the newest answer
	failure   error // why the last compaction failed
	final     bool  // text is of the newest answer
}

// emit hands an event to the consumer. When the consumer left, the run is
// cancelled, and what still happens goes untold.
func (r *run) emit(e Event) {
	if r.left {
		return
	}
	if !r.yield(e, nil) {
		r.left = true
		r.cancel()
	}
}

// add appends a message to the history and tells it.
func (r *run) add(a Added) {
	r.Context.History.Append(a.Message, a.Origin)
	r.emit(a)
}

// work is a run from input to end.
func (r *run) work(ctx context.Context, input []Input) {
	r.receive(input)
	for {
		if reason, over := r.limit(ctx); over {
			r.end(reason, nil)
			return
		}
		if r.Remind != nil {
			r.receive(r.Remind(r.turns))
		}
		r.choose()
		if r.tooLong() && !r.compact(ctx, Automatic, "") {
			r.end(r.stuck(ctx), r.failure)
			return
		}
		resp, err := r.ask(ctx)
		next, reason := goOn, Completed
		if err != nil {
			next, reason = r.failed(ctx, err)
		} else {
			next, reason = r.answered(ctx, resp)
		}
		if next == goOn {
			continue
		}
		if next == stopUnlessMail && (r.receive(r.mail(true)) || r.receive(r.stopping(ctx))) {
			continue
		}
		if reason == Stopped {
			err = r.failure
		}
		r.end(reason, err)
		return
	}
}

// step is what to do after an answer.
type step int

const (
	goOn step = iota
	stop
	stopUnlessMail // the model is done, but something may have arrived meanwhile
)

// maxAgain is how often in one run the guard may make the model go on: whoever always
// wants more would never let it end.
const maxAgain = 3

// stopping asks the guard whether the run may end.
func (r *run) stopping(ctx context.Context) []Input {
	if r.Guard == nil || ctx.Err() != nil {
		return nil
	}
	in := r.Guard.Stopping(ctx, r.text, r.again)
	switch {
	case len(in) == 0:
		return nil
	case r.again >= maxAgain:
		r.emit(Notice{fmt.Sprintf("A hook did not let the model stop, %d times in a row. The turn is over all the same.", r.again+1)})
		return nil
	}
	r.again++
	return in
}

// receive adds input to the history and reports whether there was any.
func (r *run) receive(input []Input) bool {
	for _, in := range input {
		content := in.Content
		if r.Context.History.Len() == 0 && r.Brief != nil {
			if brief := r.Brief(); brief != "" {
				content = append([]message.Block{message.Text{Text: brief}}, content...)
			}
		}
		r.add(Added{Message: message.Message{Role: message.User, Content: content}, Origin: in.Origin, InputID: in.ID})
	}
	return len(input) > 0
}

func (r *run) mail(idle bool) []Input {
	if r.Inbox == nil {
		return nil
	}
	return r.Inbox.Take(idle)
}

// limit reports whether the run must end before another request.
func (r *run) limit(ctx context.Context) (Reason, bool) {
	switch {
	case ctx.Err() != nil:
		return Interrupted, true
	case r.Limits.Turns > 0 && r.turns >= r.Limits.Turns:
		return MaxTurns, true
	case r.Limits.USD > 0 && r.Context.Tally.USD >= r.Limits.USD, r.Ledger.Exhausted():
		return MaxBudget, true
	}
	return "", false
}

// stuck is why a run ends that needed a compaction and did not get it.
func (r *run) stuck(ctx context.Context) Reason {
	var me *model.Error
	switch {
	case ctx.Err() != nil:
		return Interrupted
	case errors.As(r.failure, &me) && !full(me):
		return Failed // the model could not be reached; there is nothing wrong with the conversation
	}
	return ContextLimit
}

// full reports whether a request failed because the conversation is too long.
func full(e *model.Error) bool { return e.Class == model.ContextFull || e.Class == model.TooLarge }

// choose settles the model of the next request. Reasoning of another model is
// left behind.
func (r *run) choose() {
	c, h := r.Choose(), r.Context.History
	if old := r.Context.LastModel; old != "" && old != c.Info.ID {
		h.DropThinking()
	}
	h.use(c.Model)
	r.choice = c
}

// usualOutput is how many tokens an answer may have at first: enough for all but
// the longest file, and little enough that a runaway answer is noticed. When it
// does not suffice, the request is made again with all that the model can do.
const usualOutput = 32_000

// ask makes one request and returns the answer.
func (r *run) ask(ctx context.Context) (model.Response, error) {
	prefix, messages, marks := r.Context.History.request()
	limit := r.maxTokens
	if limit == 0 {
		limit = min(usualOutput, r.choice.Info.MaxOutput)
	}
	req := &model.Request{
		Model: r.choice.Info, Prefix: prefix, Messages: messages, Marks: marks,
		MaxTokens: limit, Effort: r.choice.Effort, Agent: r.Agent,
	}
	r.emit(Requested{Turn: r.turns + 1})
	begin := time.Now()
	defer func() { r.api += time.Since(begin) }()
	for ev, err := range r.choice.Model.Stream(ctx, req) {
		if err != nil {
			return model.Response{}, err
		}
		if resp, done := ev.(model.Response); done {
			r.turns++
			r.stop = resp.Stop
			return resp, nil
		}
		r.emit(Streamed{ev})
		if r.left {
			return model.Response{}, context.Canceled
		}
	}
	return model.Response{}, errors.New("the model's stream ended without a response")
}

// failed handles a request that got no answer.
func (r *run) failed(ctx context.Context, err error) (step, Reason) {
	if ctx.Err() != nil {
		return stop, Interrupted
	}
	var me *model.Error
	if errors.As(err, &me) && full(me) {
		if !r.compacted && r.compact(ctx, Automatic, "") {
			return goOn, ""
		}
		return stop, r.stuck(ctx)
	}
	return stop, Failed
}

// count accounts for an answer, whatever is done with it.
func (r *run) count(resp model.Response) (usd float64) {
	usd = r.Context.Tally.add(r.choice.Info, resp.Usage)
	r.usage = r.usage.Add(resp.Usage)
	r.usd += usd
	r.Ledger.Add(spending(resp.Usage, usd))
	return usd
}

// end tells the end. The error is what the model failed with, if it did.
func (r *run) end(reason Reason, err error) {
	r.emit(Ended{
		Reason: reason, Text: r.text, Final: r.final, Turns: r.turns, Usage: r.usage, Cost: r.usd,
		API: r.api, Denials: r.denials, Stop: r.stop, Err: err,
	})
}
