// Package call runs calls of tools that may take long as tasks: a tool of a server
// that is asked for over the network may answer in a millisecond or in an hour. Who
// called waits for a while, and then is told the end like that of any other task.
package call

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"heddle/internal/message"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// Detail is what a task of this kind has to say.
type Detail struct {
	Server   string `json:"server"`
	Tool     string `json:"tool"`
	Progress string `json:"progress,omitempty"` // as the server words it
}

// Kind is the kind of these tasks.
func (Detail) Kind() task.Kind { return task.MonitorMCP }

// Handler runs one call. report tells how far it is.
type Handler func(ctx context.Context, c tool.Call, report func(text string)) tool.Result

// Options say how calls run.
type Options struct {
	Tasks *task.Runtime
	// Budget is how long the caller waits before the call goes on in the background; 0 is
	// to its end.
	Budget time.Duration
	// Limit is how many bytes of text a result holds; the rest is in the output file.
	Limit int
}

// Of returns the handler of a tool of a server: h, as a task.
func (o Options) Of(server, name string, h Handler) tool.Handler {
	return func(ctx context.Context, c tool.Call) tool.Result {
		r := &runner{h: h, call: c, detail: Detail{Server: server, Tool: name}}
		t, err := o.Tasks.Start(task.Spec{
			Kind: task.MonitorMCP, Owner: task.ID(c.Scope.Agent), Description: fmt.Sprintf("%s of the server %s", name, server), ToolUseID: c.ID,
		}, r)
		if err != nil {
			return tool.Failf("The call was not started: %v", err)
		}
		if t.Attach(ctx, o.Budget) == task.Backgrounded {
			return o.background(t.Snapshot())
		}
		return o.finished(r, t.Snapshot())
	}
}

// background is the result of a call that goes on.
func (o Options) background(s task.Snapshot) tool.Result {
	why := "The user moved the call to the background"
	if waited := time.Since(s.StartedAt); o.Budget > 0 && waited >= o.Budget {
		why = fmt.Sprintf("Not finished after %v: the call goes on in the background", o.Budget)
	}
	r := tool.Text(fmt.Sprintf("%s, as task %s. Its result goes to %s. You will be told when it ends: do something else meanwhile, or wait with TaskOutput, but do not call the tool again.", why, s.ID, s.OutputFile))
	r.Data = data{TaskID: string(s.ID), BackgroundID: string(s.ID)}
	return r
}

// data is the structured result, for programs that watch.
type data struct {
	TaskID       string `json:"taskId"`
	BackgroundID string `json:"backgroundTaskId,omitempty"`
	Structured   any    `json:"structuredContent,omitempty"`
	OutputPath   string `json:"persistedOutputPath,omitempty"`
	OutputSize   int    `json:"persistedOutputSize,omitempty"`
}

// finished is the result of a call that was waited for.
func (o Options) finished(r *runner, s task.Snapshot) tool.Result {
	if r.result == nil { // it was stopped, or the handler failed inside heddle
		return tool.Failf("The call ended without a result (%s): %s", s.Status, s.Error)
	}
	res := *r.result
	d := data{TaskID: string(s.ID), Structured: res.Data}
	res.Content, d.OutputSize = o.clip(res.Content, s.OutputFile)
	if d.OutputSize > 0 {
		d.OutputPath = s.OutputFile
	}
	res.Data = d
	return res
}

// clip shortens the texts of a result that are too long together, and says where all of
// it is. size is what they are long, or 0 if nothing was cut.
func (o Options) clip(content []message.Block, file string) (clipped []message.Block, size int) {
	for _, b := range content {
		if t, ok := b.(message.Text); ok {
			size += len(t.Text)
		}
	}
	if o.Limit <= 0 || size <= o.Limit {
		return content, 0
	}
	left := o.Limit
	for _, b := range content {
		t, ok := b.(message.Text)
		if !ok {
			clipped = append(clipped, b)
			continue
		}
		if left > 0 {
			clipped = append(clipped, message.Text{Text: tool.Clip(t.Text, left)})
		}
		left -= len(t.Text)
	}
	return append(clipped, message.Text{Text: fmt.Sprintf("[The result has %d bytes and was shortened. All of it is in %s: read the parts that you need, or search it with Grep.]", size, file)}), size
}

// runner is one call.
type runner struct {
	h      Handler
	call   tool.Call
	detail Detail
	result *tool.Result // written before the task ends
}

// Run makes the call and puts the texts of its result into the output.
func (r *runner) Run(ctx context.Context, t *task.Task) error {
	t.Record(r.detail)
	res := r.h(ctx, r.call, func(text string) {
		d := r.detail
		d.Progress = text
		t.Update(func(s *task.Snapshot) { s.Detail = d })
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.result = &res
	var failure string
	for _, b := range res.Content {
		text := "[an image]\n"
		if b, ok := b.(message.Text); ok {
			text = b.Text + "\n"
		}
		if failure == "" {
			failure = text
		}
		if _, err := io.WriteString(t.Output, text); err != nil {
			return &task.EndError{Reason: task.ReasonNoSpace, Err: fmt.Errorf("keep the result: %w", err)}
		}
	}
	if !res.IsError {
		return nil
	}
	line, _, _ := strings.Cut(failure, "\n")
	return errors.New(tool.Clip(line, failureLength))
}

// failureLength is how much of a failure a notification tells, in bytes.
const failureLength = 500
