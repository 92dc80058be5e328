package briefing

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGitTellsChangesAndCommits(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"a.txt": "a\n", "old name.txt": strings.Repeat("long\n", 20), "sub/b.txt": "b\n"})
	write(t, dir, map[string]string{"a.txt": "changed\n", "new é.txt": "n\n", "staged.txt": "s\n"})
	runGit(t, dir, "mv", "old name.txt", "new name.txt")
	runGit(t, dir, "add", "staged.txt")

	for at, want := range map[string][]string{
		dir:                       {" M a.txt", "R  old name.txt -> new name.txt", "A  staged.txt", "?? new é.txt"},
		filepath.Join(dir, "sub"): {" M ../a.txt", "R  ../old name.txt -> ../new name.txt", "A  ../staged.txt", "?? ../new é.txt"},
	} {
		g := read(t, options(at)).Git
		if g == nil || g.Branch != "main" || g.Problem != "" || len(g.Commit) != 40 {
			t.Fatalf("in %s: Git = %+v", at, g)
		}
		if d := cmp.Diff(want, g.Status); d != "" {
			t.Errorf("in %s: status (-want +got):\n%s", at, d)
		}
		if len(g.Commits) != 1 || !strings.HasSuffix(g.Commits[0], " Begin") {
			t.Errorf("Commits = %q", g.Commits)
		}
	}
}

func TestGitBeforeTheFirstCommit(t *testing.T) {
	t.Parallel()
	dir := folder(t, nil)
	runGit(t, dir, "init", "-q", "-b", "trunk")
	g := read(t, options(dir)).Git
	if d := cmp.Diff(&Git{Branch: "trunk"}, g); d != "" {
		t.Errorf("Git (-want +got):\n%s", d)
	}
}

func TestGitKnowsDefaultBranchOfOriginInWorktreesToo(t *testing.T) {
	t.Parallel()
	origin := repository(t, map[string]string{"a": "a"})
	dir := filepath.Join(folder(t, nil), "clone")
	runGit(t, origin, "clone", "-q", origin, dir)
	runGit(t, dir, "checkout", "-q", "-b", "feature/x")
	tree := filepath.Join(filepath.Dir(dir), "tree")
	runGit(t, dir, "worktree", "add", "-q", "-b", "other", tree)
	for at, branch := range map[string]string{dir: "feature/x", tree: "other"} {
		if g := read(t, options(at)).Git; g.Branch != branch || g.Default != "main" || g.Problem != "" {
			t.Errorf("in %s: Git = %+v, want branch %s from main", at, g, branch)
		}
	}
}

func TestGitDetachedHead(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"a": "a"})
	runGit(t, dir, "checkout", "-q", "--detach")
	b := read(t, options(dir))
	if b.Git.Branch != "" || len(b.Git.Commit) != 40 {
		t.Errorf("Git = %+v, want a commit and no branch", b.Git)
	}
	if !strings.Contains(b.String(), "HEAD is detached at "+b.Git.Commit) {
		t.Errorf("String() = %s", b)
	}
}

func TestManyChangesAreClippedAndCounted(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 2500 {
		files[fmt.Sprintf("%04d-%s", i, strings.Repeat("x", 60))] = "" // more than is kept of git's output
	}
	dir := repository(t, map[string]string{"a": "a"})
	write(t, dir, files)
	g := read(t, options(dir)).Git
	if len(g.Status) != statusLines || len(g.Status)+g.More != len(files) {
		t.Errorf("%d lines and %d more, want %d and %d in all", len(g.Status), g.More, statusLines, len(files))
	}
}

func TestOutputKeepsWholeLines(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 999) + "\n"
	for _, piece := range []int{1, 7, 1000, 4096, 200_000} {
		var w output
		text := strings.Repeat(line, 200)
		for len(text) > 0 {
			n := min(piece, len(text))
			w.Write([]byte(text[:n]))
			text = text[n:]
		}
		if kept := w.String(); kept != strings.Repeat(line, statusBytes/1000) || w.dropped != 200-statusBytes/1000 {
			t.Errorf("pieces of %d: kept %d bytes, dropped %d lines", piece, len(kept), w.dropped)
		}
	}
}

// A git that hangs, with a child that keeps its pipes open, costs the patience and no more;
// the branch is known all the same.
func TestGitThatHangsIsLeft(t *testing.T) {
	dir := repository(t, map[string]string{"a": "a"})
	bin := folder(t, nil)
	script := "#!/bin/sh\nsleep 60 &\nexec sleep 60\n"
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	o := options(dir)
	o.Patience = 50 * time.Millisecond
	start := time.Now()
	g := read(t, o).Git
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if g.Branch != "main" || !strings.Contains(g.Problem, "did not end within 50ms") {
		t.Errorf("Git = %+v, want the branch and the problem", g)
	}
}

