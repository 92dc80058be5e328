package briefing

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Git is the state of a repository.
type Git struct {
	Branch  string // empty when HEAD is detached
	Commit  string
	Status  []string // short status lines
	More    int      // status lines left out
	Commits []string // the last ones, newest first
	Problem string   // why some of it is missing
}

const (
	gitPatience = 2 * time.Second // a slow file system must not keep the first request
	statusLines = 40
)

// readGit asks git. Two commands run at once; neither takes a lock that the user's own
// git could trip over.
func readGit(ctx context.Context, dir string) *Git {
	ctx, cancel := context.WithTimeout(ctx, gitPatience)
	defer cancel()
	var g Git
	var status, commits string
	var statusErr error
	var wg sync.WaitGroup
	wg.Go(func() {
		status, statusErr = git(ctx, dir, "status", "--porcelain=v2", "--branch", "--untracked-files=normal")
	})
	wg.Go(func() {
		commits, _ = git(ctx, dir, "log", "-5", "--format=%h %s", "--no-show-signature") // fails before the first commit
	})
	wg.Wait()
	if statusErr != nil {
		g.Problem = statusErr.Error()
		return &g
	}
	for line := range strings.Lines(status) {
		g.line(strings.TrimSuffix(line, "\n"))
	}
	if commits = strings.TrimSpace(commits); commits != "" {
		g.Commits = strings.Split(commits, "\n")
	}
	return &g
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
		case name == "branch.oid":
			g.Commit = value
		}
	case "1", "2", "u":
		state, _, _ := strings.Cut(rest, " ")
		fields := map[string]int{"1": 8, "2": 9, "u": 10}[kind]
		parts := strings.SplitN(line, " ", fields+1)
		g.change(strings.ReplaceAll(state, ".", " ") + " " + parts[len(parts)-1])
	case "?":
		g.change("?? " + rest)
	}
}

func (g *Git) change(line string) {
	if len(g.Status) == statusLines {
		g.More++
		return
	}
	g.Status = append(g.Status, line)
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"--no-optional-locks", "-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_PAGER=cat")
	cmd.WaitDelay = 100 * time.Millisecond
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return "", fmt.Errorf("git %s took longer than %v", args[0], gitPatience)
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return string(out), nil
}

func (g *Git) render(w *strings.Builder) {
	w.WriteString("<git>\n")
	switch {
	case g.Problem != "":
		fmt.Fprintf(w, "The state is not known: %s\n", escape(g.Problem))
	case g.Branch == "":
		fmt.Fprintf(w, "HEAD is detached at %s\n", escape(g.Commit))
	default:
		fmt.Fprintf(w, "Branch: %s\n", escape(g.Branch))
	}
	if len(g.Status) > 0 {
		fmt.Fprintf(w, "Changes at the start:\n%s\n", escape(strings.Join(g.Status, "\n")))
		if g.More > 0 {
			fmt.Fprintf(w, "… and %d more\n", g.More)
		}
	} else if g.Problem == "" {
		w.WriteString("No changes at the start\n")
	}
	if len(g.Commits) > 0 {
		fmt.Fprintf(w, "Last commits:\n%s\n", escape(strings.Join(g.Commits, "\n")))
	}
	w.WriteString("</git>\n")
}
