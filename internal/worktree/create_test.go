package worktree

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCreateRefusesWithAdvice(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n"})
	run(t, repo, "branch", "agent-b")
	plant(t, repo, map[string]string{".heddle/worktrees/agent-d/x": ""})
	mustCreate(t, Options{Dir: repo, Name: "agent-t"})
	unborn, bare, linked := t.TempDir(), t.TempDir(), newRepository(t, nil)
	run(t, unborn, "init", "-q")
	run(t, bare, "init", "-q", "--bare")
	if err := os.Symlink(t.TempDir(), filepath.Join(linked, ".heddle")); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		dir, tree, want string
	}{
		"no repository":    {t.TempDir(), "agent-1", "run git init and commit"},
		"no commit":        {unborn, "agent-1", "commit once"},
		"bare":             {bare, "agent-1", "go to a checkout"},
		"in the folder":    {filepath.Join(repo, ".git"), "agent-1", "inside of a git folder"},
		"no folder":        {filepath.Join(repo, "none"), "agent-1", "no such file"},
		"a file":           {filepath.Join(repo, "a"), "agent-1", "not a folder"},
		"branch is there":  {repo, "agent-b", "git branch -D agent-b"},
		"folder is there":  {repo, "agent-d", "move it away"},
		"tree is there":    {repo, "agent-t", "remove that worktree"},
		"link as a folder": {linked, "agent-1", "must be a folder and no link"},
		"no name":          {repo, "", "cannot be the name"},
		"path as a name":   {repo, "../x", "cannot be the name"},
		"dots":             {repo, "a..b", "cannot be the name"},
		"option as a name": {repo, "-f", "cannot be the name"},
		"name of a lock":   {repo, "a.lock", "cannot be the name"},
		"dot at the end":   {repo, "a.", "cannot be the name"},
		"long name":        {repo, strings.Repeat("a", nameLength+1), "cannot be the name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Create(t.Context(), Options{Dir: tt.dir, Name: tt.tree})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Create(%q in %q) = %v, want %q", tt.tree, tt.dir, err, tt.want)
			}
			if taken := strings.HasSuffix(name, "is there"); taken != errors.Is(err, ErrTaken) {
				t.Errorf("Create(%q) = %v, is ErrTaken: %v, want %v", tt.tree, err, !taken, taken)
			}
		})
	}
}

func TestCreateFromTheWorkingState(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n", "b": "1\n", "c": "1\n", ".gitignore": "*.log\n"})
	plant(t, repo, map[string]string{"a": "2\n", "new": "n\n", "x.log": "l\n"})
	run(t, repo, "add", "a")
	plant(t, repo, map[string]string{"a": "3\n"})
	run(t, repo, "rm", "-q", "b")
	run(t, repo, "rm", "-q", "--cached", "c")
	before := run(t, repo, "status", "--porcelain=v2")
	tree := mustCreate(t, Options{Dir: repo, Name: "agent-w", Base: Working})
	if got := run(t, repo, "status", "--porcelain=v2"); got != before {
		t.Errorf("git status after Create:\n%s\nwant it as before:\n%s", got, before)
	}
	if got := run(t, tree.Path, "ls-files"); got != ".gitignore\na\nc\nnew" {
		t.Errorf("files of the tree = %q", got)
	}
	if got := read(t, tree.Path, "a"); got != "3\n" {
		t.Errorf("a = %q, want the file as it is", got)
	}
	if got := run(t, repo, "stash", "list"); got != "" {
		t.Errorf("stashes = %q, want none", got)
	}
	if err := tree.Remove(t.Context(), false); err != nil {
		t.Errorf("Remove of an untouched tree = %v", err)
	}
	clean := newRepository(t, map[string]string{"a": "1\n"})
	if tree := mustCreate(t, Options{Dir: clean, Name: "agent-w", Base: Working}); tree.Base != run(t, clean, "rev-parse", "HEAD") {
		t.Errorf("base of a tree of a clean one = %s, want HEAD", tree.Base)
	}
}

func TestCreateFromOtherPlaces(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n"})
	linked := filepath.Join(filepath.Dir(repo), "linked")
	run(t, repo, "worktree", "add", "-q", "-b", "other", linked)
	run(t, linked, "commit", "-q", "--allow-empty", "-m", "second")
	link := filepath.Join(filepath.Dir(repo), "link")
	if err := os.Symlink(repo, link); err != nil {
		t.Fatal(err)
	}
	first := mustCreate(t, Options{Dir: linked, Name: "agent-1"})
	second := mustCreate(t, Options{Dir: first.Path, Name: "agent-2"})
	third := mustCreate(t, Options{Dir: link, Name: "agent-3"})
	for _, tree := range []*Tree{first, second, third} {
		if tree.Repo != repo {
			t.Errorf("repository that holds %s = %q, want %q", tree.Name, tree.Repo, repo)
		}
	}
	if want := run(t, linked, "rev-parse", "HEAD"); first.Base != want || second.Base != want {
		t.Errorf("bases = %s and %s, want that of the tree they are made from, %s", first.Base, second.Base, want)
	}
	run(t, repo, "checkout", "-q", "--detach")
	mustCreate(t, Options{Dir: repo, Name: "agent-4"})
	odd := filepath.Join(filepath.Dir(repo), "li\nne \xff")
	run(t, filepath.Dir(repo), "clone", "-q", repo, odd)
	if tree := mustCreate(t, Options{Dir: odd, Name: "agent-5"}); tree.Repo != odd {
		t.Errorf("repository = %q, want %q", tree.Repo, odd)
	}
	separate := filepath.Join(filepath.Dir(repo), "separate")
	run(t, filepath.Dir(repo), "clone", "-q", "--separate-git-dir", separate+".git", repo, separate)
	outer := mustCreate(t, Options{Dir: separate, Name: "agent-6"})
	inner := mustCreate(t, Options{Dir: outer.Path, Name: "agent-7"})
	if inner.Repo != separate {
		t.Errorf("repository of a tree made from a tree = %q, want %q", inner.Repo, separate)
	}
}

