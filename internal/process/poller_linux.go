package process

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// collectNow are the flags with which a process is collected of which the poller said
// that it has exited.
const collectNow = unix.WNOHANG

// A poller is an epoll set of pidfds, which become readable with the exit of their
// process. The handle of a process is its pidfd.
//
// The set is itself a descriptor that becomes readable, so that it is left to the
// poller of the runtime to wait for it: no thread is blocked.
type poller struct {
	fd     int
	file   *os.File
	conn   syscall.RawConn
	events [64]unix.EpollEvent
	ready  []int
}

func newPoller() (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("wait for processes: %w", err)
	}
	// Only a non-blocking descriptor is given to the poller of the runtime.
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("wait for processes: %w", err)
	}
	p := &poller{fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	err = p.file.SetReadDeadline(time.Time{}) // fails if the runtime does not poll it
	if err == nil {
		p.conn, err = p.file.SyscallConn()
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("wait for processes: %w", err)
	}
	return p, nil
}

// add has wait return pidfd. It does so once, not as long as pidfd is readable: a
// process that a debugger holds is readable and cannot be collected.
func (p *poller) add(pidfd int) error {
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(pidfd)}
	return unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, pidfd, &event)
}

// forget undoes add. To close pidfd does not suffice: a child that is being born has a
// copy of it for a moment, which would keep it in the set.
func (p *poller) forget(pidfd int) {
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, pidfd, nil) // it may never have got in
}

// wait returns processes that have exited, at least one. The result is good until the
// next call.
func (p *poller) wait() ([]int, error) {
	var n int
	var err error
	pollErr := p.conn.Read(func(uintptr) bool {
		for {
			if n, err = unix.EpollWait(p.fd, p.events[:], 0); err != unix.EINTR {
				return n != 0
			}
		}
	})
	if err == nil {
		err = pollErr
	}
	if err != nil {
		return nil, fmt.Errorf("wait for processes: %w", err)
	}
	p.ready = p.ready[:0]
	for _, event := range p.events[:n] {
		p.ready = append(p.ready, int(event.Fd))
	}
	return p.ready, nil
}

func (p *poller) close() { p.file.Close() }

// release gives back a handle.
func release(pidfd int) {
	if pidfd != noHandle {
		unix.Close(pidfd)
	}
}
