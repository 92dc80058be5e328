package worktree

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// benchRepository has a tree of some size.
func benchRepository(b *testing.B, files int) string {
	b.Helper()
	dir := b.TempDir()
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("d%d/e%d/f%d.txt", i%20, i%7, i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Repeat(fmt.Sprintln("line", i), 100)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"}} {
		bare(b, dir, args...)
	}
	return dir
}

func bare(b *testing.B, dir string, args ...string) {
	b.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = ownEnvironment(os.Environ())
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// BenchmarkCreate compares making a tree with what git alone takes for it.
func BenchmarkCreate(b *testing.B) {
	for _, files := range []int{10, 1000} {
		dir := benchRepository(b, files)
		b.Run(fmt.Sprintf("git/%d", files), func(b *testing.B) {
			for b.Loop() {
				bare(b, dir, "worktree", "add", "-q", "-b", "agent-b", "../agent-b")
				b.StopTimer()
				bare(b, dir, "worktree", "remove", "../agent-b")
				bare(b, dir, "branch", "-q", "-D", "agent-b")
				b.StartTimer()
			}
		})
		b.Run(fmt.Sprintf("heddle/%d", files), func(b *testing.B) {
			for b.Loop() {
				tree, err := Create(b.Context(), Options{Dir: dir, Name: "agent-b"})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := tree.Remove(b.Context(), true); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}

// BenchmarkApply brings one changed file into a tree of some size.
func BenchmarkApply(b *testing.B) {
	dir := benchRepository(b, 1000)
	tree, err := Create(b.Context(), Options{Dir: dir, Name: "agent-b"})
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if err := os.WriteFile(filepath.Join(tree.Path, "new"), fmt.Appendln(nil, i), 0o644); err != nil {
			b.Fatal(err)
		}
		if got, err := tree.Apply(b.Context(), ApplyOptions{Dir: dir}); err != nil || len(got.Files) != 1 {
			b.Fatal(got, err)
		}
	}
}
