package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Scrub removes the values of variables from what the system shows of this
// program's environment: /proc/self/environ, which every command that it starts may
// read. The program itself keeps them, since Go has copied its environment.
func Scrub(names ...string) error {
	environ, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		return fmt.Errorf("hide variables: %w", err)
	}
	start, err := environAddress()
	if err != nil {
		return fmt.Errorf("hide variables: %w", err)
	}
	memory, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("hide variables: %w", err)
	}
	defer memory.Close()
	offset := int64(0)
	for _, kv := range bytes.SplitAfter(environ, []byte{0}) {
		for _, name := range names {
			value, ok := bytes.CutPrefix(bytes.TrimSuffix(kv, []byte{0}), []byte(name+"="))
			if !ok || len(value) == 0 {
				continue
			}
			at := start + offset + int64(len(name)+1)
			if _, err := memory.WriteAt(bytes.Repeat([]byte{'-'}, len(value)), at); err != nil {
				return fmt.Errorf("hide variable %s: %w", name, err)
			}
		}
		offset += int64(len(kv))
	}
	return nil
}

// environAddress is where the environment lies in the memory of this program.
func environAddress() (int64, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, err
	}
	// The name of the program, in parentheses, may hold anything. Field 50 of proc(5) is
	// env_start; the first behind the name is field 3.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const envStart = 50 - 3
	if len(fields) <= envStart {
		return 0, fmt.Errorf("/proc/self/stat has only %d fields", len(fields))
	}
	return strconv.ParseInt(fields[envStart], 10, 64)
}
