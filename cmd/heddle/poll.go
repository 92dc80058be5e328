package main

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readable waits until a read of f would not block, for as long as patience.
func readable(f *os.File, patience time.Duration) bool {
	fds := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLIN}}
	deadline := time.Now().Add(patience)
	for {
		left := time.Until(deadline)
		n, err := unix.Poll(fds, int(left.Milliseconds()))
		if errors.Is(err, unix.EINTR) && left > 0 {
			continue
		}
		return err == nil && n > 0
	}
}
