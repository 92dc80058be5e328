package transcript

import (
	"bytes"
	"fmt"
	"os"
)

// processStart returns when process pid began, in ticks since the system
// started, and whether it runs. A process that has ended but was not waited
// for does not run.
func processStart(pid int) (string, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", false
	}
	// The second field is the name in parentheses, which may hold anything.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const state, start = 0, 19
	if len(fields) <= start || fields[state][0] == 'Z' || fields[state][0] == 'X' {
		return "", false
	}
	return string(fields[start]), true
}
