package process

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// gone returns when the process is not alive any more. The goroutine is parked in the
// poller of the runtime.
func gone(id Identity) {
	pidfd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return
	}
	// From here on pidfd means one process; this tells whether it is the right one.
	if !id.Alive() {
		if err == nil {
			unix.Close(pidfd)
		}
		return
	}
	if err == nil {
		f := os.NewFile(uintptr(pidfd), "pidfd")
		defer f.Close()
		if conn, err := f.SyscallConn(); err == nil {
			if conn.Read(func(fd uintptr) bool { return readable(int32(fd)) }) == nil {
				return
			}
		}
	}
	goneByLooking(id)
}

func readable(fd int32) bool {
	n, err := unix.Poll([]unix.PollFd{{Fd: fd, Events: unix.POLLIN}}, 0)
	return err == nil && n > 0
}
