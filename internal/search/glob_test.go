package search

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGlob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		".gitignore": "out/\n", "a.go": "", "b/c.go": "", "b/d/e_test.go": "", "out/f.go": "", ".git/g.go": "",
		"b/with space.go": "", "b/new\nline.go": "", "b/项目.go": "", "b/.hid.go": "", "x[1].txt": "",
	})
	if err := os.Symlink("../a.go", filepath.Join(dir, "b", "link.go")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(dir, "b", "loop.go")); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for i, name := range []string{"b/c.go", "a.go"} {
		at := old.Add(time.Duration(i) * time.Minute)
		if err := os.Chtimes(filepath.Join(dir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		dir, pattern string
		want         []string
	}{
		{"", "*.go", []string{"a.go"}},
		{"", "**/c.go", []string{"b/c.go"}},
		{"", "./b/./c.go", []string{"b/c.go"}},
		{"", "b/*", []string{"b/.hid.go", "b/c.go", "b/link.go", "b/new\nline.go", "b/with space.go", "b/项目.go"}},
		{"", "**/*_test.{go,js}", []string{"b/d/e_test.go"}},
		{"out", "*", []string{"out/f.go"}}, // named, so wanted
		{"", `x\[1\].txt`, []string{"x[1].txt"}},
		{"b", "[nw]*.go", []string{"b/new\nline.go", "b/with space.go"}},
	} {
		found, err := Glob(t.Context(), filepath.Join(dir, tt.dir), tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, m := range found {
			rel, _ := filepath.Rel(dir, m.Path)
			got = append(got, rel)
		}
		slices.Sort(got)
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("Glob(%q) (-want +got):\n%s", tt.pattern, d)
		}
	}
	found, err := Glob(t.Context(), dir, "{a.go,b/c.go}")
	if err != nil || len(found) != 2 || filepath.Base(found[0].Path) != "a.go" {
		t.Errorf("Glob of two = %v, %v; want the newer a.go first", found, err)
	}
	if _, err := Glob(t.Context(), dir, "[a"); !errors.As(err, new(BadGlob)) {
		t.Errorf("Glob([a) = %v, want BadGlob", err)
	}
	if _, err := Glob(t.Context(), filepath.Join(dir, "none"), "*"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Glob(no folder) = %v, want ErrNotExist", err)
	}
}
