// Package demo holds the small job that heddle demo does: a Go project with a
// failing test, and the script of a model that repairs it.
package demo

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Prompt is the job.
const Prompt = "The tests of this project fail. Find out why and repair the code, not the tests."

// The Go files carry another ending, or they would belong to heddle's own build.
//
//go:embed project
var project embed.FS

//go:embed script.yaml
var script []byte

// Script returns the script of the model. It is the same every time; only what
// the tools find and do is real.
func Script() []byte { return script }

// Copy writes the project into dir, which it makes.
func Copy(dir string) error {
	return fs.WalkDir(project, "project", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimSuffix(strings.TrimPrefix(name, "project"), ".txt")
		path := filepath.Join(dir, filepath.FromSlash(rel))
		if d.IsDir() {
			return os.MkdirAll(path, 0o755)
		}
		b, err := project.ReadFile(name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return fmt.Errorf("write the demo project: %w", err)
		}
		return nil
	})
}
