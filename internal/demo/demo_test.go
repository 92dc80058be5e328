package demo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// turn is what this test needs of a turn of the script.
type turn struct {
	Expect string
	Text   string
	Calls  []struct {
		Tool  string
		Input map[string]any
	}
}

// turns are those of the main conversation for the first job.
func turns(t *testing.T) []turn {
	t.Helper()
	var s struct{ Agents []struct{ Turns []turn } }
	if err := yaml.Unmarshal(Script(), &s); err != nil {
		t.Fatal(err)
	}
	for i, turn := range s.Agents[0].Turns {
		if turn.Expect != "" && regexp.MustCompile(turn.Expect).MatchString(Extend) {
			return s.Agents[0].Turns[:i]
		}
	}
	t.Fatal("the script has no turn for the second job")
	return nil
}

// TestScriptFitsTheProject does what the script does for the first job: each call is
// possible, and gives what the next turn expects.
func TestScriptFitsTheProject(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not there")
	}
	dir := filepath.Join(t.TempDir(), "project")
	if err := Copy(dir); err != nil {
		t.Fatal(err)
	}
	const id = "b00000000"
	results, background := "", ""
	edits, tests := 0, []bool{}
	script := turns(t)
	for i, turn := range script {
		if expect := regexp.MustCompile(strings.ReplaceAll(turn.Expect, "${tests}", id)); !expect.MatchString(results) {
			t.Fatalf("turn %d expects %q, but there is:\n%s", i+1, expect, results)
		}
		results = ""
		if len(turn.Calls) == 0 && background != "" { // it waits to be told
			results = "<task-id>" + id + "</task-id>\n<status>failed</status>"
		}
		for _, c := range turn.Calls {
			text := func(key string) string { s, _ := c.Input[key].(string); return s }
			switch c.Tool {
			case "Bash":
				out, ok := run(t, dir, text("command"))
				tests = append(tests, ok)
				if c.Input["run_in_background"] == true {
					background, out = out, "Running in the background as task "+id
				}
				results += out
			case "TaskOutput":
				if text("task_id") != "${tests}" {
					t.Errorf("turn %d asks for task %q", i+1, text("task_id"))
				}
				results += background
			case "Glob":
				files, err := filepath.Glob(filepath.Join(dir, text("pattern")))
				if err != nil {
					t.Fatal(err)
				}
				results += strings.Join(files, "\n")
			case "Grep":
				results += grep(t, dir, text("pattern"))
			case "Read":
				results += readFile(t, filepath.Join(dir, text("file_path")))
			case "Edit":
				edits++
				results += edit(t, filepath.Join(dir, text("file_path")), text("old_string"), text("new_string"))
			default:
				t.Errorf("turn %d calls %s, which this test does not know", i+1, c.Tool)
			}
		}
		if i == len(script)-1 && (len(turn.Calls) > 0 || turn.Text == "") {
			t.Error("the last turn is not a report")
		}
	}
	if edits != 1 || len(tests) != 2 || tests[0] || !tests[1] {
		t.Errorf("%d edits, tests passed: %v; want one edit between a failure and a success", edits, tests)
	}
}

// run runs a command of the script, which is simple enough to do without a shell.
func run(t *testing.T, dir, command string) (string, bool) {
	t.Helper()
	words := strings.Fields(command)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOPROXY=off")
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

// grep prints what the Grep tool prints of lines.
func grep(t *testing.T, dir, pattern string) string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, path := range files {
		n := 0
		for line := range strings.Lines(readFile(t, path)) {
			n++
			if re.MatchString(line) {
				fmt.Fprintf(&out, "%s:%d:%s", filepath.Base(path), n, line)
			}
		}
	}
	return out.String()
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func edit(t *testing.T, path, before, after string) string {
	t.Helper()
	text := readFile(t, path)
	if strings.Count(text, before) != 1 {
		t.Fatalf("%q stands %d times in %s, want once", before, strings.Count(text, before), path)
	}
	text = strings.Replace(text, before, after, 1)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCopyWritesAProject(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := Copy(dir); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o600 != 0o600 {
			t.Errorf("%s has mode %v: it cannot be edited", e.Name(), info.Mode())
		}
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), "README.md go.mod merge.go merge_test.go span.go"; got != want {
		t.Errorf("files %s, want %s", got, want)
	}
	if err := Copy(dir); err == nil {
		t.Error("Copy wrote over a project that is there")
	}
}
