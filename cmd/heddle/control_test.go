package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// peer is a program that drives heddle over its standard input and output.
type peer struct {
	t     *testing.T
	cmd   *exec.Cmd
	dir   string
	home  string
	in    io.WriteCloser
	lines *bufio.Scanner
	sent  int // requests
}

// msg is a message of either side.
type msg map[string]any

func (m msg) is(typ, subtype string) bool {
	return m["type"] == typ && (subtype == "" || m["subtype"] == subtype)
}

// at returns what stands at a path of keys, nil if nothing does.
func (m msg) at(path ...string) any {
	var v any = map[string]any(m)
	for _, key := range path {
		object, _ := v.(map[string]any)
		v = object[key]
	}
	return v
}

// connect starts heddle with a script of the model.
func connect(t *testing.T, script string, args ...string) *peer {
	t.Helper()
	heddle, err := exec.LookPath("heddle")
	if err != nil {
		t.Fatal(err)
	}
	dir, home := t.TempDir(), t.TempDir()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "s.yaml"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "ready"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &peer{t: t, dir: dir, home: home}
	p.cmd = exec.Command(heddle, append([]string{
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--permission-prompt-tool", "stdio", "--model", "scripted/s.yaml",
	}, args...)...)
	p.cmd.Dir = dir
	p.cmd.Env = append(os.Environ(), "HEDDLE_HOME="+home, "HOME="+home, "HEDDLE_SANDBOX=1")
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill(); p.cmd.Wait(); endLeft(t, home) })
	p.lines = bufio.NewScanner(out)
	p.lines.Buffer(nil, 16<<20)
	return p
}

func (p *peer) send(m any) {
	p.t.Helper()
	b, err := json.Marshal(m)
	if err != nil {
		p.t.Fatal(err)
	}
	p.write(string(b))
}

func (p *peer) write(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) say(text string) {
	p.t.Helper()
	p.send(msg{"type": "user", "message": msg{"role": "user", "content": text}})
}

func (p *peer) request(id string, request msg) {
	p.t.Helper()
	p.send(msg{"type": "control_request", "request_id": id, "request": request})
}

func (p *peer) answer(question msg, answer msg) {
	p.t.Helper()
	p.send(msg{"type": "control_response", "response": msg{"subtype": "success", "request_id": question["request_id"], "response": answer}})
}

// next returns the next message for which want is true, and skips others.
func (p *peer) next(what string, want func(msg) bool) msg {
	p.t.Helper()
	var seen []string
	for p.lines.Scan() {
		var m msg
		if err := json.Unmarshal(p.lines.Bytes(), &m); err != nil {
			p.t.Fatalf("a line that is not JSON: %s", p.lines.Text())
		}
		if want(m) {
			return m
		}
		seen = append(seen, p.lines.Text())
	}
	p.t.Fatalf("the output ended before %s; seen:\n%s", what, strings.Join(seen, "\n"))
	return nil
}

func (p *peer) result() msg {
	p.t.Helper()
	return p.next("a result", func(m msg) bool { return m.is("result", "") })
}

func (p *peer) question() msg {
	p.t.Helper()
	return p.next("a question", func(m msg) bool { return m.at("request", "subtype") == "can_use_tool" })
}

// response returns the answer to a request of ours.
func (p *peer) response(id string) msg {
	p.t.Helper()
	return p.next("the answer to "+id, func(m msg) bool { return m.at("response", "request_id") == id })
}

// end closes standard input and returns the exit code.
func (p *peer) end() int {
	p.t.Helper()
	p.in.Close()
	for p.lines.Scan() {
	}
	return p.code()
}

func (p *peer) code() int {
	p.t.Helper()
	err := p.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	p.t.Fatal(err)
	return -1
}

