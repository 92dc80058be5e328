package task

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestOutputFile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "yet", "there")
	rt := newRuntime(t, Options{Dir: dir})
	tk := start(t, rt, Spec{}, takes(0, nil))
	<-tk.Done()
	path := tk.Snapshot().OutputFile
	if want := filepath.Join(dir, string(tk.ID)+".output"); path != want {
		t.Errorf("output file is %s, want %s", path, want)
	}
	for path, want := range map[string]os.FileMode{path: 0o600, filepath.Join(dir, journalName): 0o600, dir: 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want mode %v", path, info.Mode(), err, want)
		}
	}
}

// Whoever guessed an id could have put a link there, to have another file overwritten.
func TestOutputFileIsNobodyElses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	for _, target := range []string{victim, os.DevNull} {
		link := filepath.Join(dir, "b12345678.output")
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if f, err := createOutput(dir, "b12345678"); err == nil {
			f.Close()
			t.Errorf("a link to %s was followed", target)
		}
		os.Remove(link)
	}
	if _, err := os.Stat(victim); err == nil {
		t.Error("the file behind the link was made")
	}
}

// A command may have put something else in the place of its output file.
func TestReplacedOutputIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.Symlink("/etc/hostname", link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, pipe, dir, filepath.Join(dir, "none")} {
		done := make(chan error, 1)
		go func() { _, err := ReadOutput(path, 0, 10); done <- err }()
		select {
		case err := <-done:
			if err == nil {
				t.Errorf("%s was read", path)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("reading %s hangs", path)
		}
	}
}

func TestReadOutput(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "o")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		offset int64
		limit  int
		want   string
		next   int64
	}{
		{0, 4, "0123", 4}, {4, 100, "456789", 10}, {10, 5, "", 10}, {-3, 100, "789", 10}, {-3, 2, "78", 9}, {-100, 2, "01", 2}, {99, 5, "", 99},
	} {
		got, err := ReadOutput(path, tt.offset, tt.limit)
		if err != nil || string(got.Bytes) != tt.want || got.Next != tt.next || got.Size != 10 {
			t.Errorf("ReadOutput(%d, %d) = %q, next %d, size %d, %v; want %q, next %d", tt.offset, tt.limit, got.Bytes, got.Next, got.Size, err, tt.want, tt.next)
		}
	}
}
