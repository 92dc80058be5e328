package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"heddle/internal/model/fakeapi"
	"heddle/internal/model/scripted"
	"heddle/internal/transcript"
)

// patient is a value of --settings: the first request waits for all servers.
const patient = `{"mcp": {"startWaitSeconds": 60}}`

// servers is a value of --mcp-config: test servers by name, with their flags.
func servers(t *testing.T, flags map[string][]string) string {
	t.Helper()
	all := map[string]any{}
	for name, args := range flags {
		all[name] = msg{"command": "testserver", "args": args}
	}
	b, err := json.Marshal(msg{"mcpServers": all})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// untilServers asks for /mcp until its answer has the text: what servers do, they do in their own time.
func (p *peer) untilServers(text string) {
	p.t.Helper()
	for range 100_000 {
		p.say("/mcp")
		if strings.Contains(fmt.Sprint(p.result()["result"]), text) {
			return
		}
	}
	p.t.Fatalf("/mcp never says %q", text)
}

// untilStarted asks on until a server has begun its log.
func (p *peer) untilStarted(log string) {
	p.t.Helper()
	for range 100_000 {
		if info, err := os.Stat(log); err == nil && info.Size() > 0 {
			return
		}
		p.say("/mcp")
		p.result()
	}
	p.t.Fatalf("no server begins %s", log)
}

// lines returns the lines of a test server's log that begin with a word, without it.
func linesOf(t *testing.T, path, word string) (rest []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), word); ok {
			rest = append(rest, strings.TrimSpace(text))
		}
	}
	return rest
}

// alive returns those of the processes that a test server's log names that are there.
func alive(t *testing.T, path string) (pids []string) {
	t.Helper()
	all := linesOf(t, path, "pid")
	if len(all) == 0 {
		t.Fatalf("no process has written to %s", path)
	}
	for _, pid := range all {
		// Of one that is dead, and that nobody has asked about, there is no command line.
		if line, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline")); strings.Contains(string(line), "testserver") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killServers ends what a failed test has left of them.
func killServers(t *testing.T, log string) {
	t.Helper()
	for _, pid := range alive(t, log) {
		if n, err := strconv.Atoi(pid); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL) // it may just have ended
		}
	}
}

