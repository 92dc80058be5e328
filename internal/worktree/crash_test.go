package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// helperVariable makes the test binary do one thing instead of running tests.
const helperVariable = "HEDDLE_WORKTREE_HELPER"

func TestMain(m *testing.M) {
	if job := os.Getenv(helperVariable); job != "" {
		if err := help(context.Background(), job, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	m.Run()
}

func help(ctx context.Context, job, repo, name string) error {
	switch job {
	case "create", "create-working":
		base := Head
		if job == "create-working" {
			base = Working
		}
		_, err := Create(ctx, Options{Dir: repo, Name: name, Base: base})
		return err
	}
	trees, _, err := List(ctx, repo)
	if err != nil {
		return err
	}
	if job == "remove" {
		return trees[0].Remove(ctx, true)
	}
	_, err = trees[0].Apply(ctx, ApplyOptions{Dir: repo})
	return err
}

func helper(t *testing.T, job, repo, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], repo, name)
	cmd.Env = append(os.Environ(), helperVariable+"="+job)
	return cmd
}

func makePipe(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

// await returns when a pipe was opened at its other end.
func await(t *testing.T, pipe string) {
	f, err := os.Open(pipe)
	if err != nil {
		t.Error(err)
		return
	}
	f.Close()
}

func TestCrashLeavesATreeThatCanBeRemoved(t *testing.T) {
	t.Parallel()
	repo, started, release := slowRepository(t)
	cmd := helper(t, "create", repo, "agent-1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, started)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	tree := only(t, repo)
	if err := tree.Remove(t.Context(), false); !errors.Is(err, ErrInUse) {
		t.Errorf("Remove while git still writes = %v, want ErrInUse", err)
	}
	f, err := os.OpenFile(release, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	gitEnded, err := lock(t.Context(), tree.repo.useFile(tree.Name))
	if err != nil {
		t.Fatal(err)
	}
	gitEnded.Close()
	trees, problems, err := List(t.Context(), repo)
	if err != nil || len(trees) != 1 || len(problems) != 1 || trees[0].Stage != Making || trees[0].InUse {
		t.Fatalf("List after a crash = %+v, %v, %v, want one half-made tree and a problem", trees, problems, err)
	}
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	checkNothingLeft(t, repo)
}

// killingGit puts a git into a folder that kills who calls it instead of running the
// command of a number, counted from 1.
func killingGit(t *testing.T, number int) (path string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plant(t, dir, map[string]string{"calls": "1\n"})
	script := fmt.Sprintf("#!/bin/sh\nread n < '%[1]s/calls'\necho $((n+1)) > '%[1]s/calls'\n[ $n -eq %[3]d ] && kill -9 $PPID\nexec '%[2]s' \"$@\"\n", dir, real, number)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir + ":" + os.Getenv("PATH")
}

// killAtEach does a job in helpers that are killed at each of their git commands from the
// first on that matters, in a repository of its own each, until one has too few commands
// to be killed.
func killAtEach(t *testing.T, job string, first int, prepare func(t *testing.T) string, check func(t *testing.T, repo string)) {
	t.Helper()
	for number := first; ; number++ {
		repo := prepare(t)
		cmd := helper(t, job, repo, "agent-1")
		cmd.Env = append(cmd.Env, killingGit(t, number))
		out, err := cmd.CombinedOutput()
		if err == nil {
			return
		}
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
			t.Fatalf("%s that is killed at command %d: %v\n%s", job, number, err, out)
		}
		check(t, repo)
		if t.Failed() {
			t.Fatalf("this was %s, killed at command %d", job, number)
		}
	}
}

func TestCreateThatIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	killAtEach(t, "create-working", 1, func(t *testing.T) string {
		repo := newRepository(t, map[string]string{"a": "1\n", "d/b": "1\n"})
		plant(t, repo, map[string]string{"a": "2\n"})
		return repo
	}, func(t *testing.T, repo string) {
		trees, _, err := List(t.Context(), repo)
		if err != nil {
			t.Fatal(err)
		}
		for i := range trees {
			awaitUnused(t, &trees[i])
			if err := trees[i].Remove(t.Context(), false); err != nil {
				t.Error(err)
			}
		}
		checkNothingLeft(t, repo)
		mustCreate(t, Options{Dir: repo, Name: "agent-1"})
	})
}

// awaitUnused returns when commands of a killed helper have ended.
func awaitUnused(t *testing.T, tree *Tree) {
	t.Helper()
	for _, path := range []string{tree.repo.private("lock"), tree.repo.useFile(tree.Name)} {
		f, err := lock(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

func TestRemoveThatIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	killAtEach(t, "remove", 1, func(t *testing.T) string {
		repo := newRepository(t, map[string]string{"a": "1\n"})
		tree := mustCreate(t, Options{Dir: repo, Name: "agent-1"})
		plant(t, tree.Path, map[string]string{"new": "n\n"})
		tree.Release()
		return repo
	}, func(t *testing.T, repo string) {
		trees, _, err := List(t.Context(), repo)
		if err != nil {
			t.Fatal(err)
		}
		for i := range trees {
			awaitUnused(t, &trees[i])
			if err := trees[i].Remove(t.Context(), trees[i].Stage == Ready); err != nil {
				t.Error(err)
			}
		}
		checkNothingLeft(t, repo)
	})
}

func TestApplyThatIsKilledAnywhere(t *testing.T) {
	t.Parallel()
	// What comes before these commands only records and merges.
	killAtEach(t, "apply", 9, func(t *testing.T) string {
		repo, tree := parent(t, Working)
		work(t, tree.Path)
		return repo
	}, func(t *testing.T, repo string) {
		if _, err := only(t, repo).Apply(t.Context(), ApplyOptions{Dir: repo}); err != nil {
			t.Fatal(err)
		}
		checkWorked(t, repo)
		if entries, err := os.ReadDir(filepath.Join(repo, ".heddle/worktrees")); err != nil || len(entries) != 1 {
			t.Errorf(".heddle/worktrees holds %v, %v, want the tree only", entries, err)
		}
	})
}

// An Apply that is killed between two files is one where some are as they were.
func TestApplyFinishesWhatIsHalfWritten(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(t *testing.T, repo string){
		"move half done": func(t *testing.T, repo string) {
			plant(t, repo, map[string]string{"moved": "a long text\nthat git recognises\nelsewhere\n"})
		},
		"merge not done": func(t *testing.T, repo string) {
			plant(t, repo, map[string]string{"both": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"})
		},
		"folder not replaced": func(t *testing.T, repo string) {
			os.Remove(filepath.Join(repo, "dir"))
			plant(t, repo, map[string]string{"dir/only": "y\n"})
		},
		"new file missing":      func(t *testing.T, repo string) { os.RemoveAll(filepath.Join(repo, "deep")) },
		"another file changed":  func(t *testing.T, repo string) { plant(t, repo, map[string]string{"another": "x\n"}) },
		"journal cut off":       func(t *testing.T, repo string) { cutJournals(t, repo, "{") },
		"journal without trees": func(t *testing.T, repo string) { cutJournals(t, repo, lostJournal) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repo, tree := parent(t, Working)
			work(t, tree.Path)
			cmd := helper(t, "apply", repo, tree.Name)
			cmd.Env = append(cmd.Env, killingGit(t, applyCommands))
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Fatalf("apply was not killed\n%s", out)
			}
			back(t, repo)
			got, err := tree.Apply(t.Context(), ApplyOptions{Dir: repo})
			if err != nil {
				t.Fatal(err, got)
			}
			checkWorked(t, repo)
		})
	}
}

// applyCommands is the number of the git command that ends an Apply.
const applyCommands = 14

var lostJournal = strings.ReplaceAll(`{"ours":"X","merged":"X","theirs":"X"}`, "X", strings.Repeat("ab", 20))

func cutJournals(t *testing.T, repo, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(repo, ".git/worktrees/*/heddle-apply-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("journals = %q, %v, want one", files, err)
	}
	if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTwoProcessesMakeManyTreesAtOnce(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n", "d/b": "1\n"})
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			if out, err := helper(t, "create", repo, fmt.Sprintf("agent-p%d", i)).CombinedOutput(); err != nil {
				t.Errorf("create in another process: %v\n%s", err, out)
			}
		})
		all.Go(func() {
			tree, err := Create(t.Context(), Options{Dir: repo, Name: fmt.Sprintf("agent-%d", i)})
			if err != nil {
				t.Error(err)
				return
			}
			tree.Release()
		})
	}
	all.Wait()
	trees, problems, err := List(t.Context(), repo)
	if len(trees) != 20 || len(problems) > 0 || err != nil {
		t.Errorf("List = %d trees, %v, %v, want 20", len(trees), problems, err)
	}
	for i := range trees {
		all.Go(func() {
			if err := trees[i].Remove(t.Context(), false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	checkNothingLeft(t, repo)
	if got := strings.Count(read(t, repo, ".git/info/exclude"), excludeLine); got != 1 {
		t.Errorf("info/exclude has the line %d times, want once", got)
	}
}
