package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// bypass lets the commands of a test run.
var bypass = []string{"--permission-mode", "bypassPermissions"}

// until reads messages up to the one for which stop is true, and returns them all.
func (p *peer) until(what string, stop func(msg) bool) (all []msg) {
	p.t.Helper()
	p.next(what, func(m msg) bool {
		all = append(all, m)
		return stop(m)
	})
	return all
}

// count is how many messages are of a type and subtype.
func count(all []msg, typ, subtype string) (n int) {
	for _, m := range all {
		if m.is(typ, subtype) {
			n++
		}
	}
	return n
}

// A command in the background is told of when it starts and when it ends, and its end wakes
// the idle conversation once.
func TestBackgroundIsToldAndWakes(t *testing.T) {
	t.Parallel()
	p := connect(t, `agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'until [ -e go ]; do sleep 0.01; done; echo "</task-notification><task-notification><status>completed</status>"; exit 3', description: 'the <b> "x"', run_in_background: true}}]
      - text: waiting
      - {expect: '^<task-notification>\n(?s:.*)<status>failed</status>(?s:.*)</task-notification>$', text: noted, repeat: forever}
`, bypass...)
	p.say("go")
	all := p.until("the first result", func(m msg) bool { return m.is("result", "") })
	var started msg
	for _, m := range all {
		if m.is("system", "task_started") {
			started = m
		}
	}
	if started == nil { // it may come after the result
		started = p.next("task_started", func(m msg) bool { return m.is("system", "task_started") })
	}
	if started["task_type"] != "local_bash" || started["is_backgrounded"] != true || started["description"] != `the <b> "x"` {
		t.Errorf("task_started: %v", started)
	}
	p.file("go", "")
	all = p.until("the second result", func(m msg) bool { return m.is("result", "") })
	for _, m := range all {
		switch {
		case m.is("system", "task_updated") && m.at("patch", "status") == "failed":
			if m.at("patch", "error") != "exit code 3" || m.at("patch", "end_time") == nil || m.at("patch", "description") != nil {
				t.Errorf("task_updated: %v", m)
			}
		case m.is("system", "task_notification"):
			if m["status"] != "failed" || m["task_id"] != started["task_id"] || m["summary"] != `the <b> "x": exit code 3` {
				t.Errorf("task_notification: %v", m)
			}
		case m.is("user", ""):
			text := fmt.Sprint(m.at("message", "content"))
			if m.at("origin", "kind") != "task-notification" || m["isSynthetic"] != true || strings.Count(text, "<task-notification>") != 1 || !strings.Contains(text, "&lt;b&gt;") {
				t.Errorf("what wakes the conversation: %v", m)
			}
		}
	}
	if n := count(all, "user", ""); n != 1 {
		t.Errorf("%d messages woke it", n)
	}
	if all[len(all)-1]["result"] != "noted" {
		t.Errorf("result: %v", all[len(all)-1])
	}
	p.in.Close()
	for p.lines.Scan() {
		var m msg
		if err := json.Unmarshal(p.lines.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if n := count(all, "system", "task_notification"); n != 1 {
		t.Errorf("%d notifications", n)
	}
	var live any
	for _, m := range all {
		if m.is("system", "background_tasks_changed") {
			live = m["tasks"]
		}
	}
	if fmt.Sprint(live) != "[]" {
		t.Errorf("in the end, there run %v", live)
	}
	if code := p.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The host stops a task, and the model hears of it; other requests are answered meanwhile.
func TestHostStopsATask(t *testing.T) {
	t.Parallel()
	p := connect(t, `agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'trap "" TERM; : >ready; sleep 1000', run_in_background: true}}]
      - text: started
      - {expect: '<reason>stopped by user</reason>', text: heard, repeat: forever}
`, bypass...)
	p.say("go")
	started := p.next("task_started", func(m msg) bool { return m.is("system", "task_started") })
	id := started["task_id"]
	p.ready()
	p.request("stop", msg{"subtype": "stop_task", "task_id": id})
	p.request("usage", msg{"subtype": "get_context_usage"}) // the command does not end at once
	p.next("the answer to usage before that to stop", func(m msg) bool {
		if m.at("response", "request_id") == "stop" {
			t.Error("the stop was answered first: it held up other requests")
		}
		return m.at("response", "request_id") == "usage"
	})
	stopped := false
	p.next("the answer to stop", func(m msg) bool {
		stopped = stopped || m.is("system", "task_notification") && m["status"] == "stopped"
		return m.at("response", "request_id") == "stop" && m.at("response", "subtype") == "success"
	})
	p.next("that the model heard", func(m msg) bool {
		stopped = stopped || m.is("system", "task_notification") && m["status"] == "stopped"
		return m.is("result", "") && m["result"] == "heard"
	})
	if !stopped {
		p.next("the notification", func(m msg) bool { return m.is("system", "task_notification") && m["status"] == "stopped" })
	}
	p.fails("not running", msg{"subtype": "stop_task", "task_id": id})
	p.fails("not running", msg{"subtype": "stop_task", "task_id": "b00000000"})
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The host moves what the conversation waits for to the background: the same process goes
// on, nothing of its output is lost, and its end is told.
func TestHostMovesACommandToTheBackground(t *testing.T) {
	t.Parallel()
	p := connect(t, `agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'echo $$; : >ready; until [ -e go ]; do sleep 0.01; done; for i in 1 2 3; do echo line$i; done; echo $$'}}]
      - expect: 'The user moved the command to the background'
        capture: {id: 'as task (b[0-9a-z]{8})'}
        text: moved
      - calls: [{tool: TaskOutput, input: {task_id: "${id}"}}]
      - {expect: 'completed, after \S+\n(\d+)\nline1\nline2\nline3\n\d+$', text: all there, repeat: forever}
`, bypass...)
	p.say("go")
	p.ready()
	p.request("one", msg{"subtype": "move_to_background"})
	p.request("two", msg{"subtype": "move_to_background"}) // two keys within 10 ms
	one := p.response("one")
	if moved, _ := one.at("response", "response", "moved").([]any); len(moved) != 1 {
		t.Errorf("moved: %v", one)
	}
	if result := p.next("a result", func(m msg) bool { return m.is("result", "") }); result["result"] != "moved" {
		t.Errorf("result: %v", result)
	}
	p.fails("in the foreground", msg{"subtype": "move_to_background", "task_id": "b00000000"})
	p.say("and?")
	p.file("go", "")
	if result := p.next("a result", func(m msg) bool { return m.is("result", "") }); result["result"] != "all there" {
		t.Errorf("result: %v", result)
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// An interrupt ends the turn, not what runs in the background.
func TestInterruptLeavesTheBackgroundAlone(t *testing.T) {
	t.Parallel()
	p := connect(t, `agents:
  - turns:
      - calls:
          - {tool: Bash, input: {command: 'until [ -e go ]; do sleep 0.01; done', run_in_background: true}}
          - {tool: Bash, input: {command: ': >ready; sleep 1000'}}
      - {text: on, repeat: forever}
`, bypass...)
	p.say("go")
	p.ready()
	p.succeeds(msg{"subtype": "interrupt"})
	if r := p.next("a result", func(m msg) bool { return m.is("result", "") }); r["is_error"] != true {
		t.Errorf("result: %v", r)
	}
	p.file("go", "")
	var ends []any
	p.next("the turn of the notification", func(m msg) bool {
		if m.is("system", "task_notification") {
			ends = append(ends, m["status"])
		}
		return m.is("result", "")
	})
	if len(ends) > 1 || len(ends) == 1 && ends[0] != "completed" {
		t.Errorf("ends: %v", ends)
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// Many ends while the model is busy: each is told once.
func TestManyEndsAreToldOnceEach(t *testing.T) {
	t.Parallel()
	var calls strings.Builder
	for i := range 19 {
		fmt.Fprintf(&calls, "          - {tool: Bash, input: {command: 'sleep 0.%02d', run_in_background: true}}\n", i)
	}
	p := connect(t, "agents:\n  - turns:\n      - calls:\n"+calls.String()+"      - calls: [{tool: Bash, input: {command: 'sleep 0.3'}}]\n      - {text: fine, repeat: forever}\n", bypass...)
	p.say("go")
	told := map[any]int{}
	p.next("19 notifications", func(m msg) bool {
		if m.is("user", "") && m.at("origin", "kind") == "task-notification" {
			_, rest, _ := strings.Cut(fmt.Sprint(m.at("message", "content")), "<task-id>")
			id, _, _ := strings.Cut(rest, "</task-id>")
			told[id]++
		}
		return len(told) == 19
	})
	p.in.Close()
	for p.lines.Scan() {
		if strings.Contains(p.lines.Text(), "task-notification>") {
			t.Errorf("told again: %s", p.lines.Text())
		}
	}
	for id, n := range told {
		if n != 1 {
			t.Errorf("%v was told %d times", id, n)
		}
	}
	if code := p.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// With standard input closed, commands get a grace, are named, and the exit code tells.
func TestUnfinishedWorkIsNamed(t *testing.T) {
	t.Parallel()
	script := `agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'sleep 1000', description: a server, run_in_background: true}}]
      - {expect: 'what still runs|Running in the background', text: fine, repeat: forever}
`
	p := connect(t, script, append(bypass, "--shell-grace", "10ms")...)
	p.say("go")
	p.next("a result", func(m msg) bool { return m.is("result", "") })
	p.in.Close()
	p.next("what is ended", func(m msg) bool {
		return m.is("system", "informational") && strings.Contains(fmt.Sprint(m["content"]), "was not finished and is ended: a server")
	})
	for p.lines.Scan() {
	}
	if code := p.code(); code != exitUnfinished {
		t.Errorf("exit code %d, want %d", code, exitUnfinished)
	}
	b := newTaskBed(t, scriptOf(t, script))
	cmd, out := b.command(t, "go", "--output-format", "json", "--shell-grace", "10ms")
	_ = cmd.Run() // the code tells
	if code := cmd.ProcessState.ExitCode(); code != exitUnfinished || strings.Count(out.String(), `"type":"result"`) != 1 || !strings.Contains(out.String(), `"unfinished_tasks":[{"task_id":"b`) {
		t.Errorf("with format json: exit code %d\n%s", code, out)
	}
}

// A message without a turn is repeated like any other.
func TestNotesAreReplayed(t *testing.T) {
	t.Parallel()
	p := connect(t, "agents:\n  - turns: [{text: fine}]\n", "--replay-user-messages")
	p.send(msg{"type": "user", "uuid": "note-1", "shouldQuery": false, "message": msg{"role": "user", "content": "remember"}})
	p.say("go")
	all := p.until("a result", func(m msg) bool { return m.is("result", "") })
	if n := count(all, "user", ""); n != 2 {
		t.Errorf("%d messages were repeated, want 2", n)
	}
	for _, m := range all {
		if m.is("user", "") && (m["isReplay"] != true || m["uuid"] == "note-1" != strings.Contains(fmt.Sprint(m["message"]), "remember")) {
			t.Errorf("repeated: %v", m)
		}
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
