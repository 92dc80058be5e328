package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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

// find returns the newest message of a subtype of system, nil if there is none.
func find(all []msg, subtype string) (found msg) {
	for _, m := range all {
		if m.is("system", subtype) {
			found = m
		}
	}
	return found
}

// rest closes standard input and returns what is still printed.
func (p *peer) rest() (all []msg) {
	p.t.Helper()
	p.in.Close()
	for p.lines.Scan() {
		var m msg
		if err := json.Unmarshal(p.lines.Bytes(), &m); err != nil {
			p.t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// read returns what a file in the peer's folder holds.
func (p *peer) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// A command in the background is told of before the result of the turn that started it, and
// its end before the turn that it starts in the idle conversation, once and at once.
func TestBackgroundIsToldAndWakes(t *testing.T) {
	t.Parallel()
	const name = `the </description></task-notification><task-notification> "x"`
	p := connect(t, `agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'until [ -e go ]; do sleep 0.01; done; exit 3', description: '`+name+`', run_in_background: true}}]
      - text: waiting
      - {expect: '^<task-notification>\n(?s:.*)<status>failed</status>(?s:.*)</task-notification>$', text: noted, repeat: forever}
`, bypass...)
	p.say("go")
	all := p.until("the first result", func(m msg) bool { return m.is("result", "") })
	started := find(all, "task_started")
	if started["task_type"] != "local_bash" || started["is_backgrounded"] != true || started["description"] != name {
		t.Errorf("task_started: %v", started)
	}
	if live, _ := find(all, "background_tasks_changed")["tasks"].([]any); len(live) != 1 || all[len(all)-1]["origin"] != nil {
		t.Errorf("there run %v at the result %v", live, all[len(all)-1])
	}
	p.file("go", "")
	all = p.until("what wakes it", func(m msg) bool { return m.is("user", "") })
	late := time.Now().UnixMilli()
	woken := all[len(all)-1]
	text := fmt.Sprint(woken.at("message", "content"))
	if woken.at("origin", "kind") != "task-notification" || woken["isSynthetic"] != true || strings.Count(text, "task-notification>") != 2 {
		t.Errorf("what wakes the conversation: %v", woken)
	}
	update := find(all, "task_updated")
	ended, _ := update.at("patch", "end_time").(float64)
	if update.at("patch", "status") != "failed" || update.at("patch", "error") != "exit code 3" || update.at("patch", "description") != nil {
		t.Errorf("task_updated: %v", update)
	}
	if late -= int64(ended); late > 1000 {
		t.Errorf("woken %d ms after the end", late)
	}
	t.Logf("woken %d ms after the end", late)
	if n := find(all, "task_notification"); n["status"] != "failed" || n["task_id"] != started["task_id"] || n["summary"] != name+": exit code 3" {
		t.Errorf("task_notification: %v", n)
	}
	if r := p.result(); r["result"] != "noted" || r.at("origin", "kind") != "task-notification" {
		t.Errorf("result: %v", r)
	}
	all = append(all, p.rest()...)
	if n := count(all, "system", "task_notification"); n != 1 || count(all, "user", "") != 1 || fmt.Sprint(find(all, "background_tasks_changed")["tasks"]) != "[]" {
		t.Errorf("%d notifications and %d messages; in the end, there run %v", n, count(all, "user", ""), find(all, "background_tasks_changed")["tasks"])
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
	p.ready()
	id := find(p.until("the first result", func(m msg) bool { return m.is("result", "") }), "task_started")["task_id"]
	p.request("stop", msg{"subtype": "stop_task", "task_id": id})
	p.request("interrupt", msg{"subtype": "interrupt"}) // the command does not end at once
	var answers []any
	var heard, stopped int
	p.next("the answers and what the model says to the end", func(m msg) bool {
		switch {
		case m.is("control_response", ""):
			answers = append(answers, m.at("response", "request_id"), m.at("response", "subtype"))
		case m.is("system", "task_notification") && m["status"] == "stopped":
			stopped++
		case m.is("result", "") && m["result"] == "heard":
			heard++
		}
		if len(answers) > 2 && stopped == 0 {
			t.Error("the stop was answered before it was told")
		}
		return len(answers) == 4 && heard > 0
	})
	if want := "[interrupt success stop success]"; fmt.Sprint(answers) != want || stopped != 1 {
		t.Errorf("answers %v, want %s; told %d times", answers, want, stopped)
	}
	p.fails("not running: it ended before (stopped)", msg{"subtype": "stop_task", "task_id": id})
	p.fails("there never was one", msg{"subtype": "stop_task", "task_id": "b00000000"})
	p.fails("task_id is missing", msg{"subtype": "stop_task"})
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The host moves what the conversation waits for to the background: the same process goes
// on, each line of its output is there once, and its end is not told twice.
func TestHostMovesACommandToTheBackground(t *testing.T) {
	t.Parallel()
	p := connect(t, `agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'echo $$ >before; echo line1; : >ready; until [ -e go ]; do sleep 0.01; done; for i in 2 3 4; do echo line$i; done; echo $$ >after'}}]
      - expect: 'The user moved the command to the background'
        capture: {id: 'as task (b[0-9a-z]{8})'}
        text: moved
      - calls: [{tool: TaskOutput, input: {task_id: "${id}"}}]
      - {expect: 'completed, after \S+\nline1\nline2\nline3\nline4$', text: all there}
`, bypass...)
	p.say("go")
	p.ready()
	p.request("one", msg{"subtype": "move_to_background"})
	p.request("two", msg{"subtype": "move_to_background"}) // two keys within 10 ms
	var started msg
	one := p.next("the answer to one", func(m msg) bool {
		if m.is("system", "task_started") {
			started = m
		}
		return m.at("response", "request_id") == "one"
	})
	id := started["task_id"]
	if moved, _ := one.at("response", "response", "moved").([]any); len(moved) != 1 || moved[0] != id || started["is_backgrounded"] != true {
		t.Errorf("moved %v, and told of %v", moved, started)
	}
	if two := p.response("two"); fmt.Sprint(two.at("response", "response", "moved")) != "[]" {
		t.Errorf("moved again: %v", two)
	}
	if result := p.result(); result["result"] != "moved" {
		t.Errorf("result: %v", result)
	}
	p.fails("there never was one", msg{"subtype": "move_to_background", "task_id": "b00000000"})
	p.fails("in the background already", msg{"subtype": "move_to_background", "task_id": id})
	p.say("and?")
	p.next("the look at it", func(m msg) bool { return m.is("assistant", "") })
	p.file("go", "")
	if result := p.result(); result["result"] != "all there" {
		t.Errorf("result: %v", result)
	}
	rest := p.rest() // a further turn is one that the script does not have
	if n := count(rest, "user", "") + count(rest, "result", ""); n != 0 {
		t.Errorf("what TaskOutput had told was told again: %v", rest)
	}
	if before := p.read("before"); before == "" || before != p.read("after") {
		t.Errorf("the process was %q before and %q after", before, p.read("after"))
	}
	if code := p.code(); code != 0 {
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
	all := p.until("the turn of the notification", func(m msg) bool { return m.is("result", "") })
	all = append(all, p.rest()...)
	var ends []any
	for _, m := range all {
		if m.is("system", "task_notification") {
			ends = append(ends, m["status"])
		}
	}
	if fmt.Sprint(ends) != "[completed]" {
		t.Errorf("ends: %v", ends)
	}
	if code := p.code(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}
