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

	"golang.org/x/sys/unix"

	"heddle/internal/transcript"
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

// A reader that has stopped reading does not keep heddle, nor its commands, alive.
func TestStalledReaderDoesNotHoldUpTheEnd(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			b := newTaskBed(t, scriptOf(t, `agents:
  - turns:
      - calls: [{tool: Bash, input: {command: "sleep 1000", run_in_background: true}}]
      - {calls: [{tool: Bash, input: {command: "head -c 20000 /dev/zero | tr '\\0' a"}}], repeat: forever}
`))
			session := transcript.NewID()
			cmd, _ := b.command(t, "work", "--session-id", session, "--output-format", "stream-json")
			out, in, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			cmd.Stdout = in
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cmd.Process.Kill(); endLeft(t, b.home) })
			if _, err := out.Read(make([]byte, 1)); err != nil { // it has begun, and nobody reads on
				t.Fatal(err)
			}
			full(t, in)
			in.Close()
			id := string(started(t, b.home, session, 1)[0].ID)
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended:
			case <-time.After(20 * time.Second):
				t.Fatal("it goes on")
			}
			if code := cmd.ProcessState.ExitCode(); code != 128+int(sig) {
				t.Errorf("exit code %d", code)
			}
			if alive := marked(id); len(alive) > 0 {
				t.Errorf("still alive: %v", alive)
			}
		})
	}
}

// full waits until a pipe takes no more, given its end for writing.
func full(t *testing.T, pipe *os.File) {
	t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for late := time.After(20 * time.Second); ; {
		fds := []unix.PollFd{{Fd: int32(pipe.Fd()), Events: unix.POLLOUT}}
		if n, err := unix.Poll(fds, 0); err == nil && n == 0 {
			return
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatal("the pipe is never full")
		}
	}
}
