package modeltest

import (
	"syscall"
	"testing"
	"time"
)

// CPU is the processor time that this process has used. On a machine that does
// other things as well it measures better than the clock.
func CPU(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