func TestWithoutGitTheBranchIsKnown(t *testing.T) {
	dir := repository(t, map[string]string{"a": "a"})
	t.Setenv("PATH", folder(t, nil))
	b := read(t, options(dir))
	if d := cmp.Diff(&Git{Branch: "main", Problem: "git is not installed"}, b.Git); d != "" {
		t.Errorf("Git (-want +got):\n%s", d)
	}
	if s := b.String(); !strings.Contains(s, "Branch: main\nThe changes are not known: git is not installed\n") {
		t.Errorf("String() = %s", s)
	}
}

func TestGitIsOff(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"a": "a"})
	o := options(dir)
	o.NoGit = true
	if b := read(t, o); b.Git != nil {
		t.Errorf("Git = %+v, want nil", b.Git)
	}
	for _, dir := range []string{folder(t, nil), folder(t, map[string]string{".git/nothing": ""})} {
		if b := read(t, options(dir)); b.Git != nil || !strings.Contains(b.String(), "Git: not in a repository\n") {
			t.Errorf("in %s: Git = %+v, want nil", dir, b.Git)
		}
	}
}

func TestBrokenRepositoryIsToldInGitsWords(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"a": "a"})
	write(t, dir, map[string]string{".git/config": "[core\n"})
	if g := read(t, options(dir)).Git; !strings.HasPrefix(g.Problem, "git status: fatal: bad config") {
		t.Errorf("Problem = %q", g.Problem)
	}
}

// What a repository's own configuration names must not run before anybody looked at it.
func TestRepositoryStartsNoProgram(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"a": "a"})
	proof := filepath.Join(folder(t, nil), "ran")
	script := filepath.Join(dir, "evil.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+proof+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{
		{"core.fsmonitor", script}, {"core.pager", script}, {"log.showSignature", "true"}, {"gpg.program", script},
		{"alias.status", "!" + script}, {"alias.log", "!" + script},
	} {
		runGit(t, dir, append([]string{"config"}, c...)...)
	}
	if err := os.WriteFile(filepath.Join(dir, ".git", "hooks", "post-index-change"), []byte("#!/bin/sh\ntouch "+proof+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{"a": "changed"})
	if g := read(t, options(dir)).Git; g.Problem != "" || len(g.Status) == 0 {
		t.Errorf("Git = %+v", g)
	}
	if _, err := os.Stat(proof); err == nil {
		t.Error("the repository started a program")
	}
}

// A hook of git runs with variables that name its own repository.
func TestVariablesOfAnotherRepositoryDoNotCount(t *testing.T) {
	other, dir := repository(t, map[string]string{"a": "a"}), repository(t, map[string]string{"b": "b"})
	runGit(t, other, "checkout", "-q", "-b", "elsewhere")
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other, ".git", "index"))
	if g := read(t, options(dir)).Git; g.Branch != "main" || len(g.Status) > 0 {
		t.Errorf("Git = %+v, want main without changes", g)
	}
}

func TestGitTakesNoLock(t *testing.T) {
	t.Parallel()
	dir := repository(t, map[string]string{"a": "a"})
	index := filepath.Join(dir, ".git", "index")
	write(t, dir, map[string]string{".git/index.lock": ""})
	before, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a"), later, later); err != nil { // an index that git would like to refresh
		t.Fatal(err)
	}
	if g := read(t, options(dir)).Git; g.Problem != "" || len(g.Status) > 0 {
		t.Errorf("Git = %+v, want no changes", g)
	}
	if after, err := os.ReadFile(index); err != nil || string(after) != string(before) {
		t.Errorf("the index changed (%v)", err)
	}
}

func FuzzStatusLine(f *testing.F) {
	for _, line := range []string{
		"", "#", "# branch.head", "# branch.head (detached)", "# branch.oid (initial)", "1", "1 .M", "2 R. N... 1", "u", "? x",
		"1 .M N... 100644 100644 100644 78981922613b2afb6025042ff6bd878ac1994e85 78981922613b2afb6025042ff6bd878ac1994e85 a b",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var g Git
		g.line(line)
		if len(g.Status) > 1 {
			t.Errorf("line(%q) gives %q", line, g.Status)
		}
		for _, s := range g.Status { // longer by the arrow of a renamed file at most
			if !strings.Contains(s, " ") || len(s) > len(line)+len(" -> ") {
				t.Errorf("line(%q) gives %q", line, s)
			}
		}
	})
}

func BenchmarkRead(b *testing.B) {
	files := map[string]string{"AGENTS.md": "# Rules\n" + strings.Repeat("Some text about the project.\n", 200)}
	for i := range 300 {
		files[fmt.Sprintf("pkg%d/file%d.go", i%20, i)] = "package p\n"
	}
	dir := repository(b, files)
	write(b, dir, map[string]string{"pkg1/file1.go": "package q\n", "new.go": ""})
	for _, noGit := range []bool{false, true} {
		b.Run(fmt.Sprintf("git=%v", !noGit), func(b *testing.B) {
			o := options(dir)
			o.NoGit = noGit
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(b.Context(), o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("bare git status", func(b *testing.B) {
		for b.Loop() {
			cmd := exec.Command("git", "status", "--porcelain=v2")
			cmd.Dir = dir
			if _, err := cmd.Output(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
