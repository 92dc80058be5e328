package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Home returns the directory where heddle keeps its state: $HEDDLE_HOME, or
// ~/.heddle. It need not exist: who writes there first makes it, with mode 0700.
func Home() (string, error) {
	if dir := os.Getenv("HEDDLE_HOME"); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return "", fmt.Errorf("HEDDLE_HOME: %w", err)
		}
		return abs, nil
	}
	dir, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(dir) {
		return "", errors.New("no place to keep state: set HEDDLE_HOME or HOME to an absolute path")
	}
	return filepath.Join(dir, ".heddle"), nil
}

// ProjectKey returns the name of the directory that holds the state of the
// project at dir, an absolute path. Different paths have different names: the
// end of the path is there for people, the hash of all of it for the rest.
func ProjectKey(dir string) string {
	dir = filepath.Clean(dir)
	sum := sha256.Sum256([]byte(dir))
	return readable(dir) + "-" + hex.EncodeToString(sum[:16])
}

// readable returns the end of path with nothing in it that a shell or a file
// system could stumble over.
func readable(path string) string {
	const most = 80 // bytes; with the hash far below the 255 of a name
	name := strings.Map(func(r rune) rune {
		if r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '.') {
			return r
		}
		return '-'
	}, path)
	if len(name) > most {
		name = name[len(name)-most:]
		for !utf8.RuneStart(name[0]) {
			name = name[1:]
		}
	}
	name = strings.Trim(name, "-.")
	if name == "" {
		return "root"
	}
	return name
}
