package main

import (
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/model/fakeapi"
	"heddle/internal/model/scripted"
)

// wires are the ways in which heddle can ask a server: environment and model.
func wires(url string) map[string][]string {
	return map[string][]string{
		"anthropic": {"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=", "OPENAI_BASE_URL="},
		"openai":    {"OPENAI_BASE_URL=" + url + "/v1", "OPENAI_API_KEY=k", "ANTHROPIC_API_KEY=", "ANTHROPIC_BASE_URL="},
	}
}

// What a server does wrong is tried again when that may help, and told as what it was when it
// does not. Nothing of a broken answer is ever run or kept.
func TestServerFailures(t *testing.T) {
	t.Parallel()
	const call = `calls: [{tool: Bash, input: {command: echo ran >>ran}}]`
	for _, c := range []struct {
		name, fail string
		code       int
		want       string
	}{
		{"overloaded, then fine", "{status: 529, times: 1}", 0, "done"},
		{"limited, then fine", "{status: 429, retry_after: 1s}", 0, "done"},
		{"error within the stream", "{error_event: overloaded_error, after: 1}", 0, "done"},
		{"cut between events", "{cut: between, after: 1}", 0, "done"},
		{"cut within an event", "{cut: within, after: 1}", 0, "done"},
		{"ended cleanly, but early", "{cut: clean, after: 1}", 0, "done"},
		{"a page of a proxy", "{html: 502, times: 1}", 0, "done"},
		{"wrong key", "{status: 401, times: forever}", 1, "authentication"},
		{"bad request", "{status: 400, times: forever}", 1, "invalid request"},
	} {
		script, err := scripted.Load("failing", []byte("agents:\n  - turns:\n      - {"+strings.TrimSuffix(strings.TrimPrefix(call, "{"), "}")+", fail: "+c.fail+"}\n      - text: done\n"))
		if err != nil {
			t.Fatal(err)
		}
		for _, wire := range []string{"anthropic", "openai"} {
			t.Run(c.name+" over "+wire, func(t *testing.T) {
				t.Parallel()
				api := fakeapi.NewServer(script, io.Discard)
				srv := httptest.NewServer(api)
				defer srv.Close()
				heddle, err := exec.LookPath("heddle")
				if err != nil {
					t.Fatal(err)
				}
				dir := t.TempDir()
				cmd := exec.Command(heddle, "-p", "go", "--permission-mode", "bypassPermissions")
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), append(wires(srv.URL)[wire], "HEDDLE_HOME="+t.TempDir(), "HEDDLE_SANDBOX=1")...)
				out, _ := cmd.CombinedOutput()
				if code := cmd.ProcessState.ExitCode(); code != c.code || !strings.Contains(string(out), c.want) {
					t.Errorf("exit code %d, want %d with %q:\n%s", code, c.code, c.want, out)
				}
				ran, _ := os.ReadFile(filepath.Join(dir, "ran"))
				if want := map[int]string{0: "ran\n", 1: ""}[c.code]; string(ran) != want {
					t.Errorf("the command ran as %q, want %q", ran, want)
				}
			})
		}
	}
}

// What a model sends as tool input is stored and sent so that the next request is accepted.
func TestOddToolInputDoesNotPoisonTheSession(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load("odd", []byte(`
agents:
  - turns:
      - calls:
          - {tool: Bash, input_raw: '{"command":"echo \ud99c hi"}'}
          - {tool: Bash, input_raw: '{"a":'}
          - {tool: Bash, input_raw: '[1]'}
          - {tool: Nothing, input: {x: 1}}
          - {tool: Read, input: {file_path: [5]}}
      - {expect: '(?s)hi.*not a JSON object.*not a JSON object.*no tool named', text: one}
      - {text: two, repeat: forever}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, wire := range []string{"anthropic", "openai"} {
		t.Run(wire, func(t *testing.T) {
			t.Parallel()
			api := fakeapi.NewServer(script, io.Discard)
			srv := httptest.NewServer(api)
			defer srv.Close()
			heddle, err := exec.LookPath("heddle")
			if err != nil {
				t.Fatal(err)
			}
			dir, home := t.TempDir(), t.TempDir()
			for i, want := range []string{"one", "two"} {
				args := []string{"-p", fmt.Sprint("turn ", i), "--permission-mode", "bypassPermissions"}
				if i > 0 {
					args = append(args, "--continue")
				}
				cmd := exec.Command(heddle, args...)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), append(wires(srv.URL)[wire], "HEDDLE_HOME="+home, "HEDDLE_SANDBOX=1")...)
				if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
					t.Errorf("turn %d: %v\n%s", i, err, out)
				}
			}
			for _, r := range api.Requests() {
				if r.Status >= 400 {
					t.Errorf("request %d: %d %s", r.N, r.Status, r.Error)
				}
			}
		})
	}
}

// A prompt in the arguments is not kept waiting by a pipe that nobody writes to.
func TestSilentPipeIsGivenUp(t *testing.T) {
	t.Parallel()
	p := startWithSilentPipe(t)
	out, err := p.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "fine") || !strings.Contains(string(out), "going on without it") {
		t.Errorf("%v\n%s", err, out)
	}
}

func startWithSilentPipe(t *testing.T) *exec.Cmd {
	t.Helper()
	heddle, err := exec.LookPath("heddle")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte("agents:\n  - turns: [{text: fine}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(heddle, "-p", "hi", "--model", "scripted/s.yaml")
	cmd.Dir, cmd.Stdin = dir, r
	cmd.Env = append(os.Environ(), "HEDDLE_HOME="+t.TempDir())
	return cmd
}

// One session belongs to one process; the second is told whose it is and what it can do.
func TestSecondProcessIsRefused(t *testing.T) {
	t.Parallel()
	p := connect(t, "agents:\n  - turns: [{text: fine, repeat: forever}]\n")
	p.say("hi")
	p.result()
	second := func(args ...string) (string, int) {
		cmd := exec.Command(p.cmd.Path, append([]string{"-p", "me too", "--continue", "--model", "scripted/s.yaml"}, args...)...)
		cmd.Dir, cmd.Env = p.dir, p.cmd.Env
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := second(); code != 2 || !strings.Contains(out, fmt.Sprint(p.cmd.Process.Pid)) || !strings.Contains(out, "--fork-session") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if out, code := second("--fork-session"); code != 0 || !strings.Contains(out, "fine") {
		t.Errorf("a fork: exit code %d: %s", code, out)
	}
	p.say("still there?")
	if r := p.result(); r["result"] != "fine" {
		t.Errorf("the first went on with %v", r)
	}
	p.end()
	if out, code := second(); code != 0 {
		t.Errorf("afterwards: exit code %d: %s", code, out)
	}
}
