package builtin

import (
	"context"
	"io/fs"
	"os"
	"syscall"
	"time"

	"heddle/internal/tool"
)

// openRegular opens a regular file for reading. Folders, devices, pipes and
// sockets are refused without touching them: opening one may block for ever, or
// do something. Reads end when ctx does, as far as the kernel allows.
func openRegular(ctx context.Context, s *tool.Scope, path string) (*regular, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, inaccessible(s, path, err)
	}
	if err := mustBeRegular(path, info); err != nil {
		return nil, nil, err
	}
	// It may have become a pipe by now; without O_NONBLOCK that would hang.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, inaccessible(s, path, err)
	}
	info, err = f.Stat()
	if err == nil {
		err = mustBeRegular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	// Some files of the kernel are regular and wait for news. Those can be woken;
	// for all others the deadline is an error that does not matter.
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	return &regular{f, stop}, info, nil
}

// regular is an open file whose reads end with a context.
type regular struct {
	*os.File
	stop func() bool
}

func (r *regular) Close() error {
	r.stop()
	return r.File.Close()
}

func mustBeRegular(path string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return refuse("%s is a folder. Use Glob to list what is in it.", show(path))
	case mode&fs.ModeNamedPipe != 0:
		return refuse("%s is a named pipe, which this tool does not touch: it might wait for ever.", show(path))
	case mode&fs.ModeSocket != 0:
		return refuse("%s is a socket, not a file.", show(path))
	default:
		return refuse("%s is a device, which this tool does not touch.", show(path))
	}
}
