package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// file writes a file into the peer's folder.
func (p *peer) file(name, content string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) exists(name string) bool {
	_, err := os.Stat(filepath.Join(p.dir, name))
	return err == nil
}

// succeeds sends a request and returns what its answer says.
func (p *peer) succeeds(request msg) msg {
	p.t.Helper()
	p.sent++
	id := fmt.Sprint("request-", p.sent)
	p.request(id, request)
	r := p.response(id)
	if r.at("response", "subtype") != "success" {
		p.t.Errorf("%v was answered with %v", request, r)
	}
	answer, _ := r.at("response", "response").(map[string]any)
	return answer
}

// fails sends a request that must be answered with an error that says want.
func (p *peer) fails(want string, request msg) {
	p.t.Helper()
	p.sent++
	id := fmt.Sprint("request-", p.sent)
	p.request(id, request)
	if r := p.response(id); r.at("response", "subtype") != "error" || !strings.Contains(fmt.Sprint(r.at("response", "error")), want) {
		p.t.Errorf("%v was answered with %v, want an error with %q", request, r, want)
	}
}

func TestModelChangesWithTheNextRequest(t *testing.T) {
	t.Parallel()
	p := connect(t, "agents:\n  - turns: [{text: one}, {text: two}, {text: three}]\n")
	p.file("other.yaml", "agents:\n  - turns: [{text: x}, {text: other}]\n")
	for _, turn := range []struct {
		model any
		want  string
	}{{nil, "one"}, {"scripted/other.yaml", "other"}, {"default", "three"}} {
		if turn.want != "one" {
			p.succeeds(msg{"subtype": "set_model", "model": turn.model})
		}
		p.say("go")
		if r := p.result(); r["result"] != turn.want {
			t.Errorf("with %v: %v", turn.model, r)
		}
	}
	p.succeeds(msg{"subtype": "set_model", "model": nil})
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestModeChanges(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls: [{tool: Write, input: {file_path: one, content: x}}]
      - text: done
      - calls: [{tool: Write, input: {file_path: two, content: x}}]
      - text: done
`)
	p.request("a", msg{"subtype": "set_permission_mode", "mode": "acceptEdits"})
	if m := p.next("the new mode", func(m msg) bool { return m.is("system", "status") }); m["permissionMode"] != "acceptEdits" {
		t.Errorf("status = %v", m)
	}
	p.response("a")
	p.say("go")
	p.result() // nobody was asked
	p.succeeds(msg{"subtype": "set_permission_mode", "mode": "plan"})
	p.say("go")
	p.result()
	if !p.exists("one") || p.exists("two") {
		t.Errorf("one exists: %v, want true; two exists: %v, want false", p.exists("one"), p.exists("two"))
	}
	// What was not made possible at the start stays impossible.
	p.fails("bypassPermissions", msg{"subtype": "set_permission_mode", "mode": "bypassPermissions"})
	p.end()
}

func TestContextUsageIsTold(t *testing.T) {
	t.Parallel()
	p := connect(t, "window: 50000\nusage: {input: 12000, output: 3}\nagents:\n  - turns: [{text: hi}]\n")
	p.say("go")
	p.result()
	u := p.succeeds(msg{"subtype": "get_context_usage"})
	if u["maxTokens"] != 50000.0 || u["totalTokens"] == 0.0 || u["messages"] != 2.0 {
		t.Errorf("usage = %v", u)
	}
	p.end()
}

// A model that is refused again and again is stopped before it finds a way round.
func TestThirdRefusalEndsTheTurn(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - {calls: [{tool: Bash, input: {command: touch x}}], repeat: 3}
      - {expect: go on, text: went on}
`)
	p.say("go")
	for range 3 {
		p.answer(p.question(), msg{"behavior": "deny", "message": "no"})
	}
	r := p.result()
	denials, _ := r["permission_denials"].([]any)
	if r["is_error"] != true || r["terminal_reason"] != "blocking_limit" || len(denials) != 3 {
		t.Errorf("result = %v", r)
	}
	p.say("go on")
	if r := p.result(); r["result"] != "went on" {
		t.Errorf("result = %v", r)
	}
	p.end()
}

