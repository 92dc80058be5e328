package main

import (
	"strings"
	"testing"

	"heddle/internal/model/scripted"
	"heddle/internal/transcript"
)

// sayings returns the texts that stand in a session's transcript as the user's, in order.
func sayings(t *testing.T, b *crashBed, session string) (texts []string) {
	t.Helper()
	past, err := transcript.Read(transcriptOf(b.home, session))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range past {
		if m, ok := r.(transcript.Message); ok && m.Message.Role == "user" && m.Origin != "tools" {
			texts = append(texts, m.Message.Text())
		}
	}
	return texts
}

func scriptOf(t *testing.T, text string) *scripted.Script {
	t.Helper()
	s, err := scripted.Load("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A task that has ended and was told costs nothing in later turns, and another session in
// the same directory hears nothing of it.
func TestEndedTasksAreNotRepeated(t *testing.T) {
	t.Parallel()
	b := newTaskBed(t, scriptOf(t, `agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'echo hi', run_in_background: true}}]
      - {text: fine, repeat: forever}
`))
	session, other := transcript.NewID(), transcript.NewID()
	runs := [][]string{{"start", "--session-id", session}}
	for range 5 {
		runs = append(runs, []string{"next", "--resume", session})
	}
	runs = append(runs, []string{"elsewhere", "--session-id", other})
	for _, args := range runs {
		cmd, out := b.command(t, args...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, out)
		}
	}
	id := string(journals(t, b.home, session)[0].ID)
	all := strings.Join(sayings(t, b, session), "\n")
	if n := strings.Count(all, "<task-id>"+id+"</task-id>"); n != 1 {
		t.Errorf("told %d times:\n%s", n, all)
	}
	if strings.Contains(all, "<task-statuses>") {
		t.Errorf("reminded of what has ended:\n%s", all)
	}
	if all := strings.Join(sayings(t, b, other), "\n"); strings.Contains(all, id) {
		t.Errorf("another session heard of it:\n%s", all)
	}
	b.check(t)
}

// After a compaction the model is told by the machine what runs, not by its own summary.
func TestCompactionKeepsRunningTasks(t *testing.T) {
	t.Parallel()
	p := connect(t, `agents:
  - turns:
      - calls: [{tool: Bash, input: {command: 'until [ -e go ]; do sleep 0.02; done; echo over', description: the <server>, run_in_background: true}}]
      - text: started
      - expect: '(?s)<task-statuses>.*<task id="b[0-9a-z]{8}" type="local_bash" status="running".*>the &lt;server&gt;</task>'
        capture: {id: '<task id="(b[0-9a-z]{8})"'}
        calls: [{tool: Bash, input: {command: touch go}}, {tool: TaskOutput, input: {task_id: "${id}"}}]
      - {expect: 'completed, after (?s:.*)over', text: it still answered}
`, "--permission-mode", "bypassPermissions")
	var last msg
	for _, text := range []string{"go", "/compact", "and now?"} {
		p.say(text)
		last = p.next("a result", func(m msg) bool { return m["type"] == "result" })
	}
	if last["result"] != "it still answered" {
		t.Errorf("result: %v", last)
	}
}
