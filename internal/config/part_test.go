package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A bad entry costs only itself, and its place is known.
func TestEntriesAreDecodedOneByOne(t *testing.T) {
	l, err := Text(Project, "servers.json", []byte("\ufeff{\r\n  \"good\": {\"command\": \"x\"}, // fine\r\n  \"bad\": {\"command\": 5},\r\n  \"list\": [1, \"two\"],\r\n}"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"good", "bad", "list"}, l.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	type server struct {
		Command string `json:"command"`
	}
	if s, err := Section[server](l.At("good"), ""); err != nil || s.Command != "x" {
		t.Errorf("the good entry is %v, %v", s, err)
	}
	if _, err := Section[server](l.At("bad"), ""); err == nil || !strings.Contains(err.Error(), "servers.json:3:22: command: expected a string") {
		t.Errorf("the bad entry: %v", err)
	}
	if diff := cmp.Diff([]string{"0", "1"}, l.At("list").Keys()); diff != "" {
		t.Errorf("keys of a list (-want +got):\n%s", diff)
	}
	if at := l.At("list", "1").Here().String(); at != "servers.json:4:15" {
		t.Errorf("the second element is said to stand at %s", at)
	}
	if got := string(l.At("list").JSON()); got != `[1,"two"]` {
		t.Errorf("JSON = %s", got)
	}
	if l.At("none", "deeper") != nil || l.At("none").At("deeper").Keys() != nil {
		t.Error("something stands where nothing is")
	}
}

func TestNamesSetTwiceLeaveTheRest(t *testing.T) {
	l, err := Text(Project, "f", []byte("{\"a\": 1,\n\"a\": 2, \"b\": 3}"))
	if err == nil || !strings.Contains(err.Error(), "f:2:1: a is set twice") {
		t.Errorf("the error is %v", err)
	}
	if l == nil || string(l.JSON()) != `{"a":1,"b":3}` {
		t.Errorf("what can be used is %s", l.JSON())
	}
}

func TestFileReportsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if _, err := File(Project, filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if _, err := File(Project, dir); err == nil || !strings.Contains(err.Error(), "found a directory") {
		t.Errorf("a directory: %v", err)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := File(Project, empty); err != nil || string(l.JSON()) != "{}" {
		t.Errorf("an empty file: %v", err)
	}
	if l, err := Text(Project, "f", []byte("{")); err == nil || l != nil {
		t.Errorf("half a file: %v, %v", l, err)
	}
}

func TestFolderCanBeNamed(t *testing.T) {
	p := newPlace(t)
	p.Folder = ".claude"
	writeFile(t, filepath.Join(p.Dir, ".claude", "settings.json"), `{"a": "theirs"}`)
	p.write(Project, `{"a": "ours"}`)
	if got := string(p.find().JSON()); got != `{"a":"theirs"}` {
		t.Errorf("settings are %s", got)
	}
}
