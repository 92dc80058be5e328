package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/internal/model/fakeapi"
	"heddle/internal/model/scripted"
	"heddle/internal/transcript"
)

var kills = flag.Int("kills", 10, "how often TestKilledRunsGoOn kills heddle")

// realRepository returns a copy of a public project, as a git repository.
func realRepository(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/go-cmp").Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		t.Fatal(err)
	}
	// Files of the module cache are read-only.
	if err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chmod(path, 0o755)
	}); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "import"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, msg)
		}
	}
	return dir
}

// twentyTurns reads, edits and runs commands, twenty times.
func twentyTurns(t *testing.T) *scripted.Script {
	t.Helper()
	var b strings.Builder
	b.WriteString("agents:\n  - main: true\n    turns:\n")
	b.WriteString("      - calls:\n          - {tool: Read, input: {file_path: README.md}}\n          - {tool: Grep, input: {pattern: \"func Equal\", output_mode: content}}\n")
	for i := 1; i < 20; i++ {
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b, "      - text: Looking at step %d.\n        calls:\n          - {tool: Read, input: {file_path: cmp/compare.go, limit: 50, offset: %d}}\n          - {tool: Glob, input: {pattern: \"**/*.go\"}}\n", i, i)
		case 1:
			fmt.Fprintf(&b, "      - calls:\n          - {tool: Write, input: {file_path: notes/%d.txt, content: \"step %d\\n\"}}\n", i, i)
		case 2:
			fmt.Fprintf(&b, "      - calls:\n          - {tool: Edit, input: {file_path: notes/%d.txt, old_string: step, new_string: done}}\n          - {tool: Bash, input: {command: \"cat notes/*.txt; git status --short\"}}\n", i-1)
		case 3:
			fmt.Fprintf(&b, "      - thinking: What now?\n        calls:\n          - {tool: Bash, input: {command: \"sleep 0.02; wc -l cmp/*.go | tail -1\"}}\n          - {tool: Bash, input: {command: \"echo %d; exit %d\"}}\n", i, i%3)
		}
	}
	b.WriteString("      - {text: All done., repeat: forever}\n")
	s, err := scripted.Load("twenty", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// crashBed runs heddle in a real repository against a fake API.
type crashBed struct {
	dir, home string
	env       []string
	api       *fakeapi.Server
}

func newCrashBed(t *testing.T, wire string, script *scripted.Script) *crashBed {
	t.Helper()
	return newCrashBedIn(t, realRepository(t), wire, script)
}

// newTaskBed is a bed whose directory does not matter.
func newTaskBed(t *testing.T, script *scripted.Script) *crashBed {
	t.Helper()
	return newCrashBedIn(t, t.TempDir(), "anthropic", script)
}

func newCrashBedIn(t *testing.T, dir, wire string, script *scripted.Script) *crashBed {
	t.Helper()
	api := fakeapi.NewServer(script, nil)
	srv := httptest.NewServer(api)
	t.Cleanup(srv.Close)
	b := &crashBed{dir: dir, home: t.TempDir(), api: api}
	b.env = append(os.Environ(), "HEDDLE_HOME="+b.home, "HEDDLE_SANDBOX=1", "HOME="+b.home)
	if wire == "openai" {
		b.env = append(b.env, "OPENAI_BASE_URL="+srv.URL+"/v1", "OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL=")
	} else {
		b.env = append(b.env, "ANTHROPIC_BASE_URL="+srv.URL, "ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=", "OPENAI_BASE_URL=")
	}
	return b
}

func (b *crashBed) command(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	heddle, err := exec.LookPath("heddle")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(heddle, append([]string{"-p", "--permission-mode", "bypassPermissions"}, args...)...)
	cmd.Dir, cmd.Env = b.dir, b.env
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// check fails for each request that the API refused, or whose beginning changed.
func (b *crashBed) check(t *testing.T) {
	t.Helper()
	for _, r := range b.api.Requests() {
		if r.Status == 499 {
			continue // killed while it sent the request
		}
		if r.Status >= 400 {
			t.Errorf("request %d: %d %s", r.N, r.Status, r.Error)
		}
		if r.Prefix == fakeapi.Changed {
			t.Errorf("request %d begins differently after %d bytes", r.N, r.CommonPrefix)
		}
	}
}

// A whole run over either wire ends right, and each request begins with the bytes of the
// one before it, also after a resume.
func TestPrefixesStayIdentical(t *testing.T) {
	for _, wire := range []string{"anthropic", "openai"} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			b := newCrashBed(t, wire, twentyTurns(t))
			for _, args := range [][]string{{"work"}, {"--continue", "and then?"}} {
				cmd, out := b.command(t, args...)
				if err := cmd.Run(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if !strings.Contains(out.String(), "All done.") {
					t.Errorf("output = %s", out)
				}
			}
			b.check(t)
			for _, r := range b.api.Requests()[1:] {
				if r.Prefix != fakeapi.Identical {
					t.Errorf("request %d: prefix is %s", r.N, r.Prefix)
				}
			}
			for i := 1; i < 20; i += 4 {
				got, err := os.ReadFile(filepath.Join(b.dir, "notes", fmt.Sprint(i)+".txt"))
				if want := fmt.Sprintf("done %d\n", i); err != nil || string(got) != want {
					t.Errorf("notes/%d.txt = %q, %v, want %q", i, got, err, want)
				}
			}
		})
	}
}

// begun reports whether there is a session to go on with: one whose first line was written.
func (b *crashBed) begun(t *testing.T) bool {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(b.home, "projects", "*"))
	for _, dir := range dirs {
		_, err := transcript.Newest(dir)
		if err == nil {
			return true
		}
		if !errors.Is(err, transcript.ErrNotFound) {
			t.Fatal(err)
		}
	}
	return false
}

// Killed at any moment, a session goes on: it opens, and the API takes its history.
func TestKilledRunsGoOn(t *testing.T) {
	t.Parallel()
	var b *crashBed
	var whole time.Duration
	finished := true
	for n := 0; n < *kills; {
		args := []string{"--continue", "go on"}
		if finished {
			if b != nil {
				b.check(t)
			}
			b = newCrashBed(t, "anthropic", twentyTurns(t))
			args = []string{"work"}
		}
		cmd, out := b.command(t, args...)
		begin := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() { over <- cmd.Wait() }()
		after := 2 * time.Second // the first run shows how long it takes
		if whole > 0 {
			after = rand.N(whole)
		}
		select {
		case <-time.After(after):
			cmd.Process.Kill()
			<-over
			n++
			finished = false
			if !b.begun(t) {
				finished = true // killed before the session began: nothing to go on with
			}
		case err := <-over:
			if err != nil {
				t.Fatalf("heddle %v after %d kills: %v\n%s", args, n, err, out)
			}
			if finished && whole == 0 {
				whole = time.Since(begin)
			}
			finished = true
		}
		if t.Failed() {
			return
		}
	}
	b.check(t)
}
