package worktree

import (
	"errors"
	"os"
	"os/exec"
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

func TestApplyBringsOnlyWhatIsNew(t *testing.T) {
	t.Parallel()
	repo, tree := parent(t, Working)
	apply := func(want ...string) {
		t.Helper()
		got, err := tree.Apply(t.Context(), ApplyOptions{Dir: repo})
		if err != nil {
			t.Fatal(err, got)
		}
		if diff := cmp.Diff(want, got.Files); diff != "" {
			t.Errorf("files that Apply wrote (-want +got):\n%s", diff)
		}
	}
	plant(t, tree.Path, map[string]string{"gone": "first\n", "new": "n\n"})
	apply("gone", "new")
	if err := os.Remove(filepath.Join(repo, "new")); err != nil {
		t.Fatal(err)
	}
	plant(t, tree.Path, map[string]string{"gone": "second\n"})
	run(t, repo, "add", "-A")
	run(t, repo, "commit", "-q", "-m", "parent goes on")
	apply("gone")
	if got := read(t, repo, "gone"); got != "second\n" {
		t.Errorf("gone = %q, want the second", got)
	}
	run(t, tree.Path, "commit", "-q", "-a", "-m", "the same, committed")
	apply()
}

func TestApplyKeepsLineEndsAndRights(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a.txt": "1\n", ".gitattributes": "*.txt text eol=crlf\n", "secret": "1\n"})
	if err := os.Chmod(filepath.Join(repo, "secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	tree := mustCreate(t, Options{Dir: repo, Name: "agent-1"})
	plant(t, tree.Path, map[string]string{"a.txt": "2\r\n", "secret": "2\n"})
	if _, err := tree.Apply(t.Context(), ApplyOptions{Dir: repo}); err != nil {
		t.Fatal(err)
	}
	if got := read(t, repo, "a.txt"); got != "2\r\n" {
		t.Errorf("a.txt = %q, want line ends of the tree", got)
	}
	if info, err := os.Stat(filepath.Join(repo, "secret")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("secret = %v, %v, want its rights as before", info.Mode(), err)
	}
}

func TestApplyRefusesWhatIsNoFile(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n", ".gitignore": "out\nfull\n"})
	outside := t.TempDir()
	if err := os.Symlink(outside, filepath.Join(repo, "out")); err != nil {
		t.Fatal(err)
	}
	plant(t, repo, map[string]string{"full/x": "mine\n"})
	tree := mustCreate(t, Options{Dir: repo, Name: "agent-1"})
	plant(t, tree.Path, map[string]string{"out/x": "x\n", "full": "x\n", "inner/f": "x\n"})
	run(t, tree.Path, "add", "-f", "out/x", "full")
	run(t, filepath.Join(tree.Path, "inner"), "init", "-q")
	run(t, filepath.Join(tree.Path, "inner"), "commit", "-q", "--allow-empty", "-m", "inner")
	got, err := tree.Apply(t.Context(), ApplyOptions{Dir: repo})
	if !errors.Is(err, ErrConflict) {
		t.Fatalf("Apply = %v, %v, want ErrConflict", got, err)
	}
	want := []Conflict{
		{"full", "a folder with files that git ignores is in the way"},
		{"inner", "it is a repository of its own: what is in it is not brought over"},
		{"out/x", `"out", which git ignores, is in the way`},
	}
	if diff := cmp.Diff(want, got.Conflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
	if got, err := tree.Apply(t.Context(), ApplyOptions{Dir: repo, Force: true}); err != nil || len(got.Files) > 0 {
		t.Errorf("Apply with force = %v, %v, want nothing written", got, err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) > 0 {
		t.Errorf("folder behind the link holds %v, %v, want nothing", entries, err)
	}
	for name, dir := range map[string]string{"another": newRepository(t, nil), "the tree itself": tree.Path} {
		if _, err := tree.Apply(t.Context(), ApplyOptions{Dir: dir}); err == nil {
			t.Errorf("Apply to %s = nil, want an error", name)
		}
	}
}

// changingGit puts a git into a folder that writes to a file before it looks whether
// files are still the same.
func changingGit(t *testing.T, file, times string) (path string) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *diff-files*) echo >> '" + dir + "/calls'; [ $(wc -l < '" + dir + "/calls') -le " + times +
		" ] && echo more >> '" + file + "'; esac\nexec '" + real + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return "PATH=" + dir + ":" + os.Getenv("PATH")
}

func TestApplySeesFilesThatChangeMeanwhile(t *testing.T) {
	t.Parallel()
	for times, want := range map[string]string{"1": "", "9": ErrBusy.Error()} {
		t.Run(times, func(t *testing.T) {
			t.Parallel()
			repo, tree := parent(t, Working)
			plant(t, tree.Path, map[string]string{"both": strings.Replace(read(t, repo, "both"), "1\n", "one\n", 1)})
			cmd := helper(t, "apply", repo, tree.Name)
			cmd.Env = append(cmd.Env, changingGit(t, filepath.Join(repo, "both"), times))
			out, err := cmd.CombinedOutput()
			if (err != nil) != (want != "") || !strings.Contains(string(out), want) {
				t.Errorf("apply = %v, %s, want %q", err, out, want)
			}
			both := read(t, repo, "both")
			if !strings.HasSuffix(both, "nine\nmore\n") && want == "" || strings.HasPrefix(both, "one\n") != (want == "") {
				t.Errorf("both = %q", both)
			}
		})
	}
}
