package task

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

func outputPath(dir string, id ID) string { return filepath.Join(dir, string(id)+".output") }

// createOutput makes the output file of a task. Nobody else may have made it, and it
// is not followed if it is a link.
func createOutput(dir string, id ID) (*os.File, error) {
	path := outputPath(dir, id)
	const flags = os.O_CREATE | os.O_EXCL | os.O_APPEND | os.O_RDWR | syscall.O_NOFOLLOW
	f, err := os.OpenFile(path, flags, 0o600)
	if os.IsNotExist(err) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder for task output: %w", err)
		}
		f, err = os.OpenFile(path, flags, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("create the output of task %s: %w", id, err)
	}
	return f, nil
}

// Piece is a part of an output file.
type Piece struct {
	Bytes []byte
	Next  int64 // where the next piece begins
	Size  int64 // of the whole file, as it is now
}

// OpenOutput opens an output file for reading. What a command may have put in its
// place is refused: a link to another file, a pipe that is never written.
func OpenOutput(path string) (f *os.File, size int64, err error) {
	f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("read task output: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file any more", path)
	}
	if err != nil {
		_ = f.Close() // it was only looked at
		return nil, 0, fmt.Errorf("read task output: %w", err)
	}
	return f, info.Size(), nil
}

// ReadOutput reads at most limit bytes of an output file from an offset on. A
// negative offset counts from the end.
func ReadOutput(path string, offset int64, limit int) (Piece, error) {
	f, size, err := OpenOutput(path)
	if err != nil {
		return Piece{}, err
	}
	defer f.Close()
	if offset < 0 {
		offset = max(size+offset, 0)
	}
	b := make([]byte, max(min(size-offset, int64(limit)), 0))
	n, err := f.ReadAt(b, offset)
	if err != nil && err != io.EOF { // it became shorter meanwhile
		return Piece{}, fmt.Errorf("read task output: %w", err)
	}
	return Piece{Bytes: b[:n], Next: offset + int64(n), Size: size}, nil
}
