package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// idle is a script for who never asks the model.
const idle = "agents:\n  - turns: [{text: x}]\n"

// However heddle waits, a signal ends it, well before anybody loses patience.
func TestSignalIsObeyedInEveryState(t *testing.T) {
	t.Parallel()
	asked := make(chan bool, 1)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the server notice who leaves
		asked <- true
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	const retrying = "agents:\n  - turns: [{fail: {status: 529, retry_after: 90s, times: forever}, text: x}]\n"
	for _, c := range []struct {
		state, script string
		reach         func(*peer)
		args          []string
	}{
		{"idle", idle, func(p *peer) {
			p.next("the beginning", func(m msg) bool { return m.is("system", "init") })
		}, nil},
		{"asking a person", "agents:\n  - turns: [{calls: [{tool: Bash, input: {command: touch x}}]}]\n", func(p *peer) {
			p.say("go")
			p.question()
		}, nil},
		{"waiting for the model", idle, func(p *peer) {
			p.say("go")
			<-asked
		}, []string{"--model", "openai/x"}},
		{"waiting to try again", retrying, func(p *peer) {
			p.say("go")
			p.next("a failure", func(m msg) bool { return m.is("system", "api_retry") })
		}, nil},
		{"a command that ignores signals", `agents: [{turns: [{calls: [{tool: Bash, input: {command: 'trap "" TERM INT HUP; echo >ready; sleep 300; sleep 300'}}]}]}]`, func(p *peer) {
			p.say("go")
			p.ready()
		}, []string{"--permission-mode", "bypassPermissions"}},
	} {
		t.Run(c.state, func(t *testing.T) {
			t.Parallel()
			p := connect(t, c.script, append(c.args, "--settings", `{"providers":{"openai":{"baseUrl":"`+silent.URL+`"}}}`)...)
			c.reach(p)
			begin := time.Now()
			p.cmd.Process.Signal(syscall.SIGTERM)
			for p.lines.Scan() {
			}
			if code := p.code(); code != 143 {
				t.Errorf("exit code %d, want 143", code)
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A reader that leaves ends the run: nothing more is asked or done, and what runs is ended.
func TestReaderThatLeavesEndsTheRun(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'sleep 300 & echo $! >child; echo >ready; read x <gate'}}]
      - calls: [{tool: Bash, input: {command: touch unseen}}]
      - text: done
`)
	if err := syscall.Mkfifo(filepath.Join(p.dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(p.cmd.Path, "-p", "go", "--model", "scripted/s.yaml", "--output-format", "stream-json", "--permission-mode", "bypassPermissions")
	cmd.Dir, cmd.Env = p.dir, p.cmd.Env
	p.end()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.ready()
	out.Close()
	if err := os.WriteFile(filepath.Join(p.dir, "gate"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("exit code 0, although nobody saw the end")
	}
	if p.exists("unseen") {
		t.Error("the run went on without a reader")
	}
	gone(t, filepath.Join(p.dir, "child"))
}

// Standard input that ends during a turn lets it end in peace, and those that wait.
func TestInputEndsDuringATurn(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'echo >ready; read x <gate'}}]
      - text: first
      - text: second
`, "--permission-mode", "bypassPermissions")
	if err := syscall.Mkfifo(filepath.Join(p.dir, "gate"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.say("one")
	p.say("two")
	p.in.Close()
	p.ready()
	if err := os.WriteFile(filepath.Join(p.dir, "gate"), []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "second"} {
		if r := p.result(); r["result"] != want {
			t.Errorf("result = %v, want %s", r, want)
		}
	}
	if code := p.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
