package worktree

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// parent is a tree with changes of its own, and the one of an agent that began with it.
func parent(t *testing.T, base Base) (repo string, tree *Tree) {
	t.Helper()
	repo = newRepository(t, map[string]string{
		"both": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "gone": "x\n", "moved": "a long text\nthat git recognises\nelsewhere\n",
		"run.sh": "#!/bin/sh\n", "dir/only": "y\n", "to-link": "z\n", ".gitignore": "*.log\n",
	})
	plant(t, repo, map[string]string{"both": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n", "new-here": "here\n"})
	run(t, repo, "add", "both")
	return repo, mustCreate(t, Options{Dir: repo, Name: "agent-a", Base: base})
}

// work is what the agent does: some of it is committed.
func work(t *testing.T, dir string) {
	t.Helper()
	both := strings.Replace(read(t, dir, "both"), "1\n", "one\n", 1)
	plant(t, dir, map[string]string{"both": both, "deep/er/new": "new\n", "bin": "\x00\x01\xff\n"})
	run(t, dir, "mv", "moved", "moved-on")
	run(t, dir, "add", "-A")
	run(t, dir, "commit", "-q", "-m", "work")
	for _, name := range []string{"gone", "dir", "to-link"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("both", filepath.Join(dir, "to-link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	plant(t, dir, map[string]string{"dir": "a file now\n", "line\nend \xff": "odd\n", "x.log": "ignored\n"})
}

func TestApplyBringsOverAllThatWasDone(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]Base{"head": Head, "working": Working} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, tree := parent(t, base)
			work(t, tree.Path)
			staged := run(t, repo, "diff", "--cached")
			got, err := tree.Apply(t.Context(), ApplyOptions{Dir: filepath.Join(repo, "dir")})
			if err != nil {
				t.Fatal(err, got)
			}
			want := []string{"bin", "both", "deep/er/new", "dir", "dir/only", "gone", "line\nend \xff", "moved", "moved-on", "run.sh", "to-link"}
			if diff := cmp.Diff(want, got.Files); diff != "" {
				t.Errorf("files that Apply wrote (-want +got):\n%s", diff)
			}
			checkWorked(t, repo)
			if now := run(t, repo, "diff", "--cached"); now != staged {
				t.Errorf("the index after Apply:\n%s\nwant it as before:\n%s", now, staged)
			}
			got, err = tree.Apply(t.Context(), ApplyOptions{Dir: repo})
			if err != nil || len(got.Files) > 0 {
				t.Errorf("second Apply = %q, %v, want nothing", got.Files, err)
			}
		})
	}
}

// checkWorked compares a tree with what work made of it and parent left there.
func checkWorked(t *testing.T, repo string) {
	t.Helper()
	for name, want := range map[string]string{
		"both": "one\n2\n3\n4\n5\n6\n7\n8\nnine\n", "new-here": "here\n", "deep/er/new": "new\n", "bin": "\x00\x01\xff\n",
		"dir": "a file now\n", "line\nend \xff": "odd\n", "moved-on": "a long text\nthat git recognises\nelsewhere\n",
	} {
		if got := read(t, repo, name); got != want {
			t.Errorf("%q = %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"gone", "moved", "x.log"} {
		if _, err := os.Lstat(filepath.Join(repo, name)); err == nil {
			t.Errorf("%q is there, want it gone", name)
		}
	}
	if got, err := os.Readlink(filepath.Join(repo, "to-link")); got != "both" {
		t.Errorf("link to-link = %q, %v, want both", got, err)
	}
	if info, err := os.Stat(filepath.Join(repo, "run.sh")); err != nil || info.Mode()&0o111 == 0 {
		t.Errorf("run.sh = %v, %v, want it executable", info, err)
	}
}

func TestApplyChangesNothingIfThereAreConflicts(t *testing.T) {
	t.Parallel()
	repo, tree := parent(t, Working)
	plant(t, tree.Path, map[string]string{"both": "theirs\n", "fine": "f\n", "gone": "changed\n", "b.log": "l\n"})
	run(t, tree.Path, "add", "-f", "b.log")
	plant(t, repo, map[string]string{"both": "ours\n", "b.log": "mine\n"})
	if err := os.Remove(filepath.Join(repo, "gone")); err != nil {
		t.Fatal(err)
	}
	before := run(t, repo, "status", "--porcelain=v2")
	got, err := tree.Apply(t.Context(), ApplyOptions{Dir: repo})
	if !errors.Is(err, ErrConflict) {
		t.Fatalf("Apply = %v, %v, want ErrConflict", got, err)
	}
	want := []Conflict{
		{"both", "both sides changed the same lines"},
		{"gone", "one side deleted it and the other changed it"},
		{"b.log", "a file that git ignores is in the way"},
	}
	if diff := cmp.Diff(want, got.Conflicts); diff != "" || len(got.Files) > 0 {
		t.Errorf("Apply wrote %q, conflicts (-want +got):\n%s", got.Files, diff)
	}
	if now := run(t, repo, "status", "--porcelain=v2"); now != before {
		t.Errorf("git status after Apply:\n%s\nwant it as before:\n%s", now, before)
	}
	if got, err = tree.Apply(t.Context(), ApplyOptions{Dir: repo, Force: true}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"both", "fine", "gone"}, got.Files); diff != "" {
		t.Errorf("files that Apply with force wrote (-want +got):\n%s", diff)
	}
	if text := read(t, repo, "both"); !strings.Contains(text, "<<<<<<<") || !strings.Contains(text, "ours\n=======\ntheirs\n>>>>>>>") {
		t.Errorf("both = %q, want marks of a conflict", text)
	}
	if text := read(t, repo, "b.log"); text != "mine\n" {
		t.Errorf("b.log = %q, want it untouched", text)
	}
}
