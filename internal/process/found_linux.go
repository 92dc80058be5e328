package process

import "golang.org/x/sys/unix"

// handleOf returns the handle of a process that need not be our child. If there is none,
// the process is looked at until it is gone.
func handleOf(pid int) int {
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return noHandle
	}
	return pidfd
}
