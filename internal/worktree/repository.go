package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// repository is where a folder belongs to.
type repository struct {
	common string // the git folder that all of its trees share
	gitDir string // the git folder of the tree that was asked about
	top    string // the root of that tree
	head   string // the commit that is checked out there
	tree   string // of that commit
	taken  bool   // the branch that was asked about exists
}

// advice for a folder that has no repository an agent could get a tree of.
var (
	errOutside = errors.New("not in a git repository: run git init and commit, or start the agent without a worktree")
	errUnborn  = errors.New("the repository has no commit yet: commit once (git commit --allow-empty -m start), or start the agent without a worktree")
	errBare    = errors.New("the repository is bare, it has no files to work on: go to a checkout of it (git worktree add)")
	errInside  = errors.New("this is inside of a git folder: go to the tree that it belongs to")
)

// find asks git about a folder and whether it has a branch. It costs one git command.
func find(ctx context.Context, dir, branch string) (*repository, error) {
	const mark = "--is-bare-repository" // between paths, which may hold line ends
	args := []string{"rev-parse", mark, "--path-format=absolute", "--git-dir", mark, "--git-common-dir", mark, "--show-toplevel", mark, "HEAD^{commit}", "HEAD^{tree}"}
	if branch != "" {
		args = append(args, "--branches=["+branch[:1]+"]"+branch[1:]) // as a pattern, as it may be missing
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("look for a repository: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("look for a repository: %q is not a folder", dir)
	}
	out, err := git{dir: dir}.run(ctx, "", args...)
	if err != nil && out == "" {
		var said *gitError
		if errors.As(err, &said) && strings.HasPrefix(said.said, "not a git repository") {
			return nil, fmt.Errorf("%q is %w", dir, errOutside)
		}
		return nil, fmt.Errorf("look for a repository: %w", err)
	}
	bare := strings.HasPrefix(out, "true\n")
	parts := strings.Split("\n"+out, "\n"+map[bool]string{true: "true", false: "false"}[bare]+"\n")
	switch {
	case bare && err != nil:
		return nil, fmt.Errorf("%q: %w", dir, errBare)
	case err != nil && len(parts) < 5:
		return nil, fmt.Errorf("%q: %w", dir, errInside)
	case err != nil:
		return nil, fmt.Errorf("%q: %w", dir, errUnborn)
	case len(parts) != 5:
		return nil, fmt.Errorf("look for a repository: cannot make sense of what git says of %q", dir)
	}
	r := &repository{gitDir: parts[1], common: parts[2], top: parts[3]}
	commits := strings.Fields(parts[4])
	r.head, r.tree, r.taken = commits[0], commits[1], len(commits) > 2
	return r, nil
}

// home is the tree that holds the trees of agents: never one of these themselves, as it
// may be removed while others are at work.
func (r *repository) home() string {
	if r.gitDir == r.common {
		return r.top
	}
	if above := filepath.Dir(filepath.Dir(r.top)); filepath.Base(above) == stateFolder {
		if rec, err := r.read(filepath.Base(r.top)); err == nil && rec.path() == r.top {
			return string(rec.Repo)
		}
	}
	if filepath.Base(r.common) == ".git" {
		return filepath.Dir(r.common)
	}
	return r.top
}

const (
	stateFolder = ".heddle"
	excludeLine = "/" + stateFolder + "/worktrees/"
)

// treesOf is the folder of the trees of agents.
func treesOf(home string) string { return filepath.Join(home, stateFolder, "worktrees") }

// private is the folder in the git folder for what heddle keeps there.
func (r *repository) private(names ...string) string {
	return filepath.Join(append([]string{r.common, "heddle"}, names...)...)
}

// lock keeps others from making and removing trees.
func (r *repository) lock(ctx context.Context) (*os.File, error) {
	if err := os.MkdirAll(r.private("worktrees"), 0o755); err != nil {
		return nil, fmt.Errorf("note worktrees in the git folder: %w", err)
	}
	return lock(ctx, r.private("lock"))
}

// exclude makes git overlook the trees of agents, without a change to a tracked file.
func (r *repository) exclude(ctx context.Context) error {
	path := filepath.Join(r.common, "info", "exclude")
	line, err := missingLine(path)
	if err != nil || line == "" {
		return err
	}
	locked, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer locked.Close()
	if line, err = missingLine(path); err != nil || line == "" {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("exclude worktrees from git: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("exclude worktrees from git: %w", err)
	}
	_, err = f.WriteString(line)
	if err := errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("exclude worktrees from git: %w", err)
	}
	return nil
}

// missingLine is what has to be appended to a file of excludes; empty: nothing.
func missingLine(path string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("exclude worktrees from git: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.TrimRight(line, " \r\n") == excludeLine {
			return "", nil
		}
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return "\n" + excludeLine + "\n", nil
	}
	return excludeLine + "\n", nil
}

// plainFolders refuses a folder of trees that is a link: what is written and removed
// there would be somewhere else.
func plainFolders(home string) error {
	for _, dir := range []string{filepath.Join(home, stateFolder), treesOf(home)} {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("look at the folder of worktrees: %w", err)
		case !info.IsDir():
			return fmt.Errorf("%q must be a folder and no link: move it away", dir)
		}
	}
	return nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9_-]|\.[A-Za-z0-9_-])*$`)

const nameLength = 100

// checkName refuses what cannot be the name of a folder and of a branch alike.
func checkName(name string) error {
	if len(name) > nameLength || !nameForm.MatchString(name) || strings.HasSuffix(name, ".lock") {
		return fmt.Errorf("%q cannot be the name of a worktree: use up to %d letters, digits, - and _, as in agent-1", name, nameLength)
	}
	return nil
}
