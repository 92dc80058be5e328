package worktree

import (
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
	run(t, filepath.Dir(dir), "init", "-q", "-b", "main", dir)
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
