package agent

import (
	"context"
	"errors"
	"time"

	"heddle/internal/message"
	"heddle/internal/tool"
)

// parallelCalls is how many calls run at once at most, besides those that only wait.
const parallelCalls = 10

// ended is a call that is over, at its place among the calls of an answer.
type ended struct {
	at       int
	result   tool.Result
	duration time.Duration
}

// runTools runs the calls of one answer: neighbours that change nothing at once,
// the others one after the other. The results go into one message, in the order
// of the calls, whatever happens: no API takes a call without its result.
func (r *run) runTools(ctx context.Context, uses []message.ToolUse, partial *message.ToolUse) (step, Reason) {
	results := make([]tool.Result, len(uses))
	ctx = context.WithValue(ctx, callerKey{}, &Caller{r, uses})
	for at := 0; at < len(uses); {
		n := r.batch(uses[at:])
		r.runBatch(ctx, uses, results, at, n)
		at += n
	}
	add, why := r.toolsDone(ctx, uses, results)
	if partial != nil {
		add = append(add, message.Text{Text: cutCall(partial)})
	}
	denied, interrupt := r.append(uses, results, add)
	switch {
	case ctx.Err() != nil:
		return stop, Interrupted
	case why != "":
		r.failure = errors.New(why)
		return stop, Stopped
	case interrupt:
		return stop, Interrupted
	case denied:
		return stop, TooDenied
	}
	r.receive(r.mail(false))
	return goOn, ""
}

// batch is how many calls from the first on may run at once.
func (r *run) batch(uses []message.ToolUse) int {
	n, busy := 0, 0
	for n < len(uses) && busy < parallelCalls {
		t, _, why := r.Tools.Resolve(tool.Call{Name: uses[n].Name, Input: uses[n].Input, Scope: r.Context.Scope})
		if why != "" || !t.Parallel {
			break
		}
		if !t.Waits {
			busy++
		}
		n++
	}
	return max(n, 1)
}

// runBatch runs n calls from at on, at once, and waits for all of them.
func (r *run) runBatch(ctx context.Context, uses []message.ToolUse, results []tool.Result, at, n int) {
	over := make(chan ended, n) // room for all: no call waits to be heard
	for i := at; i < at+n; i++ {
		r.emit(ToolBegan{uses[i]})
		go func() {
			begin := time.Now()
			over <- ended{i, r.call(ctx, uses[i]), time.Since(begin)}
		}()
	}
	for range n {
		e := <-over
		results[e.at] = e.result
		r.emit(ToolEnded{Use: uses[e.at], Result: e.result, Duration: e.duration})
	}
}

// call runs one call, if it may run at all.
func (r *run) call(ctx context.Context, u message.ToolUse) tool.Result {
	if u.Malformed {
		return tool.Failf("The input of this call was not a JSON object, so it did not run. Call %s again with valid JSON.", u.Name)
	}
	if ctx.Err() != nil {
		return tool.Failf("Interrupted before it ran.")
	}
	return r.Tools.Call(ctx, tool.Call{ID: u.ID, Name: u.Name, Input: u.Input, Scope: r.Context.Scope})
}

// toolsDone asks the guard what it has to say to the calls of an answer.
func (r *run) toolsDone(ctx context.Context, uses []message.ToolUse, results []tool.Result) (add []message.Block, stop string) {
	if r.Guard == nil || ctx.Err() != nil {
		return nil, ""
	}
	calls := make([]Done, len(uses))
	for i, u := range uses {
		calls[i] = Done{u, results[i]}
	}
	return r.Guard.ToolsDone(ctx, calls)
}

// append puts the results of calls into the history, and what is added to them.
func (r *run) append(uses []message.ToolUse, results []tool.Result, add []message.Block) (tooDenied, interrupt bool) {
	m := message.Message{Role: message.User}
	data := map[string]any{}
	for i, res := range results {
		content := res.Content
		if len(content) == 0 {
			content = []message.Block{message.Text{Text: "(no output)"}}
		}
		m.Content = append(m.Content, message.ToolResult{ToolUseID: uses[i].ID, Content: content, IsError: res.IsError})
		if res.Data != nil {
			data[uses[i].ID] = res.Data
		}
		if res.Denied {
			r.denials = append(r.denials, Denial{Use: uses[i], Message: message.Message{Content: content}.Text()})
		}
		tooDenied = tooDenied || res.TooDenied
		interrupt = interrupt || res.Interrupt
	}
	m.Content = append(m.Content, add...)
	r.add(Added{Message: m, Origin: FromTools, Data: data})
	return tooDenied, interrupt
}
