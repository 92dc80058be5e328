package briefing

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// platform says what machine commands will run on.
func platform() (arch, system, shell string) {
	arch = runtime.GOOS + "/" + runtime.GOARCH
	if path := os.Getenv("SHELL"); path != "" {
		shell = filepath.Base(path)
	}
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		system = cString(u.Sysname[:]) + " " + cString(u.Release[:])
	}
	// The distribution tells a model which package manager to use.
	release, err := os.ReadFile("/etc/os-release") // only Linux has one
	if err != nil {
		return arch, system, shell
	}
	for line := range strings.Lines(string(release)) {
		if name, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			system += ", " + strings.Trim(strings.TrimSpace(name), `"'`)
		}
	}
	return arch, system, shell
}

func cString(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// managedFolders are where whoever runs the machine keeps memory files.
func managedFolders() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/Library/Application Support/heddle", "/Library/Application Support/ClaudeCode"}
	}
	return []string{"/etc/heddle", "/etc/claude-code"}
}
