package main

import (
	"bytes"
	"context"
	"io"
	"os"

	"heddle/internal/control"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// taskLogs prints the output of a task, byte for byte, unless a terminal shows it: that is
// given nothing that could act on it.
func taskLogs(ctx context.Context, p place, o tasksOptions, ids []string, std stdio) error {
	t, err := oneTask(ctx, p, o, ids[0], std.err)
	if err != nil {
		return err
	}
	defer t.close()
	if o.follow && !t.Status.Terminal() && t.client == nil && t.Live {
		return t.unreachable() // its end would not be noticed
	}
	from, err := t.firstByte(o)
	if err != nil {
		return err
	}
	ended := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer close(ended)
		if o.follow && t.client != nil && !t.Status.Terminal() {
			_, err := ask(ctx, []seenTask{t}, control.Wait, 0)
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

// firstByte returns where the output that was asked for begins.
func (t seenTask) firstByte(o tasksOptions) (int64, error) {
	switch {
	case o.tail >= 0:
		return tailOffset(t.OutputFile, o.tail)
	case o.bytes >= 0:
		f, size, err := task.OpenOutput(t.OutputFile)
		if err != nil {
			return 0, err
		}
		return max(size-o.bytes, 0), f.Close()
	}
	return 0, nil
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

// tailOffset returns where the last n lines of a file begin.
func tailOffset(path string, n int) (int64, error) {
	f, size, err := task.OpenOutput(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	const block = 64 << 10
	buf := make([]byte, block)
	lines := 0
	for end := size; end > 0; {
		begin := max(end-block, 0)
		part := buf[:end-begin]
		if _, err := f.ReadAt(part, begin); err != nil {
			return 0, err
		}
		for i := len(part) - 1; i >= 0; i-- {
			if part[i] == '\n' && begin+int64(i) != size-1 {
				if lines++; lines == n {
					return begin + int64(i) + 1, nil
				}
			}
		}
		end = begin
	}
	if n == 0 {
		return size, nil
	}
	return 0, nil
}

// terminal reports whether what is written there is shown to a person.
func terminal(w any) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