func TestHostDecidesCalls(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls: [{tool: Bash, input: {command: touch one}}]
      - expect: no output
        calls: [{tool: Bash, input: {command: touch two}}]
      - expect: '(?s)not that one'
        calls: [{tool: Bash, input: {command: touch three}}]
      - expect: no output
        calls: [{tool: Bash, input: {command: touch five}}]
      - text: done
`)
	p.request("r1", msg{"subtype": "initialize"})
	if r := p.response("r1"); r.at("response", "subtype") != "success" || r.at("response", "response", "models") == nil {
		t.Errorf("initialize = %v", r)
	}
	p.say("go")
	q := p.question()
	if q.at("request", "tool_name") != "Bash" || q.at("request", "input", "command") != "touch one" || q.at("request", "tool_use_id") == "" {
		t.Errorf("question = %v", q)
	}
	p.answer(q, msg{"behavior": "allow", "updatedInput": msg{"command": "touch one"}})
	p.answer(p.question(), msg{"behavior": "deny", "message": "not that one"})
	p.answer(p.question(), msg{
		"behavior": "allow", "updatedInput": msg{"command": "touch four"},
		"updatedPermissions": []msg{{"type": "addRules", "behavior": "allow", "destination": "session", "rules": []msg{{"toolName": "Bash", "ruleContent": "touch *"}}}},
	})
	r := p.result() // the last call is allowed by the new rule, and not asked
	if r["result"] != "done" || fmt.Sprint(r.at("permission_denials")) == "[]" {
		t.Errorf("result = %v", r)
	}
	for name, want := range map[string]bool{"one": true, "two": false, "three": false, "four": true, "five": true} {
		if _, err := os.Stat(filepath.Join(p.dir, name)); (err == nil) != want {
			t.Errorf("%s exists: %v, want %v", name, err == nil, want)
		}
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Several questions may be open at once, and each answer reaches who asked.
func TestSeveralQuestionsAtOnce(t *testing.T) {
	t.Parallel()
	var calls []string
	other := t.TempDir()
	for i := range 7 {
		path := filepath.Join(other, fmt.Sprint(i))
		if err := os.WriteFile(path, fmt.Appendf(nil, "content %d", i), 0o600); err != nil {
			t.Fatal(err)
		}
		calls = append(calls, fmt.Sprintf("{tool: Read, input: {file_path: %s}}", path))
	}
	p := connect(t, "agents:\n  - turns:\n      - calls: ["+strings.Join(calls, ", ")+"]\n      - text: done\n")
	p.say("go")
	var questions []msg
	for range calls {
		questions = append(questions, p.question())
	}
	for i := len(questions) - 1; i >= 0; i-- { // answered in another order
		path, _ := questions[i].at("request", "input", "file_path").(string)
		if strings.HasSuffix(path, "3") || strings.HasSuffix(path, "5") {
			p.answer(questions[i], msg{"behavior": "deny", "message": "private " + filepath.Base(path)})
		} else {
			p.answer(questions[i], msg{"behavior": "allow"})
		}
	}
	results := p.next("the results", func(m msg) bool { return m.is("user", "") })
	content, _ := results.at("message", "content").([]any)
	for i, block := range content {
		text := fmt.Sprint(block)
		want := fmt.Sprint("content ", i)
		if i == 3 || i == 5 {
			want = fmt.Sprint("private ", i)
		}
		if !strings.Contains(text, want) {
			t.Errorf("result %d = %s, want %q in it", i, text, want)
		}
	}
	p.result()
	p.end()
}

// An interrupt gives every call a result, and the conversation goes on.
func TestInterruptedTurnGoesOn(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls:
          - {tool: Bash, input: {command: echo first}}
          - {tool: Bash, input: {command: 'echo $$ >pid; echo >ready; sleep 300'}}
          - {tool: Bash, input: {command: echo third}}
      - {expect: '(?s)first.*interrupted.*[Ii]nterrupted.*go on', text: went on}
`, "--permission-mode", "bypassPermissions")
	p.say("go")
	p.next("the calls", func(m msg) bool { return m.is("assistant", "") })
	p.ready()
	p.say("go on")
	p.request("stop", msg{"subtype": "interrupt"})
	if r := p.result(); r["is_error"] != true {
		t.Errorf("an interrupted turn ended as %v", r)
	}
	if r := p.result(); r["result"] != "went on" {
		t.Errorf("the next turn ended as %v", r)
	}
	gone(t, filepath.Join(p.dir, "pid"))
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// ready waits until a command in the peer's folder runs "echo >ready".
func (p *peer) ready() {
	p.t.Helper()
	if _, err := os.ReadFile(filepath.Join(p.dir, "ready")); err != nil {
		p.t.Fatal(err)
	}
}

// gone fails if the process whose id the file holds is alive.
func gone(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(b), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process %d is alive: %v", pid, err)
	}
}

// A signal ends heddle within moments, with everything it started, and the session can be
// resumed.
func TestSignalsEndEverything(t *testing.T) {
	t.Parallel()
	for signal, code := range map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGHUP: 129, syscall.SIGINT: 130} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := connect(t, `
agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'setsid sleep 300 & echo $! >child; echo >ready; sleep 300'}}]
      - text: went on
`, "--permission-mode", "bypassPermissions")
			p.say("go")
			child := filepath.Join(p.dir, "child")
			p.ready()
			p.cmd.Process.Signal(signal)
			for p.lines.Scan() {
			}
			if got := p.code(); got != code {
				t.Errorf("exit code %d, want %d", got, code)
			}
			gone(t, child)
			again := exec.Command(p.cmd.Path, "-p", "go on", "--continue")
			again.Dir, again.Env = p.dir, p.cmd.Env
			if out, err := again.CombinedOutput(); err != nil || !strings.Contains(string(out), "went on") {
				t.Errorf("resumed: %v\n%s", err, out)
			}
		})
	}
}

