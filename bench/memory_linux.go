package main

import "syscall"

// peakMiB is the largest resident size of a process; Linux counts in KiB.
func peakMiB(u *syscall.Rusage) float64 { return float64(u.Maxrss) / (1 << 10) }
