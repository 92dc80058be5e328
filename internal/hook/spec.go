package hook

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"heddle/internal/process"
)

// spec says what to start. Only where there is no shell are the names in ${…} replaced:
// a shell finds them in its environment, and what they stand for is never its program.
func (r *Runner) spec(h Hook) (process.Spec, error) {
	spec := process.Spec{Dir: r.o.Dir, Env: r.environment(h), Mark: rand.Text(), Within: r.o.Within}
	if h.Args == nil {
		path, err := shell(h.Shell)
		spec.Path, spec.Args = path, []string{filepath.Base(path), "-c", h.Command}
		return spec, err
	}
	vars := r.variables(h)
	name := fill(h.Command, vars)
	spec.Args = []string{name}
	for _, a := range h.Args {
		spec.Args = append(spec.Args, fill(a, vars))
	}
	if strings.ContainsRune(name, filepath.Separator) {
		spec.Path = name
		if !filepath.IsAbs(name) {
			spec.Path = filepath.Join(r.o.Dir, name)
		}
		return spec, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return spec, fmt.Errorf("there is no program %q: %w", name, errors.Unwrap(err))
	}
	spec.Path = path
	return spec, nil
}

// shell finds the shell that was asked for. Where there is no bash, sh mostly will do.
func shell(name string) (string, error) {
	if name == "bash" {
		if path, err := exec.LookPath("bash"); err == nil {
			return path, nil
		}
	}
	path, err := exec.LookPath("sh")
	if err != nil {
		return "", fmt.Errorf("there is no shell: %w", err)
	}
	return path, nil
}

// environment returns what the command finds in its environment, each name once.
func (r *Runner) environment(h Hook) []string {
	env := os.Environ
	if r.o.Env != nil {
		env = r.o.Env
	}
	all := append([]string{}, env()...)
	all = append(all, r.projectEnv()...)
	all = append(all, "CLAUDECODE=1", "HEDDLE=1", "CLAUDE_CODE_SESSION_ID="+r.o.Session)
	all = append(all, h.Env...)
	return lastOfEach(all)
}

// lastOfEach leaves of several entries for a name the last: programs differ in which of
// them they see.
func lastOfEach(env []string) []string {
	last := map[string]int{}
	for i, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		last[name] = i
	}
	var out []string
	for i, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); last[name] == i {
			out = append(out, entry)
		}
	}
	return out
}
