package task

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// createOutput makes the output file of a task. Nobody else may have made it, and it
// is not followed if it is a link.
func (r *Runtime) createOutput(id ID) (*os.File, error) {
	path := filepath.Join(r.Dir, string(id)+".output")
	const flags = os.O_CREATE | os.O_EXCL | os.O_APPEND | os.O_RDWR | syscall.O_NOFOLLOW
	f, err := os.OpenFile(path, flags, 0o600)
	if os.IsNotExist(err) {
		if err := os.MkdirAll(r.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder for task output: %w", err)
		}
		f, err = os.OpenFile(path, flags, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("create the output of task %s: %w", id, err)
	}
	return f, nil
}

// Output is a piece of an output file.
type Output struct {
	Bytes []byte
	Next  int64 // where the next piece begins
	Size  int64 // of the whole file, as it is now
}

// ReadOutput reads at most limit bytes of an output file from an offset on. A
// negative offset counts from the end.
func ReadOutput(path string, offset int64, limit int) (Output, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return Output{}, fmt.Errorf("read task output: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Output{}, fmt.Errorf("read task output: %w", err)
	}
	size := info.Size()
	if offset < 0 {
		offset = max(size+offset, 0)
	}
	b, err := io.ReadAll(io.NewSectionReader(f, offset, int64(limit)))
	if err != nil {
		return Output{}, fmt.Errorf("read task output: %w", err)
	}
	return Output{Bytes: b, Next: offset + int64(len(b)), Size: size}, nil
}
