package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRemoveRefusesIfWorkWouldBeLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		work func(t *testing.T, dir string)
		want []string // nil: it is removed
	}{
		"nothing":         {func(*testing.T, string) {}, nil},
		"changed":         {func(t *testing.T, dir string) { plant(t, dir, map[string]string{"a": "2\n"}) }, []string{"1 changed file"}},
		"deleted":         {func(t *testing.T, dir string) { run(t, dir, "rm", "-q", "a") }, []string{"1 changed file"}},
		"new":             {func(t *testing.T, dir string) { plant(t, dir, map[string]string{"d/n": "", "d/m": ""}) }, []string{"2 new files"}},
		"ignored":         {func(t *testing.T, dir string) { plant(t, dir, map[string]string{"x.log": ""}) }, nil},
		"committed":       {commitSome, []string{"2 commits"}},
		"without branch":  {func(t *testing.T, dir string) { run(t, dir, "checkout", "-q", "--detach"); commitSome(t, dir) }, []string{"2 commits"}},
		"on a branch too": {func(t *testing.T, dir string) { commitSome(t, dir); run(t, dir, "branch", "kept") }, nil},
		"branch deleted": {func(t *testing.T, dir string) {
			run(t, dir, "checkout", "-q", "--detach")
			run(t, dir, "branch", "-q", "-D", "agent-1")
			commitSome(t, dir)
		}, []string{"2 commits"}},
		"stashed": {func(t *testing.T, dir string) {
			plant(t, dir, map[string]string{"a": "2\n"})
			run(t, dir, "stash", "push", "-q", "-m", "later")
		}, []string{"1 stash"}},
		"merging": {func(t *testing.T, dir string) { run(t, dir, "merge", "-q", "--no-ff", "--no-commit", "side") },
			[]string{"1 changed file", "a merge that has not ended"}},
		"git folder gone": {func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, ".git")) }, nil},
		"led elsewhere": {func(t *testing.T, dir string) {
			plant(t, dir, map[string]string{".git": "gitdir: " + filepath.Join(dir, "../../../.git") + "\n", "a": "2\n"})
		}, []string{"1 changed file"}},
		"folder gone": {func(t *testing.T, dir string) { os.RemoveAll(dir) }, nil},
		"folder gone with commits": {func(t *testing.T, dir string) { commitSome(t, dir); os.RemoveAll(dir) },
			[]string{"2 commits"}},
		"closed folders": {func(t *testing.T, dir string) {
			plant(t, dir, map[string]string{"c.log/d/e": ""})
			os.Chmod(filepath.Join(dir, "c.log/d"), 0o500)
			os.Chmod(filepath.Join(dir, "c.log"), 0o500)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := newRepository(t, map[string]string{"a": "1\n", ".gitignore": "*.log\n"})
			run(t, repo, "checkout", "-q", "-b", "side")
			plant(t, repo, map[string]string{"side": "s\n"})
			run(t, repo, "add", "-A")
			run(t, repo, "commit", "-q", "-m", "side")
			run(t, repo, "checkout", "-q", "main")
			tree := mustCreate(t, Options{Dir: repo, Name: "agent-1"})
			tt.work(t, tree.Path)
			checkRemove(t, repo, tree, tt.want)
		})
	}
}

func commitSome(t *testing.T, dir string) {
	t.Helper()
	for _, text := range []string{"2\n", "3\n"} {
		plant(t, dir, map[string]string{"a": text})
		run(t, dir, "commit", "-q", "-a", "-m", "work")
	}
}

