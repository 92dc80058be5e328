package process

import (
	"os"
	"syscall"
)

// launch starts s in g, or without it if that is not possible. It returns the
// group that the child is in.
func launch(s Spec, g *group) (child, *group, error) {
	if g != nil {
		dir, err := os.Open(g.dir)
		if err == nil {
			c, err := s.fork(dir)
			dir.Close()
			if err == nil {
				return c, g, nil
			}
		}
		// Whether the group or the program was at fault, the next try tells.
		g.remove()
	}
	c, err := s.fork(nil)
	return c, nil, err
}

func (s Spec) fork(into *os.File) (child, error) {
	pidfd := noHandle
	sys := &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd}
	if into != nil {
		sys.UseCgroupFD, sys.CgroupFD = true, int(into.Fd())
	}
	pid, _, err := syscall.StartProcess(s.Path, s.Args, &syscall.ProcAttr{
		Dir: s.Dir, Env: s.Env, Sys: sys,
		Files: []uintptr{s.Stdin.Fd(), s.Stdout.Fd(), s.Stderr.Fd()},
	})
	if err != nil {
		return child{}, err
	}
	return child{pid: pid, handle: pidfd}, nil // -1, noHandle, where the kernel has none
}
