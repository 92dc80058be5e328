package main

import (
	"bytes"
	"context"
	"io"

	"heddle/internal/control"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// taskLogs prints the output of a task, byte for byte, unless a terminal shows it: that is
// given nothing that could act on it.
func taskLogs(ctx context.Context, p place, o tasksOptions, ids []string, std stdio) error {
	t, err := oneTask(ctx, p, o, ids[0])
	if err != nil {
		return err
	}
	defer t.close()
	from := int64(0)
	if o.tail >= 0 {
		if from, err = tailOffset(t.OutputFile, o.tail); err != nil {
			return err
		}
	}
	ended := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer close(ended)
		if o.follow && t.client != nil && !t.Status.Terminal() {
			_, err := t.client.Do(ctx, control.Request{Op: control.Wait, Tasks: []task.ID{t.ID}})
			failed <- err
		}
	}()
	out := std.out
	if terminal(out) {
		out = &plainLines{w: out}
	}
	for piece, err := range task.Follow(ctx, t.OutputFile, from, ended) {
		if err != nil {
			return err
		}
		if _, err := out.Write(piece.Bytes); err != nil {
			return err
		}
	}
	if lines, ok := out.(*plainLines); ok {
		if err := lines.flush(); err != nil {
			return err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// plainLines passes lines on as a terminal may be given them. What has no end yet waits for
// it, as long as it is not very long.
type plainLines struct {
	w    io.Writer
	rest []byte
}

func (l *plainLines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	const most = 64 << 10
	end := bytes.LastIndexByte(l.rest, '\n') + 1
	if end == 0 && len(l.rest) > most {
		end = len(l.rest)
	}
	if _, err := io.WriteString(l.w, tool.Plain(l.rest[:end])); err != nil {
		return 0, err
	}
	l.rest = append(l.rest[:0], l.rest[end:]...)
	return len(p), nil
}

func (l *plainLines) flush() error {
	_, err := io.WriteString(l.w, tool.Plain(l.rest))
	l.rest = nil
	return err
}
