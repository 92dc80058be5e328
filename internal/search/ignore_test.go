package search

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// plant writes files below dir; a name that ends in a slash is a folder.
func plant(t interface{ Fatal(...any) }, dir string, files map[string]string) {
	for name, content := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// walked returns the files that walk gives, sorted.
func walked(t interface{ Fatal(...any) }, dir string) []string {
	files := []string{}
	err := walk(context.Background(), dir, func(rel string, _ fs.DirEntry) error {
		files = append(files, rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return files
}

// git runs git in dir without any configuration of the machine.
func git(t interface{ Fatal(...any) }, dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"}
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := cmd.Run(); err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatal(args, err, complaint.String())
	}
	return out.String()
}

// kept returns the files that git does not ignore.
func kept(t interface{ Fatal(...any) }, dir string) []string {
	out := git(t, dir, "ls-files", "-z", "--others", "--exclude-standard")
	files := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if out == "" {
		files = []string{}
	}
	slices.Sort(files)
	return files
}

func TestIgnoreRules(t *testing.T) {
	for _, tt := range []struct {
		rules, path string
		dir, want   bool
	}{
		{"*.log", "a/b.log", false, true},
		{"*.log\n!keep.log", "keep.log", false, false},
		{"!keep.log\n*.log", "keep.log", false, true},
		{"build/", "build", true, true},
		{"build/", "build", false, false},
		{"/build", "a/build", true, false},
		{"a/b", "a/b", false, true},
		{"a/b", "x/a/b", false, false},
		{"**/b", "x/a/b", false, true},
		{"a/**", "a/x/y", false, true},
		{"a/**", "a", true, false},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"foo**bar", "fooxbar", false, true},
		{"a/b**c", "a/bxx/c", false, false},
		{`\#x`, "#x", false, true},
		{`\!x`, "!x", false, true},
		{"# a comment", "# a comment", false, false},
		{"trailing   ", "trailing", false, true},
		{`kept\ `, "kept ", false, true},
		{"x.txt\r\n*.log\r\n", "x.txt", false, true},
		{"[a-c]x", "bx", false, true},
		{"[!a-c]x", "bx", false, false},
		{"[]x]", "]", false, true},
		{"[[:digit:]]", "7", false, true},
		{"[unclosed", "[unclosed", false, false},
		{"a?c", "abc", false, true},
		{"a/?", "a/b", false, true},
		{"ends\\", "ends\\", false, false},
		{"\uFEFFbom", "bom", false, true},
		{"中文*", "中文文件", false, true},
		{"", "x", false, false},
		{"/", "x", true, false},
	} {
		g := &ignores{dir: "/r", rules: parseRules(tt.rules)}
		if got := g.ignored("/r/"+tt.path, tt.dir); got != tt.want {
			t.Errorf("rules %q: ignored(%q, dir %v) = %v, want %v", tt.rules, tt.path, tt.dir, got, tt.want)
		}
	}
}

func TestNothingBelowAnIgnoredFolderComesBack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		".gitignore": "build/\n!build/keep.txt\n", "build/keep.txt": "", "src/a.go": "", "src/.gitignore": "!x.log\n*.tmp",
		"src/x.log": "", "src/y.tmp": "", "src/deep/z.tmp": "",
	})
	git(t, dir, "init", "-q")
	if d := cmp.Diff(kept(t, dir), walked(t, dir)); d != "" {
		t.Errorf("git (-) and walk (+) differ:\n%s", d)
	}
}

func TestRulesAboveTheFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		".gitignore": "*.log\n/top.txt\n", ".git/": "", "sub/a.log": "", "sub/top.txt": "",
		"other/.git": "gitdir: elsewhere", "other/b.log": "",
	})
	for root, want := range map[string][]string{
		"sub":   {"top.txt"},
		"other": {"b.log"}, // a checkout of its own
		"":      {".gitignore", "other/b.log", "sub/top.txt"},
	} {
		if d := cmp.Diff(want, walked(t, filepath.Join(dir, root))); d != "" {
			t.Errorf("walk(%q) (-want +got):\n%s", root, d)
		}
	}
}

// TestSameAnswersAsGit compares the walk with git on trees and rules made up at
// random from pieces that are likely to interact. Names are ASCII: to git "?" is
// a byte, here and in ripgrep it is a character.
func TestSameAnswersAsGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	git(t, dir, "init", "-q")
	names := rapid.SampledFrom([]string{"a", "b", "foo", "foo.log", "bar.txt", "a b", "#x", "!y", "[z]", "x\\y", "build", ".hid"})
	piece := rapid.SampledFrom([]string{"a", "b", "foo", "*.log", "*", "?", "**", "ba*", "*o", "[a-f]", "[!a]", "build", `\#x`,
		`\!y`, `\[z\]`, "[[:alpha:]]", "f?o", "*.*", "a b", ".*", "fo*o*", `x\\y`, "[]-a]", "[^b]oo"})
	pattern := rapid.Custom(func(t *rapid.T) string {
		p := strings.Join(rapid.SliceOfN(piece, 1, 3).Draw(t, "pieces"), rapid.SampledFrom([]string{"/", "/", ""}).Draw(t, "join"))
		return rapid.SampledFrom([]string{"", "", "!", "/", "!/"}).Draw(t, "before") + p +
			rapid.SampledFrom([]string{"", "", "/", " ", "/**"}).Draw(t, "after")
	})
	rapid.Check(t, func(t *rapid.T) {
		tree, err := os.MkdirTemp(dir, "tree")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(tree)
		for range rapid.IntRange(1, 12).Draw(t, "files") {
			path := filepath.Join(rapid.SliceOfN(names, 1, 3).Draw(t, "path")...)
			full := filepath.Join(tree, path)
			if os.MkdirAll(filepath.Dir(full), 0o755) == nil {
				_ = os.WriteFile(full, nil, 0o644) // fails if it is a folder already
			}
		}
		rules := strings.Join(rapid.SliceOfN(pattern, 1, 5).Draw(t, "rules"), "\n")
		inner := strings.Join(rapid.SliceOfN(pattern, 0, 3).Draw(t, "inner rules"), "\n")
		plant(t, tree, map[string]string{".gitignore": rules})
		if info, err := os.Stat(filepath.Join(tree, "a")); err == nil && info.IsDir() {
			plant(t, tree, map[string]string{"a/.gitignore": inner})
		}
		if d := cmp.Diff(kept(t, tree), walked(t, tree)); d != "" {
			t.Fatalf("rules:\n%s\nrules in a:\n%s\ngit (-) and walk (+) differ:\n%s", rules, inner, d)
		}
	})
}

func FuzzIgnoreRules(f *testing.F) {
	for _, s := range []string{"*.log\n!a", "[a-", "**/x/**", `\`, "[[:alpha:", "a\\ ", "***/***", "[!]]", "//", "[\\", "[a-\\"} {
		f.Add(s, "a/b.log", true)
	}
	f.Fuzz(func(t *testing.T, rules, path string, dir bool) {
		g := &ignores{dir: "/", rules: parseRules(rules)}
		path = "/" + strings.Trim(path, "/")
		once := g.ignored(path, dir)
		// A rule that says the opposite, put last, decides.
		for _, r := range g.rules {
			if r.matches(path[1:], dir) {
				r.negated = once
				g.rules = append(g.rules, r)
				if g.ignored(path, dir) == once {
					t.Fatalf("the last rule of %q did not decide about %q", rules, path)
				}
				return
			}
		}
		if once {
			t.Fatalf("%q is ignored without a rule that matches", path)
		}
	})
}
