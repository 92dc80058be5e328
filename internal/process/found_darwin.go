package process

// handleOf returns the handle of a process that need not be our child.
func handleOf(pid int) int { return pid }
