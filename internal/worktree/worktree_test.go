package worktree

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// plant writes files into a folder.
func plant(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs git as a person would.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(ownEnvironment(os.Environ()), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// newRepository makes a repository with one commit.
func newRepository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "re po")
	run(t, filepath.Dir(dir), "init", "-q", "-b", "main", "--template=", dir)
	config, err := os.OpenFile(filepath.Join(dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = config.WriteString("[core]\n\tfsync = none\n") // no test pulls the plug
	if err := errors.Join(err, config.Close()); err != nil {
		t.Fatal(err)
	}
	plant(t, dir, files)
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "first")
	return dir
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func mustCreate(t *testing.T, o Options) *Tree {
	t.Helper()
	tree, err := Create(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tree.Release)
	return tree
}

func TestCreateMakesACheckoutThatGitOverlooks(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n"})
	plant(t, repo, map[string]string{"a.txt": "uncommitted\n"})
	before := run(t, repo, "status", "--porcelain")
	tree := mustCreate(t, Options{Dir: filepath.Join(repo, "sub"), Name: "agent-1"})
	if want := filepath.Join(repo, ".heddle/worktrees/agent-1"); tree.Path != want || tree.Repo != repo {
		t.Errorf("Create = a tree at %q of %q, want %q of %q", tree.Path, tree.Repo, want, repo)
	}
	if len(tree.Notes) != 1 || !strings.HasPrefix(tree.Notes[0], "1 uncommitted change in ") {
		t.Errorf("notes = %q, want one on the uncommitted change", tree.Notes)
	}
	if got := read(t, tree.Path, "a.txt"); got != "one\n" {
		t.Errorf("a.txt in the tree = %q, want the committed one", got)
	}
	if got := run(t, repo, "status", "--porcelain"); got != before {
		t.Errorf("git status after Create = %q, want %q", got, before)
	}
	if got, want := run(t, tree.Path, "rev-parse", "HEAD"), run(t, repo, "rev-parse", "HEAD"); got != want || tree.Base != want {
		t.Errorf("HEAD of the tree = %s with base %s, want %s", got, tree.Base, want)
	}
	if got := run(t, tree.Path, "branch", "--show-current"); got != "agent-1" {
		t.Errorf("branch of the tree = %q, want agent-1", got)
	}
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if got := run(t, repo, "branch", "--list", "agent-1"); got != "" {
		t.Errorf("branches after Remove = %q, want no agent-1", got)
	}
	if got := run(t, repo, "worktree", "list"); strings.Contains(got, "agent-1") {
		t.Errorf("git worktree list after Remove = %s, want no agent-1", got)
	}
}

func TestDiffShowsAllThatWasDone(t *testing.T) {
	t.Parallel()
	repo, tree := parent(t, Working)
	work(t, tree.Path)
	patch, err := tree.Diff(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	run(t, repo, "worktree", "add", "-q", "--detach", other, tree.Base)
	file := filepath.Join(t.TempDir(), "patch")
	if err := os.WriteFile(file, []byte(patch), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, other, "apply", file)
	checkWorked(t, other)
}

func TestGuardNamesTheTrees(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n"})
	tree := mustCreate(t, Options{Dir: repo, Name: "agent-1"})
	g := tree.Guard()
	if g.Own != tree.Path || g.Parent != repo || g.GitDir != filepath.Join(repo, ".git") {
		t.Errorf("Guard = %+v", g)
	}
	if err := os.Remove(filepath.Join(tree.Path, ".git")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "rev-parse", "--show-toplevel")
	cmd.Dir = tree.Path
	cmd.Env = append(ownEnvironment(os.Environ()), g.Env...)
	if out, err := cmd.Output(); err == nil {
		t.Errorf("git in a tree without .git found %s, want nothing", out)
	}
}