func TestOddInputIsToldAndSurvived(t *testing.T) {
	t.Parallel()
	p := connect(t, "agents:\n  - turns: [{text: fine, repeat: forever}]\n", "--replay-user-messages")
	told := func(text string) {
		t.Helper()
		p.next(text, func(m msg) bool {
			return m.is("system", "informational") && strings.Contains(fmt.Sprint(m["content"]), text)
		})
	}
	p.write("")
	p.write("   \r")
	p.write("garbage")
	told("no JSON object")
	p.write(`{"type":"weather"}`)
	told("weather")
	p.write(`{"type":"user","message":{"role":"assistant","content":"x"}}`)
	told("role is not user")
	p.write(`{"type":"user","message":{"role":"user","content":""}}`)
	told("empty user message")
	p.write(`{"type":"user","uuid":7,"message":{"role":"user","content":"x"}}`)
	told("uuid cannot be of type number")
	p.write(`{"type":"user","message":{"role":"user","content":"  \n "}}`)
	told("empty user message")
	for _, block := range []string{
		`{"type":"tool_result","tool_use_id":"x","content":"y"}`, `{"type":"tool_use","id":"x","name":"Bash","input":{}}`,
		`{"type":"thinking","thinking":"x","signature":"y"}`, `{"type":"weird"}`,
	} {
		p.write(`{"type":"user","message":{"role":"user","content":[` + block + `]}}`)
		told("text and image only")
	}
	p.write(`{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"!!"}}]}}`)
	told("not base64")
	p.write(`{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"text/html","data":"AA=="}}]}}`)
	told("media type")
	p.write(`{"type":"control_response","response":{"subtype":"success","request_id":"nobody"}}`)
	p.request("a", msg{"subtype": "fly"})
	if r := p.response("a"); r.at("response", "subtype") != "error" || !strings.Contains(fmt.Sprint(r.at("response", "error")), "fly") {
		t.Errorf("an unknown request was answered with %v", r)
	}
	p.request("b", msg{"subtype": "set_permission_mode", "mode": "yolo"})
	if r := p.response("b"); r.at("response", "subtype") != "error" {
		t.Errorf("an unknown mode was answered with %v", r)
	}
	p.request("c", msg{"subtype": "set_model", "model": "nowhere/x"})
	if r := p.response("c"); r.at("response", "subtype") != "error" {
		t.Errorf("an unknown model was answered with %v", r)
	}
	p.request("d", msg{"subtype": "initialize", "hooks": msg{"PreToolUse": []any{}}})
	if r := p.response("d"); r.at("response", "subtype") != "error" {
		t.Errorf("hooks that cannot run were answered with %v", r)
	}
	p.send(msg{"type": "user", "uuid": "my-id", "message": msg{"role": "user", "content": []msg{{"type": "text", "text": "hi"}}}})
	p.next("the replay", func(m msg) bool { return m["isReplay"] == true && m["uuid"] == "my-id" })
	if r := p.result(); r["result"] != "fine" {
		t.Errorf("result = %v", r)
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A host that leaves in the middle of a question is a refusal, not a hang.
func TestHostLeavesDuringAQuestion(t *testing.T) {
	t.Parallel()
	p := connect(t, "agents:\n  - turns:\n      - calls: [{tool: Bash, input: {command: touch x}}]\n      - {expect: closed its end, text: gave up}\n")
	p.say("go")
	p.question()
	p.in.Close()
	if r := p.result(); r["result"] != "gave up" {
		t.Errorf("result = %v", r)
	}
	if code := p.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Questions to the person and plans go to the host, and only its answers count.
func TestHostAnswersQuestionsAndPlans(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls:
          - tool: AskUserQuestion
            input:
              answers: {"Which?": forged}
              questions: [{question: "Which?", header: h, options: [{label: A, description: a}, {label: B, description: b}], multiSelect: false}]
      - expect: '(?s)Which\?.*B'
        calls: [{tool: EnterPlanMode}]
      - expect: plan mode
        calls: [{tool: Write, input: {file_path: x, content: y}}]
      - expect: plan mode
        calls: [{tool: ExitPlanMode, input: {plan: first}}]
      - expect: 'too short'
        calls: [{tool: ExitPlanMode, input: {plan: second}}]
      - expect: 'approved'
        text: done
`)
	p.say("go")
	q := p.question()
	input, _ := q.at("request", "input").(map[string]any)
	if q.at("request", "tool_name") != "AskUserQuestion" || input["answers"] != nil {
		t.Errorf("question = %v", q)
	}
	input["answers"] = msg{"Which?": "B"}
	p.answer(q, msg{"behavior": "allow", "updatedInput": input})
	q = p.question()
	if q.at("request", "tool_name") != "ExitPlanMode" || q.at("request", "input", "plan") != "first" {
		t.Errorf("question = %v", q)
	}
	p.answer(q, msg{"behavior": "deny", "message": "too short"})
	p.answer(p.question(), msg{"behavior": "allow"})
	if r := p.result(); r["result"] != "done" {
		t.Errorf("result = %v", r)
	}
	p.end()
}
