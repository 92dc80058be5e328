package worktree

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// State is what is in a tree that could be lost with it. Paths are relative to it.
type State struct {
	Dirty     []string // tracked files that differ from the last commit
	Untracked []string // new files
	Ignored   []string // files and folders that git ignores, without those that were copied: no loss, as tools make them
	Changed   []string // ignored files that were copied at the start and are different now
	Commits   int      // since Base
	// Own are those of Commits that no other branch has. They stay on the branch of the
	// tree when the tree is removed, unless they were made without a branch.
	Own        int
	InProgress string   // merge, rebase, cherry-pick, revert or bisect; empty: none
	Stashes    []string // made on the branch of the tree
}

// Losses are the reasons to keep the tree, for people. There are none if all that is in
// it is elsewhere too.
func (s State) Losses() []string {
	var out []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			out = append(out, one)
		case n > 1:
			out = append(out, fmt.Sprintf("%d %s", n, many))
		}
	}
	count(len(s.Dirty), "1 changed file", "changed files")
	count(len(s.Untracked), "1 new file", "new files")
	count(len(s.Changed), "1 changed file that git ignores", "changed files that git ignores")
	count(s.Own, "1 commit", "commits")
	count(len(s.Stashes), "1 stash", "stashes")
	if s.InProgress != "" {
		out = append(out, "a "+s.InProgress+" that has not ended")
	}
	return out
}

// State looks at the tree, also if the folder was deleted: commits and stashes are in the
// repository.
func (t *Tree) State(ctx context.Context) (State, error) {
	s, err := t.state(ctx)
	if err != nil {
		return State{}, fmt.Errorf("look at worktree %s: %w", t.Name, err)
	}
	return s, nil
}

func (t *Tree) state(ctx context.Context) (State, error) {
	var s State
	_, err := os.Lstat(t.Path)
	there := err == nil
	if there && t.admin == "" {
		return s, fmt.Errorf("the git folder of %q is gone: what is in it cannot be told", t.Path)
	}
	if there {
		if err := t.files(ctx, &s); err != nil {
			return s, err
		}
		if err := t.changedCopies(&s); err != nil {
			return s, err
		}
	}
	if t.admin != "" {
		s.InProgress = inProgress(t.admin)
	}
	return s, t.history(ctx, &s)
}

// files reads what git says of the files.
func (t *Tree) files(ctx context.Context, s *State) error {
	g := t.git().with("GIT_OPTIONAL_LOCKS=0")
	out, err := g.run(ctx, "", "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=none")
	if err != nil {
		return err
	}
	parseStatus(out, s)
	return nil
}

// parseStatus reads the output of git status: two letters, a space and a path, each.
func parseStatus(out string, s *State) {
	for _, entry := range fields(out) {
		if len(entry) < 4 {
			continue
		}
		switch path := entry[3:]; entry[:2] {
		case "??":
			s.Untracked = append(s.Untracked, path)
		case "!!":
			s.Ignored = append(s.Ignored, path)
		default:
			s.Dirty = append(s.Dirty, path)
		}
	}
}

// changedCopies looks at the ignored files that the tree began with.
func (t *Tree) changedCopies(s *State) error {
	rec, err := t.repo.read(t.Name)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(t.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	began := map[string]bool{}
	for _, c := range rec.Copied {
		began[string(c.Path)] = true
		if c.changed(root) {
			s.Changed = append(s.Changed, string(c.Path))
		}
	}
	s.Ignored = withoutCopies(root, s.Ignored, began)
	return nil
}

// withoutCopies takes the files that a tree began with out of those that git ignores. A
// folder that has some of them becomes the others in it.
func withoutCopies(root *os.Root, ignored []string, began map[string]bool) []string {
	var rest []string
	for _, p := range ignored {
		folder := strings.HasSuffix(p, "/")
		switch {
		case began[p]:
		case folder && hasAny(p, began):
			_ = fs.WalkDir(root.FS(), path.Clean(p), func(name string, d fs.DirEntry, err error) error {
				if err != nil || !d.IsDir() && !began[name] {
					rest = append(rest, name)
				}
				return nil
			})
		default:
			rest = append(rest, p)
		}
	}
	return rest
}

func hasAny(folder string, files map[string]bool) bool {
	for name := range files {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	return false
}

// inProgress is what git is in the middle of.
func inProgress(admin string) string {
	for _, p := range []struct{ file, what string }{
		{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(admin, p.file)); err == nil {
			return p.what
		}
	}
	return ""
}

// history reads the commits and stashes.
func (t *Tree) history(ctx context.Context, s *State) error {
	g := git{dir: t.repo.common, env: []string{"GIT_DIR=" + t.repo.common}}
	tips := []string{"refs/heads/" + t.Branch}
	if head, ok := t.head(ctx); ok {
		tips = append(tips, head)
	}
	out, err := g.line(ctx, slices.Concat([]string{"rev-list", "--count", "--ignore-missing"}, tips, []string{"^" + t.Base})...)
	if err != nil {
		return err
	}
	if s.Commits, err = strconv.Atoi(out); err != nil {
		return fmt.Errorf("count commits: %w", err)
	}
	if s.Commits > 0 {
		if s.Own, err = ownCommits(ctx, g, t, tips...); err != nil {
			return err
		}
	}
	return t.stashes(ctx, g, s)
}

// head is the commit that is checked out in the tree.
func (t *Tree) head(ctx context.Context) (string, bool) {
	if t.admin == "" {
		return "", false
	}
	g := git{dir: t.repo.common, env: []string{"GIT_DIR=" + t.admin}}
	head, err := g.line(ctx, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
	return head, err == nil
}

// ownCommits counts the commits that only the tree has.
func ownCommits(ctx context.Context, g git, t *Tree, tips ...string) (int, error) {
	args := slices.Concat([]string{"rev-list", "--count", "--ignore-missing"}, tips,
		[]string{"^" + t.Base, "--not", "--exclude=" + t.Branch, "--branches", "--remotes", "--tags"})
	out, err := g.line(ctx, args...)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(out)
	if err != nil {
		return 0, fmt.Errorf("count commits: %w", err)
	}
	return n, nil
}

// stashes finds those that git made on the branch of the tree: all trees share one list.
func (t *Tree) stashes(ctx context.Context, g git, s *State) error {
	out, err := g.run(ctx, "", "stash", "list", "-z", "--format=%gs")
	if err != nil {
		return err
	}
	for _, text := range fields(out) {
		for _, start := range []string{"WIP on ", "On "} {
			if strings.HasPrefix(text, start+t.Branch+":") {
				s.Stashes = append(s.Stashes, text)
			}
		}
	}
	return nil
}
