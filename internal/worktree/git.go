package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// git is how git commands run at one place.
type git struct {
	dir string   // the working directory
	env []string // what this place needs on top
	// held is open in git too, so that a lock on it lasts until git ends, also if heddle
	// is killed before.
	held *os.File
}

// at is a place whose repository is not looked for: what a .git file in the tree says,
// which an agent could have written, counts for nothing.
func at(gitDir, top string) git {
	return git{dir: top, env: []string{"GIT_DIR=" + gitDir, "GIT_WORK_TREE=" + top}}
}

// with is g with more in its environment.
func (g git) with(env ...string) git {
	g.env = slices.Concat(g.env, env)
	return g
}

// gitError is a git command that did not succeed.
type gitError struct {
	command string
	said    string
	err     error
}

func (e *gitError) Error() string {
	if e.said == "" {
		return fmt.Sprintf("git %s: %v", e.command, e.err)
	}
	return fmt.Sprintf("git %s: %s", e.command, e.said)
}

func (e *gitError) Unwrap() error { return e.err }

// exitCode is the exit code of a git command that failed, or -1.
func exitCode(err error) int {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	return -1
}

// run runs git to its end and returns what it printed, also with an error. When ctx is
// done it is asked to end, so that it can take its locks away.
func (g git) run(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", slices.Concat([]string{
		"-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.splitIndex=false",
		"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "protocol.ext.allow=never",
		"-c", "advice.addEmbeddedRepo=false",
	}, args)...)
	cmd.Dir = g.dir
	cmd.Env = slices.Concat(ownEnvironment(os.Environ()), []string{"LC_ALL=C", "GIT_TERMINAL_PROMPT=0"}, g.env)
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	if g.held != nil {
		cmd.ExtraFiles = []*os.File{g.held}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 2 * time.Second
	err := cmd.Run()
	switch {
	case err == nil:
		return stdout.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", errors.New("git is not installed, or not in PATH")
	case ctx.Err() != nil:
		return "", fmt.Errorf("git %s: %w", args[0], context.Cause(ctx))
	}
	return stdout.String(), &gitError{args[0], complaint(stderr.String()), err}
}

// line is run for a command that prints one line.
func (g git) line(ctx context.Context, args ...string) (string, error) {
	out, err := g.run(ctx, "", args...)
	return strings.TrimSuffix(out, "\n"), err
}

// complaint is the line of an error output that says what is wrong.
func complaint(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, l := range lines {
		for _, mark := range []string{"fatal: ", "error: "} {
			if text, ok := strings.CutPrefix(l, mark); ok {
				return text
			}
		}
	}
	return lines[0]
}

// ownEnvironment is env without what would point git at another repository, another
// index or another configuration, as it is set where heddle runs in a hook.
func ownEnvironment(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "GIT_") && !slices.Contains([]string{
			"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH",
			"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ALLOW_PROTOCOL",
		}, name)
	})
}

// fields splits output whose entries each end with NUL.
func fields(out string) []string {
	if out == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
}
