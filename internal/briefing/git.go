package briefing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Git is the state of a repository.
type Git struct {
	Branch  string   // empty when HEAD is detached
	Default string   // the branch that others start from, where it is known
	Commit  string   // that HEAD is at; empty before the first
	Status  []string // the changes, as git status --short shows them
	More    int      // lines of Status left out
	Commits []string // the last ones, newest first
	Problem string   // why the changes are not known
}

const (
	statusLines = 40
	statusBytes = 64 << 10
)

// readGit asks git. The two commands run at once, and git may be slow, broken or
// missing: the branch is then still known from the files.
func readGit(ctx context.Context, root string, o Options) *Git {
	ctx, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	var status, log output
	var statusErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		statusErr = git(ctx, o, &status, "status", "--porcelain=v2", "--branch", "--no-ahead-behind",
			"--untracked-files=normal", "--ignore-submodules=dirty")
	})
	wg.Go(func() {
		// It fails before the first commit, which is no problem.
		_ = git(ctx, o, &log, "log", "-5", "--format=%h %s", "--no-show-signature", "--no-decorate")
	})
	g := &Git{}
	g.readFiles(root)
	wg.Wait()
	if commits := strings.TrimSpace(log.String()); commits != "" {
		g.Commits = strings.Split(commits, "\n")
	}
	if statusErr != nil {
		g.Problem = statusErr.Error()
		return g
	}
	for line := range strings.Lines(status.String()) {
		g.line(strings.TrimSuffix(line, "\n"))
	}
	g.More += status.dropped
	return g
}

// readFiles reads what needs no process: HEAD, and what origin calls its HEAD.
func (g *Git) readFiles(root string) {
	dir := filepath.Join(root, ".git")
	if link, ok := readSmall(dir); ok {
		if dir, ok = strings.CutPrefix(link, "gitdir: "); !ok {
			return
		}
		dir = absolute(root, dir)
	}
	if head, ok := readSmall(filepath.Join(dir, "HEAD")); ok {
		if branch, symbolic := strings.CutPrefix(head, "ref: refs/heads/"); !symbolic {
			g.Commit = head
		} else if branch != ".invalid" { // what other ways to store refs leave here
			g.Branch = branch
		}
	}
	if common, ok := readSmall(filepath.Join(dir, "commondir")); ok {
		dir = absolute(dir, common)
	}
	if head, ok := readSmall(filepath.Join(dir, "refs", "remotes", "origin", "HEAD")); ok {
		g.Default, _ = strings.CutPrefix(head, "ref: refs/remotes/origin/")
	}
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(base, path)
}

// readSmall returns the one line of a small file.
func readSmall(path string) (string, bool) {
	b, err := readRegular(path, 4096)
	return oneLine(strings.TrimSpace(string(b))), err == nil
}

// line takes in a line of git status in its second porcelain format.
func (g *Git) line(line string) {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "#":
		name, value, _ := strings.Cut(rest, " ")
		switch {
		case name == "branch.head" && value != "(detached)":
			g.Branch = value
		case name == "branch.head":
			g.Branch = ""
		case name == "branch.oid" && value != "(initial)":
			g.Commit = value
		}
	case "?":
		g.change("?? " + rest)
	case "1", "2", "u":
		// The path comes after so many fields, and may hold spaces itself.
		before := map[string]int{"1": 7, "2": 8, "u": 9}[kind]
		fields := strings.SplitN(rest, " ", before+1)
		if len(fields) <= before {
			return
		}
		path := fields[before]
		if to, from, renamed := strings.Cut(path, "\t"); renamed {
			path = from + " -> " + to
		}
		g.change(strings.ReplaceAll(fields[0], ".", " ") + " " + path)
	}
}

func (g *Git) change(line string) {
	if len(g.Status) == statusLines {
		g.More++
		return
	}
	g.Status = append(g.Status, line)
}

// git runs a git command that only reads. It takes no lock that the user's own git
// could trip over, asks nobody, starts no program that the repository names as its
// file system monitor, and does not look into submodules.
func git(ctx context.Context, o Options, out *output, args ...string) error {
	cmd := exec.CommandContext(ctx, "git", slices.Concat([]string{
		"--no-optional-locks", "--no-pager", "-C", o.Dir, "-c", "core.fsmonitor=false",
		"-c", "core.quotePath=false", "-c", "status.relativePaths=true",
	}, args)...)
	cmd.Env = append(withoutRepository(os.Environ()), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1")
	var stderr output
	cmd.Stdout, cmd.Stderr = out, &stderr
	// Whatever git started ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 100 * time.Millisecond
	err := cmd.Run()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return errors.New("git is not installed")
	case ctx.Err() != nil:
		return fmt.Errorf("git %s did not end within %v", args[0], o.Patience)
	}
	if said, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n"); said != "" {
		return fmt.Errorf("git %s: %s", args[0], said)
	}
	return fmt.Errorf("git %s: %w", args[0], err)
}

// withoutRepository takes out the variables that point git at another repository, as
// they are set where heddle runs in a hook.
func withoutRepository(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{
			"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE",
		}, name)
	})
}

// output keeps the first whole lines of what a command prints and counts the others.
type output struct {
	kept    bytes.Buffer // not embedded: its ReadFrom would pass by Write
	full    bool
	dropped int
}

// Write never fails: a command must not break because much is left out.
func (w *output) Write(p []byte) (int, error) {
	rest := p
	if room := statusBytes - w.kept.Len(); !w.full && len(p) > room {
		w.kept.Write(p[:room])
		w.kept.Truncate(bytes.LastIndexByte(w.kept.Bytes(), '\n') + 1)
		rest, w.full = p[room:], true
	}
	if w.full {
		w.dropped += bytes.Count(rest, []byte("\n"))
	} else {
		w.kept.Write(rest)
	}
	return len(p), nil
}

func (w *output) String() string { return w.kept.String() }