func TestRefusalCanEndTheTurn(t *testing.T) {
	t.Parallel()
	p := connect(t, "agents:\n  - turns:\n      - calls: [{tool: Bash, input: {command: touch x}}]\n      - {expect: '(?s)stop it.*go on', text: went on}\n")
	p.say("go")
	p.answer(p.question(), msg{"behavior": "deny", "message": "stop it", "interrupt": true})
	if r := p.result(); r["is_error"] != true {
		t.Errorf("result = %v", r)
	}
	p.say("go on")
	if r := p.result(); r["result"] != "went on" {
		t.Errorf("result = %v", r)
	}
	p.end()
}

// A question whose turn was interrupted is taken back; an answer that comes after that, or
// makes no sense, allows nothing.
func TestInterruptTakesQuestionsBack(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls: [{tool: Bash, input: {command: touch late}}]
      - calls: [{tool: Bash, input: {command: touch odd}}]
      - calls: [{tool: Bash, input: {command: touch odd}}]
      - text: done
`)
	p.say("go")
	q := p.question()
	p.request("stop", msg{"subtype": "interrupt"})
	cancel := p.next("the question taken back", func(m msg) bool { return m.is("control_cancel_request", "") })
	if cancel["request_id"] != q["request_id"] {
		t.Errorf("%v was taken back, not %v", cancel, q)
	}
	p.result()
	p.answer(q, msg{"behavior": "allow"})
	p.say("and now?")
	p.answer(p.question(), msg{"behavior": "perhaps"})
	q = p.question()
	p.send(msg{"type": "control_response", "response": msg{"subtype": "error", "request_id": q["request_id"], "error": "the host is confused"}})
	if r := p.result(); r["result"] != "done" {
		t.Errorf("result = %v", r)
	}
	if p.exists("late") || p.exists("odd") {
		t.Error("a command ran that nobody allowed")
	}
	p.end()
}

// Of calls that run at once, those that were over when the turn was interrupted keep their
// results, and the others get one that says so: no call is left without.
func TestInterruptAmongParallelCalls(t *testing.T) {
	t.Parallel()
	asked, release := make(chan bool), make(chan bool)
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- true
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	p := connect(t, fmt.Sprintf(`
agents:
  - turns:
      - calls:
          - {tool: Read, input: {file_path: one}}
          - {tool: WebFetch, input: {url: "%s/x", prompt: x}}
          - {tool: Read, input: {file_path: two}}
          - {tool: Bash, input: {command: touch never}}
      - {expect: '(?s)content one.*content two.*Interrupted before it ran.*go on', text: went on}
`, slow.URL), "--permission-mode", "bypassPermissions", "--settings", `{"web":{"allowPrivateAddresses":true}}`)
	p.file("one", "content one")
	p.file("two", "content two")
	p.say("go")
	<-asked
	p.succeeds(msg{"subtype": "interrupt"})
	p.result()
	p.say("go on")
	if r := p.result(); r["result"] != "went on" {
		t.Errorf("result = %v", r)
	}
	if p.exists("never") {
		t.Error("a call ran after the interrupt")
	}
	p.end()
}

// Messages that wait can be taken back together with the turn, and are named.
func TestInterruptCanCancelTheQueue(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'echo >ready; sleep 300'}}]
      - {expect: '(?s)third.*fourth', text: done}
`, "--permission-mode", "bypassPermissions")
	message := func(id string, query bool) msg {
		return msg{"type": "user", "uuid": id, "shouldQuery": query, "message": msg{"role": "user", "content": id}}
	}
	p.say("go")
	p.ready()
	p.send(message("first", true))
	p.send(message("second", false))
	receipt := p.succeeds(msg{"subtype": "interrupt", "cancel_queued": true})
	if want := []any{"first", "second"}; !reflect.DeepEqual(receipt["cancelled"], want) || fmt.Sprint(receipt["still_queued"]) != "[]" {
		t.Errorf("receipt = %v, want %v cancelled", receipt, want)
	}
	p.result()
	p.send(message("third", false)) // no turn of its own
	p.send(message("fourth", true))
	if r := p.result(); r["result"] != "done" || r["num_turns"] != 1.0 {
		t.Errorf("result = %v", r)
	}
	p.end()
}
