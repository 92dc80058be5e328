// Package demo holds the small jobs that heddle demo does: a Go project with a
// failing test, and the script of a model that repairs and extends it.
package demo

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The jobs, one after the other. The second needs the project to be a git repository.
const (
	Repair = "The tests of this project fail. Find out why and repair the code, not the tests."
	Extend = "Add a function Gaps that returns what lies between the spans, with a test. First let two Explore agents look in the background, " +
		"one at the code and one at the tests. Then let a worker write it in a checkout of its own (isolation worktree, base working)."
)

// The Go files carry another ending, or they would belong to heddle's own build.
//
//go:embed project
var project embed.FS

//go:embed script.yaml
var script []byte

// Script returns the script of the model. It is the same every time; only what
// the tools find and do is real.
func Script() []byte { return script }

// Copy writes the project into dir, a folder that is not there yet.
func Copy(dir string) error {
	if err := copyTo(dir); err != nil {
		return fmt.Errorf("write the demo project: %w", err)
	}
	return nil
}

func copyTo(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	files, err := project.ReadDir("project")
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := project.ReadFile("project/" + f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(f.Name(), ".txt")), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
