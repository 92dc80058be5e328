package transcript

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// processStart returns when process pid began, and whether it runs. A process
// that has ended but was not waited for does not run.
func processStart(pid int) (string, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	const zombie = 5 // SZOMB of sys/proc.h
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return "", false
	}
	t := info.Proc.P_starttime
	return fmt.Sprintf("%d.%06d", t.Sec, t.Usec), true
}