func TestCreateRunsNoHooks(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n"})
	hook := filepath.Join(repo, ".git/hooks/post-checkout")
	plant(t, repo, map[string]string{".git/hooks/post-checkout": "#!/bin/sh\ntouch ran\nexit 1\n"})
	if err := os.Chmod(hook, 0o755); err != nil {
		t.Fatal(err)
	}
	tree := mustCreate(t, Options{Dir: repo, Name: "agent-1"})
	if got := run(t, tree.Path, "status", "--porcelain"); got != "" {
		t.Errorf("git status of a new tree = %q, want nothing", got)
	}
}

func TestCreateThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{"a": "1\n", ".gitattributes": "a filter=bad\n"})
	run(t, repo, "config", "filter.bad.smudge", "false")
	run(t, repo, "config", "filter.bad.required", "true")
	if tree, err := Create(t.Context(), Options{Dir: repo, Name: "agent-1"}); err == nil {
		t.Errorf("Create with a filter that fails = %v, want an error", tree)
	}
	checkNothingLeft(t, repo)
}

func TestCreateEndsWithItsContext(t *testing.T) {
	t.Parallel()
	repo, started, _ := slowRepository(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("the user stopped it")
	go func() {
		await(t, started)
		cancel(stopped)
	}()
	_, err := Create(ctx, Options{Dir: repo, Name: "agent-1"})
	if !errors.Is(err, stopped) {
		t.Errorf("Create with a context that ends = %v, want %v", err, stopped)
	}
	checkNothingLeft(t, repo)
}

// slowRepository is one whose checkouts stop: they open the first of two pipes when they
// do, and go on when the second was opened.
func slowRepository(t *testing.T) (repo, started, release string) {
	t.Helper()
	repo = newRepository(t, map[string]string{"a": "1\n", ".gitattributes": "a filter=slow\n"})
	started, release = filepath.Join(filepath.Dir(repo), "started"), filepath.Join(filepath.Dir(repo), "release")
	makePipe(t, started)
	makePipe(t, release)
	run(t, repo, "config", "filter.slow.smudge", ": > '"+started+"'; : < '"+release+"'; cat")
	return repo, started, release
}

// checkNothingLeft checks that a repository is as if heddle had made no tree.
func checkNothingLeft(t *testing.T, repo string) {
	t.Helper()
	trees, problems, err := List(t.Context(), repo)
	if len(trees) > 0 || len(problems) > 0 || err != nil {
		t.Errorf("List = %v, %v, %v, want nothing", trees, problems, err)
	}
	if got := run(t, repo, "branch", "--list", "agent-*"); got != "" {
		t.Errorf("branches = %q, want none of agents", got)
	}
	if got := strings.Split(run(t, repo, "worktree", "list"), "\n"); len(got) != 1 {
		t.Errorf("git worktree list = %q, want one", got)
	}
	for _, dir := range []string{".heddle/worktrees", ".git/heddle/worktrees"} {
		entries, err := os.ReadDir(filepath.Join(repo, dir))
		if err != nil && !os.IsNotExist(err) || len(entries) > 0 {
			t.Errorf("%s holds %v, %v, want nothing", dir, entries, err)
		}
	}
}

func TestIncludeCopiesIgnoredFiles(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{
		".gitignore": ".env*\nconf/\nnode_modules/\nlink\n", includeFile: "# needed\n.env*\n!.env.prod\nconf/\nlink\nplain\n", "tracked": "t\n",
	})
	plant(t, repo, map[string]string{
		".env": "A=1\n", ".env.prod": "no\n", "sub/.env": "B=1\n", "conf/x y\n.json": "{}\n", "node_modules/a/b.js": "no\n", "plain": "not ignored\n",
	})
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.Symlink(secret, filepath.Join(repo, "link")); err != nil {
		t.Fatal(err)
	}
	tree := mustCreate(t, Options{Dir: repo, Name: "agent-1", Include: true})
	if diff := cmp.Diff([]string{".env", "conf/x y\n.json", "sub/.env"}, tree.Copied); diff != "" {
		t.Errorf("copied files (-want +got):\n%s", diff)
	}
	if got := read(t, tree.Path, "sub/.env"); got != "B=1\n" {
		t.Errorf("sub/.env = %q", got)
	}
	if len(tree.Notes) != 2 || !strings.Contains(tree.Notes[0], "link") {
		t.Errorf("notes = %q, want one on the link, and one on the new file", tree.Notes)
	}
	plant(t, tree.Path, map[string]string{".env": "A=2\n", "node_modules/c/d.js": "made\n"})
	got, err := tree.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(State{Changed: []string{".env"}, Ignored: []string{"node_modules/"}}, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}

func TestCreateNotesSubmodules(t *testing.T) {
	t.Parallel()
	repo := newRepository(t, map[string]string{".gitmodules": ""})
	if tree := mustCreate(t, Options{Dir: repo, Name: "agent-1"}); len(tree.Notes) != 1 || !strings.Contains(tree.Notes[0], "git submodule update --init") {
		t.Errorf("notes = %q, want one on submodules", tree.Notes)
	}
}
