package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// States of a process, from <sys/proc.h>.
const (
	stateStopped = 4
	stateZombie  = 5
)

// bootID returns the id of this run of the kernel.
var bootID = sync.OnceValue(func() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "unknown"
	}
	return id
})

// look returns what process pid is now. A zombie is still a process.
func look(pid int) (proc, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid {
		return proc{}, false
	}
	return fromKernel(info), true
}

// surveyors has the one surveyor of the program: there is one list of processes to share.
var surveyors = sync.OnceValue(func() *surveyor { return &surveyor{scan: everyone} })

// candidates returns the processes among which the members of a tree are: all.
// Start times do not exclude any, since a correction of the clock moves them.
func candidates(*tree) (procs []proc, mark func(pid int) (string, bool)) {
	s := surveyors().survey()
	return s.procs, s.mark
}

func everyone() []proc {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	ps := make([]proc, 0, len(infos))
	for i := range infos {
		ps = append(ps, fromKernel(&infos[i]))
	}
	return ps
}

func fromKernel(info *unix.KinfoProc) proc {
	started := info.Proc.P_starttime
	p := proc{
		pid:     int(info.Proc.P_pid),
		ppid:    int(info.Eproc.Ppid),
		pgid:    int(info.Eproc.Pgid),
		start:   uint64(started.Sec)*1e6 + uint64(started.Usec),
		zombie:  info.Proc.P_stat == stateZombie,
		stopped: info.Proc.P_stat == stateStopped,
		name:    unix.ByteSliceToString(info.Proc.P_comm[:]),
	}
	p.sid, _ = unix.Getsid(p.pid) // it may be gone by now: 0 is nobody's session
	return p
}

// markOf returns the marks that pid carries. It is false for a process that is
// not ours to read.
func markOf(pid int) (string, bool) {
	_, env, ok := arguments(pid)
	for _, entry := range env {
		if value, found := strings.CutPrefix(entry, MarkVariable+"="); found {
			return value, true
		}
	}
	return "", ok
}

// commandLine returns the arguments of p, or its name where it hides them.
func commandLine(p proc) string {
	args, _, ok := arguments(p.pid)
	if !ok || len(args) == 0 {
		return p.name
	}
	return strings.ToValidUTF8(strings.Join(args, " "), "\uFFFD")
}

// arguments returns the arguments and the environment with which pid began. The
// kernel gives the number of arguments, the path of the program, zero bytes up
// to a boundary, and then each text with a zero byte behind it.
func arguments(pid int) (args, env []string, ok bool) {
	raw, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil || len(raw) < 4 {
		return nil, nil, false
	}
	count := int(binary.LittleEndian.Uint32(raw))
	_, rest, _ := bytes.Cut(raw[4:], []byte{0})
	texts := strings.Split(string(bytes.TrimLeft(rest, "\x00")), "\x00")
	if count < 0 || count > len(texts) {
		return nil, nil, false
	}
	return texts[:count], texts[count:], true
}

// send sends sig to p, and to nobody who got its process id since. That p is gone
// is no error.
func send(p proc, sig syscall.Signal) error {
	if now, ok := look(p.pid); !ok || now.start != p.start {
		return nil
	}
	if err := syscall.Kill(p.pid, sig); !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