// A host sees the servers at once, and the model hears with the next message what has
// changed of them: tools that came, that are others now, and a server that is not there.
func TestModelHearsOfServersThatChange(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - expect: '^a: connected, 10 tools in your list$'
        calls: [{tool: mcp__a__grow}]
      - {expect: '^grown$', text: ok}
      - expect: '^a: connected, 9 tools in your list; 2 tools to be found with ToolSearch and called with CallTool: mcp__a__echo, mcp__a__late$'
        calls: [{tool: CallTool, input: {name: mcp__a__late, input: {text: hello}}}]
      - expect: '^late: hello$'
        calls: [{tool: mcp__a__echo, input: {text: old name}}]
      - {expect: '^echo: old name$', text: ok}
      - {expect: '^go on$', text: no news}
      - calls: [{tool: mcp__a__die}]
      - {text: ok}
      - expect: '^a: connected, 10 tools in your list$'
        text: it is what it was
`, "--permission-mode", "bypassPermissions", "--settings", patient, "--mcp-config", servers(t, map[string][]string{"a": nil}))
	p.say("go")
	init := p.next("init", func(m msg) bool { return m.is("system", "init") })
	if got := fmt.Sprint(init["mcp_servers"]); got != "[map[name:a status:connected]]" {
		t.Errorf("mcp_servers = %s", got)
	}
	turn := func(text, want string) {
		t.Helper()
		if text != "" {
			p.say(text)
		}
		if r := p.result(); r["result"] != want {
			t.Fatalf("%s: result = %v", text, r)
		}
	}
	turn("", "ok")
	p.untilServers(" 11 ")
	turn("go on", "ok")
	turn("go on", "no news")
	turn("go on", "ok")
	p.untilServers(" 10 ") // started again, it has what it had at first
	turn("go on", "it is what it was")
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The beginning of every request is the same, byte for byte, whatever servers do, and
// after a resume.
func TestServersLeaveThePrefixAlone(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load("prefix", []byte(`
agents:
  - turns:
      - calls: [{tool: mcp__a__grow}, {tool: mcp__b__die}, {tool: mcp__a__echo}]
      - calls: [{tool: ToolSearch, input: {query: late}}, {tool: mcp__a__echo}, {tool: mcp__b__echo}]
      - {text: fine, repeat: forever}
`))
	if err != nil {
		t.Fatal(err)
	}
	b := newTaskBed(t, script)
	config := servers(t, map[string][]string{"a": nil, "b": nil})
	for _, args := range [][]string{{"go"}, {"go on", "--continue"}, {"go on", "--continue"}} {
		cmd, out := b.command(t, append(args, "--mcp-config", config, "--settings", patient)...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	requests := b.api.Requests()
	if len(requests) != 5 || !strings.Contains(string(requests[0].Body), `"mcp__b__echo"`) {
		t.Fatalf("%d requests, want 5; the first: %.500s", len(requests), requests[0].Body)
	}
	for _, r := range requests[1:] {
		if r.Prefix != fakeapi.Identical {
			t.Errorf("request %d: prefix is %s after %d bytes", r.N, r.Prefix, r.CommonPrefix)
		}
	}
}

const asking = `
agents:
  - turns:
      - calls: [{tool: mcp__a__ask}]
      - text: "${result.last}"
`

// What a server asks goes to the host, whose answer reaches the server.
func TestHostAnswersServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer msg
		want   string
	}{
		"accepted":              {msg{"behavior": "allow", "updatedInput": msg{"content": msg{"colour": "blue"}}}, `answer: {"action":"accept","content":{"colour":"blue"}}`},
		"accepted with nothing": {msg{"behavior": "allow"}, `answer: {"action":"accept"`},
		"refused":               {msg{"behavior": "deny", "message": "no"}, `answer: {"action":"decline"}`},
		"nonsense":              {msg{"behavior": "allow", "updatedInput": msg{"content": "blue"}}, `answer: {"action":"decline"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := connect(t, asking, "--allowedTools", "mcp__a__ask", "--settings", patient, "--mcp-config", servers(t, map[string][]string{"a": nil}))
			p.say("go")
			q := p.question()
			if q.at("request", "tool_name") != "Elicitation" || q.at("request", "input", "message") != "Which colour?" || q.at("request", "input", "server") != "a" || q.at("request", "input", "requestedSchema") == nil {
				t.Errorf("question = %v", q)
			}
			p.answer(q, c.answer)
			if got := fmt.Sprint(p.result()["result"]); !strings.HasPrefix(got, c.want) {
				t.Errorf("the server was told %s, want %s", got, c.want)
			}
			p.end()
		})
	}
}

// With nobody there, what a server asks is declined.
func TestNobodyAnswersServers(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load("ask", []byte(asking))
	if err != nil {
		t.Fatal(err)
	}
	cmd, out := newTaskBed(t, script).command(t, "go", "--settings", patient, "--mcp-config", servers(t, map[string][]string{"a": nil}))
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), `answer: {"action":"decline"}`) {
		t.Errorf("%v\n%s", err, out)
	}
}

