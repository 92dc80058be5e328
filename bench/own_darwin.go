package main

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// ownTime is the processor time of a process that runs, without that of its children.
func ownTime(pid int) (time.Duration, error) {
	text, err := column(pid, "time")
	if err != nil {
		return 0, err
	}
	minutes, seconds, _ := strings.Cut(text, ":") // 0:01.23
	d, err := time.ParseDuration(minutes + "m" + seconds + "s")
	if err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return d, nil
}

// ownMemory is the memory of a process that runs that is resident, in bytes. What it was
// at most, macOS does not tell of others.
func ownMemory(pid int) (int64, error) {
	text, err := column(pid, "rss")
	if err != nil {
		return 0, err
	}
	kib, err := strconv.ParseInt(text, 10, 64)
	return kib << 10, err
}

// column is what ps says of a process.
func column(pid int, name string) (string, error) {
	out, err := exec.Command("ps", "-o", name+"=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	return strings.TrimSpace(string(out)), nil
}
