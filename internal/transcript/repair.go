package transcript

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// repairTail makes f end with a whole line. What is behind the last valid one
// is kept in a file beside it, and the damaged records say where.
func (t *loaded) repairTail(f *os.File, path string) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("repair transcript: %w", err)
	}
	if info.Size() > t.end {
		if err := t.cutTail(f, path, info.Size()); err != nil {
			return fmt.Errorf("repair transcript %s: %w", path, err)
		}
	}
	if !t.newline {
		if _, err := f.Write([]byte{'\n'}); err != nil {
			return fmt.Errorf("repair transcript %s: %w", path, err)
		}
		t.end++
		t.newline = true
	}
	return nil
}

func (t *loaded) cutTail(f *os.File, path string, size int64) error {
	aside, err := keepAside(io.NewSectionReader(f, t.end, size-t.end), path)
	if err != nil {
		return err
	}
	if err := f.Truncate(t.end); err != nil {
		return err
	}
	for i, r := range t.records {
		if d, ok := r.(Damaged); ok && d.Offset >= t.end {
			d.Aside = aside
			t.records[i] = d
		}
	}
	return f.Sync()
}

// keepAside copies r to the first free name of path.torn-1, path.torn-2, …
func keepAside(r io.Reader, path string) (name string, err error) {
	for n := 1; ; n++ {
		name = fmt.Sprintf("%s.torn-%d", path, n)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = io.Copy(f, r)
		if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
			os.Remove(name)
			return "", err
		}
		return name, nil
	}
}
