// Package call runs calls of tools that may take long as tasks: a tool of a server
// that is asked for over the network may answer in a millisecond or in an hour. Who
// called waits for a while, and then is told the end like that of any other task.
package call

import (
	"context"
	"encoding/json"
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
		r := &runner{h: h, call: c, limit: o.Limit, detail: Detail{Server: server, Tool: name}}
		t, err := o.Tasks.Start(task.Spec{
			Kind: task.MonitorMCP, Owner: task.ID(c.Scope.Agent), Description: fmt.Sprintf("%s of the server %s", name, server), ToolUseID: c.ID,
		}, r)
		if err != nil {
			return tool.Failf("The call was not started: %v", err)
		}
		if t.Attach(ctx, o.Budget) == task.Backgrounded {
			return o.background(t.Snapshot())
		}
		return r.finished(t.Snapshot())
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

// finished is the result of a call that was waited for. It is given away: the task stays
// known for a while, and what it held would stay with it.
func (r *runner) finished(s task.Snapshot) tool.Result {
	if r.result == nil { // it was stopped, or the handler failed inside heddle
		return tool.Failf("The call ended without a result (%s): %s", s.Status, s.Error)
	}
	res := *r.result
	r.result = nil
	d := data{TaskID: string(s.ID), Structured: res.Data, OutputSize: r.size}
	if d.OutputSize > 0 && s.Reason != task.ReasonNoSpace {
		d.OutputPath = s.OutputFile
	}
	res.Data = d
	return res
}

// clip shortens the texts of a result that are too long together, and says where all of
// it is. size is what they are long, or 0 if nothing was cut.
func clip(content []message.Block, limit int, file string) (clipped []message.Block, size int) {
	for _, b := range content {
		if t, ok := b.(message.Text); ok {
			size += len(t.Text)
		}
	}
	if limit <= 0 || size <= limit {
		return content, 0
	}
	left := limit
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
	where := "The rest could not be kept: it is lost."
	if file != "" {
		where = fmt.Sprintf("All of it is in %s: read the parts that you need, or search it with Grep.", file)
	}
	return append(clipped, message.Text{Text: fmt.Sprintf("[The result has %d bytes and was shortened. %s]", size, where)}), size
}

// runner is one call.
type runner struct {
	h      Handler
	call   tool.Call
	limit  int // of the text of result
	detail Detail
	// Written before the task ends: what the caller gets, shortened, and how long it was if
	// something was cut.
	result *tool.Result
	size   int
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
	err := keep(t.Output, res.Content)
	failure := ""
	if res.IsError {
		failure = firstLine(res.Content)
	}
	file := t.Snapshot().OutputFile
	if err != nil {
		file = ""
	}
	res.Content, r.size = clip(res.Content, r.limit, file)
	if tooLong(res.Data, r.limit) {
		res.Data = nil // for programs; the texts say the same
	}
	r.result = &res
	switch {
	case err != nil:
		return &task.EndError{Reason: task.ReasonNoSpace, Err: fmt.Errorf("keep the result: %w", err)}
	case res.IsError:
		return errors.New(failure)
	}
	return nil
}

// keep writes the texts of a result, each with a line end.
func keep(w io.Writer, content []message.Block) error {
	for _, b := range content {
		text := "[an image]"
		if b, ok := b.(message.Text); ok {
			text = b.Text
		}
		for _, part := range []string{text, "\n"} { // joined, a long one would be there twice
			if _, err := io.WriteString(w, part); err != nil {
				return err
			}
		}
	}
	return nil
}

// tooLong reports whether a structured result is longer than a limit as JSON.
func tooLong(v any, limit int) bool {
	if v == nil || limit <= 0 {
		return false
	}
	text, err := json.Marshal(v)
	return err != nil || len(text) > limit
}

// firstLine is what a notification tells of a failure.
func firstLine(content []message.Block) string {
	for _, b := range content {
		if t, ok := b.(message.Text); ok {
			line, _, _ := strings.Cut(t.Text, "\n")
			return tool.Clip(line, failureLength)
		}
	}
	return "it failed without a word"
}

// failureLength is how much of a failure a notification tells, in bytes.
const failureLength = 500
