package search

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
)

// native is the own engine: one goroutine walks the tree, several read files.
func native(ctx context.Context, q Query, p *pattern, names *filter, root fs.FileInfo, c *collector) error {
	if !root.IsDir() {
		if !root.Mode().IsRegular() {
			return errors.New("it is neither a file nor a folder")
		}
		var r reader
		return r.search(q, p, q.Root, c)
	}
	paths := make(chan string)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		workers.Go(func() {
			var r reader
			for path := range paths {
				// A file that cannot be read is passed over, as ripgrep does.
				_ = r.search(q, p, path, c)
			}
		})
	}
	err := walk(ctx, q.Root, func(rel string, d fs.DirEntry) error {
		if !d.Type().IsRegular() || !names.takes(filepath.ToSlash(rel)) {
			return nil
		}
		select {
		case paths <- filepath.Join(q.Root, rel):
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
	close(paths)
	workers.Wait()
	return err
}

// reader reads one file after the other into the same memory.
type reader struct{ buf []byte }

func (r *reader) search(q Query, p *pattern, path string, c *collector) error {
	data, err := r.read(path)
	if err != nil {
		return err
	}
	if data = decodeText(data); data == nil {
		return nil
	}
	f := File{Path: path}
	s := scanner{q: q, p: p, data: data, file: &f}
	if q.Multiline {
		s.spanning()
	} else {
		s.lines()
	}
	if f.Count > 0 && (q.Mode != Lines || len(f.Lines) > 0) {
		c.add(f)
	}
	return nil
}

// read returns the content of a file, until the next call.
func (r *reader) read(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, errors.New("it is neither a file nor a folder")
	case info.Size() > fileLimit:
		return nil, fmt.Errorf("it has %d MiB, and files are searched up to %d MiB", info.Size()>>20, fileLimit>>20)
	}
	buf := r.buf[:0]
	if need := int(info.Size()) + 1; cap(buf) < need {
		buf = make([]byte, 0, need)
	}
	for len(buf) <= fileLimit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if cap(buf) <= 4<<20 { // one huge file shall not hold its memory
		r.buf = buf
	}
	return buf, nil
}
