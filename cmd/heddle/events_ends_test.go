package main

import (
	"fmt"
	"strings"
	"testing"
)

// Many ends while the model is busy: each is told once.
func TestManyEndsAreToldOnceEach(t *testing.T) {
	t.Parallel()
	var calls strings.Builder
	for i := range 19 {
		fmt.Fprintf(&calls, "          - {tool: Bash, input: {command: 'sleep 0.%02d', run_in_background: true}}\n", i)
	}
	p := connect(t, "agents:\n  - turns:\n      - calls:\n"+calls.String()+"      - {pace: 20ms, chunk: 1, text: busy for a while, calls: [{tool: Bash, input: {command: 'sleep 0.1'}}]}\n      - {text: fine, repeat: forever}\n", bypass...)
	p.say("go")
	told, ends := map[any]int{}, map[any]int{}
	tally := func(m msg) {
		switch {
		case m.is("system", "task_notification"):
			ends[m["task_id"]]++
		case m.is("user", "") && m.at("origin", "kind") == "task-notification":
			_, rest, _ := strings.Cut(fmt.Sprint(m.at("message", "content")), "<task-id>")
			id, _, _ := strings.Cut(rest, "</task-id>")
			told[id]++
		}
	}
	p.next("the end of all", func(m msg) bool {
		tally(m)
		return len(told) == 19
	})
	for _, m := range p.rest() {
		tally(m)
	}
	if len(ends) != 19 {
		t.Errorf("the host was told %d ends", len(ends))
	}
	for id, n := range told {
		if n != 1 || ends[id] != 1 {
			t.Errorf("the model was told of %v %d times, the host %d times", id, n, ends[id])
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