// A call that takes long goes on as a task, whose end is told once. Another terminal sees
// how far it is and can stop it, which the server is told.
func TestSlowCallsAreTasks(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls: [{tool: mcp__a__hang, input: {text: ready}}, {tool: mcp__a__slow, input: {text: door}}]
      - {expect: '(?s)Not finished after.*goes on in the background, as task.*as task', text: both run}
      - {expect: '(?s)<task-notification>.*stopped by user.*hang of the server a', text: one was stopped}
      - {expect: '(?s)<task-notification>.*completed.*slow of the server a', text: one is done}
`, "--permission-mode", "bypassPermissions", "--mcp-config", servers(t, map[string][]string{"a": {"-log", "a.log"}}), "--settings", `{"mcp": {"startWaitSeconds": 60, "backgroundSeconds": 0.05}}`)
	door := filepath.Join(p.dir, "door")
	if err := syscall.Mkfifo(door, 0o600); err != nil {
		t.Fatal(err)
	}
	p.say("go")
	if r := p.result(); r["result"] != "both run" {
		t.Fatalf("result = %v", r)
	}
	p.ready()
	heddle := func(args ...string) string {
		t.Helper()
		cmd := exec.Command(p.cmd.Path, args...)
		cmd.Dir, cmd.Env = p.dir, p.cmd.Env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("heddle %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	var list []struct{ ID, Description string }
	if err := json.Unmarshal([]byte(heddle("tasks", "--json")), &list); err != nil || len(list) != 2 {
		t.Fatalf("tasks = %+v, %v", list, err)
	}
	hanging := list[0].ID
	if strings.HasPrefix(list[1].Description, "hang") {
		hanging = list[1].ID
	}
	shown := ""
	for range 100 { // what the server said may still be on its way
		if shown = heddle("tasks", "show", hanging); strings.Contains(shown, "1 of 3: one third") {
			break
		}
	}
	if !strings.Contains(shown, "1 of 3: one third") {
		t.Errorf("heddle tasks show = %s, want how far it is", shown)
	}
	heddle("tasks", "stop", hanging)
	if r := p.result(); r["result"] != "one was stopped" {
		t.Errorf("result = %v", r)
	}
	if err := os.WriteFile(door, []byte("open"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := p.result(); r["result"] != "one is done" {
		t.Errorf("result = %v", r)
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if got := linesOf(t, filepath.Join(p.dir, "a.log"), "cancelled"); len(got) != 1 {
		t.Errorf("the server was told of %d cancelled calls, want 1", len(got))
	}
}

// However heddle ends, its servers end too: at once if it can see to that, or with the next
// start, of any session or of the same.
func TestServersEndWithHeddle(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(p *peer)
		next []string // a run after which all is gone; nil: none is needed
	}{
		"in good order":      {func(p *peer) { p.end() }, nil},
		"terminated":         {func(p *peer) { p.cmd.Process.Signal(syscall.SIGTERM) }, nil},
		"killed":             {func(p *peer) { p.cmd.Process.Kill() }, []string{"-p", "hello", "--model", "scripted/s.yaml"}},
		"killed and gone on": {func(p *peer) { p.cmd.Process.Kill() }, []string{"-p", "hello", "--continue"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := connect(t, "agents:\n  - turns: [{text: fine, repeat: forever}]\n", "--session-id", transcript.NewID(), "--mcp-config", servers(t, map[string][]string{
				"a": {"-log", "a.log"}, "b": {"-log", "b.log", "-silent", "-up", "ready"},
			}), "--settings", `{"mcp": {"startWaitSeconds": 0.2}}`)
			p.say("go")
			p.result()
			p.untilServers("connected")
			p.ready()
			logs := []string{filepath.Join(p.dir, "a.log"), filepath.Join(p.dir, "b.log")}
			for _, log := range logs {
				t.Cleanup(func() { killServers(t, log) })
				p.untilStarted(log)
				if len(alive(t, log)) != 1 {
					t.Fatalf("%s: no server runs: the test proves nothing", log)
				}
			}
			c.end(p)
			for p.lines.Scan() {
			}
			_ = p.cmd.Wait()
			if c.next != nil {
				if len(alive(t, logs[1])) != 1 {
					t.Error("the server that ignores everything is gone: the test proves nothing")
				}
				again := exec.Command(p.cmd.Path, c.next...)
				again.Dir, again.Env = p.dir, p.cmd.Env
				if out, err := again.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			}
			for _, log := range logs {
				if pids := alive(t, log); len(pids) > 0 {
					t.Errorf("%s: still alive: %v", log, pids)
				}
			}
		})
	}
}
