package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHome(t *testing.T) {
	t.Setenv("HOME", "/home/me")
	t.Setenv("HEDDLE_HOME", "")
	if got, err := Home(); err != nil || got != "/home/me/.heddle" {
		t.Errorf("Home() = %q, %v, want /home/me/.heddle", got, err)
	}
	t.Setenv("HEDDLE_HOME", "state")
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Home(); err != nil || got != filepath.Join(cwd, "state") {
		t.Errorf("Home() = %q, %v, want an absolute path", got, err)
	}
	t.Setenv("HEDDLE_HOME", "")
	t.Setenv("HOME", "")
	if got, err := Home(); err == nil || !strings.Contains(err.Error(), "HEDDLE_HOME") {
		t.Errorf("Home() = %q, %v, want an error that says what to set", got, err)
	}
}

func TestDifferentProjectsHaveDifferentDirectories(t *testing.T) {
	long := "/" + strings.Repeat("very-long/", 300)
	paths := []string{"/项目", "/测试", "/a_b", "/a-b", "/a.b", "/a b", "/a/b", "/A-b", "/", "/.", "/..a", "/\xff", "/\xfe", "/\ufffd",
		long + "a", long + "b", long + "é", "/x\ny", "-", "/é", "/e\u0301"}
	root := t.TempDir()
	seen := map[string]string{}
	for _, p := range paths {
		key := ProjectKey(p)
		if other, twice := seen[key]; twice && filepath.Clean(other) != filepath.Clean(p) {
			t.Errorf("ProjectKey(%q) = ProjectKey(%q) = %q", p, other, key)
		}
		seen[key] = p
		if strings.ContainsAny(key, "/ \n\x00") || strings.HasPrefix(key, ".") || strings.HasPrefix(key, "-") || len(key) > 128 {
			t.Errorf("ProjectKey(%q) = %q is no good name", p, key)
		}
		if err := os.MkdirAll(filepath.Join(root, key), 0o700); err != nil {
			t.Errorf("ProjectKey(%.40q): %v", p, err)
		}
		if ProjectKey(p) != key {
			t.Errorf("ProjectKey(%q) changes", p)
		}
	}
	if ProjectKey("/a/b/") != ProjectKey("/a//b") {
		t.Error("two spellings of one path differ")
	}
	if got := ProjectKey("/work/my project"); !strings.HasPrefix(got, "work-my-project-") {
		t.Errorf("ProjectKey = %q, want something readable", got)
	}
}