// checkRemove removes a tree, with force if work would be lost.
func checkRemove(t *testing.T, repo string, tree *Tree, want []string) {
	t.Helper()
	tip := run(t, repo, "for-each-ref", "--format=%(objectname)", "refs/heads/agent-1")
	keepsBranch := tip != "" && tip != tree.Base && want != nil
	err := tree.Remove(t.Context(), false)
	var loss *LossError
	if errors.As(err, &loss) {
		if diff := cmp.Diff(want, loss.State.Losses()); diff != "" {
			t.Errorf("losses (-want +got):\n%s", diff)
		}
		err = tree.Remove(t.Context(), true)
	} else if want != nil {
		t.Errorf("Remove = %v, want a refusal", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(tree.Path); err == nil {
		t.Error("the folder is there after Remove")
	}
	if got := run(t, repo, "branch", "--list", "agent-1"); (got != "") != keepsBranch {
		t.Errorf("branch after Remove = %q, want it kept: %v", got, keepsBranch)
	}
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Errorf("Remove of what is removed = %v", err)
	}
}

func TestRemoveLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n"})
	tree := mustCreate(t, Options{Dir: repo, Name: "agent-1"})
	other := only(t, repo)
	if !other.InUse {
		t.Errorf("List = %+v, want it in use", other)
	}
	if err := other.Remove(t.Context(), true); !errors.Is(err, ErrInUse) {
		t.Errorf("Remove of a tree in use = %v, want ErrInUse", err)
	}
	tree.Release()
	if err := other.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tree.Remove(t.Context(), true); !errors.Is(err, ErrInUse) {
		t.Errorf("Remove of a tree that another claimed = %v, want ErrInUse", err)
	}
	other.Release()
	plant(t, other.Path, map[string]string{"new": "n\n"})
	var loss *LossError
	if err := other.Remove(t.Context(), false); !errors.As(err, &loss) || other.InUse {
		t.Errorf("Remove of a tree with a new file = %v, in use: %v, want a LossError and out of use", err, other.InUse)
	}
	if err := tree.Remove(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	checkNothingLeft(t, repo)
}

// only is the one tree that List shows.
func only(t *testing.T, repo string) *Tree {
	t.Helper()
	trees, _, err := List(t.Context(), repo)
	if err != nil || len(trees) != 1 {
		t.Fatalf("List = %v, %v, want one tree", trees, err)
	}
	t.Cleanup(trees[0].Release)
	return &trees[0]
}

func TestRemoveTrustsNoRecordBlindly(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(rec *record, repo string){
		"another folder": func(rec *record, repo string) { rec.Repo = []byte(filepath.Join(repo, "other")) },
		"git folder":     func(rec *record, repo string) { rec.Repo = []byte(filepath.Join(repo, ".git")) },
		"root":           func(rec *record, _ string) { rec.Repo = []byte("/") },
		"dots":           func(rec *record, repo string) { rec.Repo = []byte(repo + "/.heddle/../other") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo := newRepository(t, map[string]string{"a": "1\n"})
			plant(t, repo, map[string]string{"other/.heddle/worktrees/agent-1/x": "mine\n", ".git/.heddle/worktrees/agent-1/x": "mine\n"})
			mustCreate(t, Options{Dir: repo, Name: "agent-1"}).Release()
			r, err := find(t.Context(), repo, "")
			if err != nil {
				t.Fatal(err)
			}
			rec, err := r.read("agent-1")
			if err != nil {
				t.Fatal(err)
			}
			edit(rec, repo)
			if err := r.write(rec); err != nil {
				t.Fatal(err)
			}
			if err := only(t, repo).Remove(t.Context(), true); err == nil {
				t.Error("Remove by a record that was edited = nil, want an error")
			}
			for _, dir := range []string{"other", ".git"} {
				if got := read(t, repo, dir, ".heddle/worktrees/agent-1/x"); got != "mine\n" {
					t.Errorf("file in %s = %q, want it untouched", dir, got)
				}
			}
		})
	}
}

func TestListToleratesBrokenRecords(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n"})
	mustCreate(t, Options{Dir: repo, Name: "agent-1"}).Release()
	mustCreate(t, Options{Dir: repo, Name: "agent-2"}).Release()
	plant(t, repo, map[string]string{
		".git/heddle/worktrees/agent-1.json": "{", ".git/heddle/worktrees/..json": "{}", ".git/heddle/worktrees/-x.json": "{}",
	})
	trees, problems, err := List(t.Context(), repo)
	if err != nil || len(trees) != 2 || len(problems) != 3 {
		t.Fatalf("List = %v, %v, %v, want 2 trees and 3 problems", trees, problems, err)
	}
	if err := trees[0].Remove(t.Context(), false); err == nil {
		t.Error("Remove with a broken record = nil, want an error")
	}
	if err := trees[0].Remove(t.Context(), true); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(trees[0].Path); err == nil {
		t.Error("the folder is there after Remove")
	}
}
