package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"heddle/internal/model/scripted"
	"heddle/internal/process"
	"heddle/internal/task"
	"heddle/internal/task/shell"
	"heddle/internal/transcript"
)

// backgroundTurns starts commands in the background and in the foreground, and waits for
// some of them, turn after turn.
func backgroundTurns(t *testing.T) *scripted.Script {
	t.Helper()
	var b strings.Builder
	b.WriteString("agents:\n  - main: true\n    turns:\n")
	for i := range 16 {
		fmt.Fprintf(&b, "      - capture: {id: '(?:task (b[0-9a-z]{8})\\b|$)'}\n        calls:\n")
		fmt.Fprintf(&b, "          - {tool: Bash, input: {command: \"sleep 0.0%d; echo b%d; exit %d\", run_in_background: true}}\n", i%10, i, i%3)
		switch i % 4 {
		case 1:
			fmt.Fprintf(&b, "          - {tool: Bash, input: {command: \"sleep 0.03; echo f%d; exit %d\"}}\n", i, i%2)
		case 2:
			fmt.Fprintf(&b, "          - {tool: Bash, input: {command: \"sleep 0.2; echo l%d\", timeout: 30}}\n", i)
		case 3:
			fmt.Fprintf(&b, "          - {tool: TaskOutput, input: {task_id: \"${id}\"}}\n")
		}
	}
	b.WriteString("      - {text: All done., repeat: forever}\n")
	s, err := scripted.Load("background", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// told counts how often a transcript tells the end of each task, given what the journal
// says brings it.
func told(t *testing.T, path string, records []task.Record) map[task.ID]int {
	t.Helper()
	past, err := transcript.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	byNotice := map[string]int{}
	for _, r := range past {
		if m, ok := r.(transcript.Message); ok && m.InputID != "" {
			byNotice[m.InputID]++
		}
	}
	results := transcript.Arrived(past)
	counts := map[task.ID]int{}
	for _, r := range records {
		n := byNotice["end:"+string(r.ID)]
		if results[r.Carrier] && !strings.HasPrefix(r.Carrier, "end:") {
			n++
		}
		counts[r.ID] = n
	}
	return counts
}

// neighbour is another session of the same user, whose command must outlive all that
// happens to others.
func neighbour(t *testing.T, b *crashBed) (check func()) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "neighbour.yaml")
	text := "agents:\n  - turns:\n      - calls: [{tool: Bash, input: {command: 'sleep 1000', run_in_background: true}}]\n      - text: started\n"
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd, _ := b.command(t, "--model", "scripted/"+script, "--input-format", "stream-json", "--output-format", "stream-json", "--shell-grace", "0s")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	fmt.Fprintln(in, `{"type":"user","message":{"role":"user","content":"go"}}`)
	var session string
	for dec := json.NewDecoder(out); ; {
		var m struct {
			Type    string `json:"type"`
			Session string `json:"session_id"`
		}
		if err := dec.Decode(&m); err != nil {
			t.Fatalf("the neighbour: %v", err)
		}
		if session = m.Session; m.Type == "result" {
			break
		}
	}
	return func() {
		records := started(t, b.home, session, 1)
		if len(records) != 1 || records[0].Status != task.Running || !identityOf(t, records[0]).Alive() {
			t.Errorf("the command of another session was touched: %+v", records)
		}
	}
}

// journals returns the records of a session's tasks.
func journals(t *testing.T, home, session string) []task.Record {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(home, "projects", "*", session, "tasks"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("folders of tasks: %q, %v", dirs, err)
	}
	records, err := task.ReadJournal(dirs[0])
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// started waits until n tasks of a session have started their processes, and returns them.
func started(t *testing.T, home, session string, n int) []task.Record {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for late := time.After(20 * time.Second); ; {
		records := journals(t, home, session)
		begun := 0
		for _, r := range records {
			if len(r.Detail) > 0 && identityOf(t, r).PID != 0 {
				begun++
			}
		}
		if begun >= n {
			return records
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("%d of %d tasks have a process", begun, n)
		}
	}
}

func identityOf(t *testing.T, r task.Record) process.Identity {
	t.Helper()
	var d struct {
		Identity process.Identity `json:"identity"`
	}
	if err := json.Unmarshal(r.Detail, &d); err != nil {
		t.Fatalf("detail %s: %v", r.Detail, err)
	}
	return d.Identity
}

// Killed at any moment and resumed, a session loses no end of a task and tells none twice,
// nothing of it runs on, and no other session is touched.
func TestKilledRunsLoseNoEnds(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the commands of this test need bash")
	}
	var whole time.Duration
	for n, rounds := 0, 0; n < *kills; rounds++ {
		b := newTaskBed(t, backgroundTurns(t))
		check := neighbour(t, b)
		session := transcript.NewID()
		args := []string{"work", "--session-id", session, "--shell-grace", "1m"}
		for over := false; !over; {
			cmd, out := b.command(t, args...)
			begin := time.Now()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			after := time.Minute // the first run shows how long it takes
			if whole > 0 && n < *kills {
				after = rand.N(whole)
			}
			select {
			case <-time.After(after):
				cmd.Process.Kill()
				<-ended
				t.Logf("killed after %v", time.Since(begin))
				n++
				if _, err := os.Stat(transcriptOf(b.home, session)); err == nil {
					args = []string{"go on", "--resume", session, "--shell-grace", "1m"}
				}
			case err := <-ended:
				if err != nil {
					t.Fatalf("heddle %v after %d kills: %v\n%s", args, n, err, out)
				}
				t.Logf("%v took %v", args[0], time.Since(begin))
				whole = max(whole, time.Since(begin))
				over = true
			}
		}
		records := journals(t, b.home, session)
		for id, count := range told(t, transcriptOf(b.home, session), records) {
			if count != 1 {
				t.Errorf("after %d kills, the end of task %s was told %d times", n, id, count)
			}
		}
		for _, r := range records {
			if !r.Status.Terminal() || !r.Told {
				t.Errorf("task %s is %s, told: %v", r.ID, r.Status, r.Told)
			}
			if alive := marked(string(r.ID)); len(alive) > 0 {
				t.Errorf("task %s has left processes: %v", r.ID, alive)
			}
		}
		if len(records) < 10 {
			t.Errorf("%d tasks: the script did not run", len(records))
		}
		check()
		b.check(t)
		if t.Failed() {
			return
		}
	}
}

// A session that was killed finds its commands again: one that still runs goes on, one that
// ended meanwhile has the exit code that it had, and each is told once.
func TestResumeAdoptsCommands(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load("adopt", []byte(`agents:
  - turns:
      - calls:
          - {tool: Bash, input: {command: 'echo $$ >pid; exec sleep 1000', run_in_background: true}}
          - {tool: Bash, input: {command: 'until [ -e go ]; do sleep 0.02; done; echo late; exit 3', run_in_background: true}}
      - {text: fine, repeat: forever}
`))
	if err != nil {
		t.Fatal(err)
	}
	b := newTaskBed(t, script)
	session := transcript.NewID()
	cmd := b.untilResult(t, "work", "--session-id", session, "--shell-grace", "10m")
	started(t, b.home, session, 2)
	cmd.Process.Kill()
	cmd.Wait()
	records := journals(t, b.home, session)
	if len(records) != 2 || !identityOf(t, records[0]).Alive() || !identityOf(t, records[1]).Alive() {
		t.Fatalf("after the kill: %+v", records)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	late := process.Identity{}
	if late = identityOf(t, records[1]); late.PID == 0 {
		t.Fatal("the journal does not know the process")
	}
	p, found := process.Find(late, "")
	if found {
		p.Wait(t.Context())
	}
	said := func() string {
		past, err := transcript.Read(transcriptOf(b.home, session))
		if err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, r := range past {
			if m, ok := r.(transcript.Message); ok {
				all.WriteString(m.Message.Text() + "\n")
			}
		}
		return all.String()
	}
	for n := range 3 {
		cmd, out := b.command(t, "go on", "--resume", session, "--shell-grace", "0s")
		err := cmd.Run()
		if want := []int{exitUnfinished, 0, 0}[n]; cmd.ProcessState.ExitCode() != want {
			t.Errorf("resume %d: %v, want exit code %d\n%s", n, err, want, out)
		}
	}
	text := said()
	for want, count := range map[string]int{
		"<summary>until [ -e go ]; do sleep 0.02; done; echo late; exit 3: exit code 3</summary>": 1,
		"<reason>session closed</reason>":                                             1,
		`<task id="` + string(records[0].ID) + `" type="local_bash" status="running"`: 1, // the reminder, at the first resume
		"<task-id>" + string(records[0].ID) + "</task-id>":                            1,
		"<task-id>" + string(records[1].ID) + "</task-id>":                            1,
	} {
		if got := strings.Count(text, want); got != count {
			t.Errorf("%q stands there %d times, want %d:\n%s", want, got, count, text)
		}
	}
	if b, err := os.ReadFile(records[1].OutputFile); err != nil || string(b) != "late\n" {
		t.Errorf("output: %q, %v", b, err)
	}
	if alive := marked(string(records[0].ID)); len(alive) > 0 {
		t.Errorf("still alive: %v", alive)
	}
}

// A start in the same place ends what a dead session left running, says so, and the session
// hears of it when it goes on.
func TestAnyStartCleansUpAfterTheDead(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load("clean", []byte(`agents:
  - turns:
      - {calls: [{tool: Bash, input: {command: 'sleep 1000 & sleep 1000', run_in_background: true}}]}
      - {text: fine, repeat: forever}
`))
	if err != nil {
		t.Fatal(err)
	}
	b := newTaskBed(t, script)
	session := transcript.NewID()
	cmd := b.untilResult(t, "work", "--session-id", session, "--shell-grace", "10m")
	id := string(started(t, b.home, session, 1)[0].ID)
	cmd.Process.Kill()
	cmd.Wait()
	if len(marked(id)) == 0 {
		t.Fatal("nothing runs after the kill: the test proves nothing")
	}
	other, told := b.command(t, "hello", "--shell-grace", "0s")
	_ = other.Run() // the script starts a command there, too: exit code 3
	if alive := marked(id); len(alive) > 0 {
		t.Errorf("still alive: %v", alive)
	}
	if !strings.Contains(told.String(), "ended what session "+session+" left running when it died: task "+id) {
		t.Errorf("told: %s", told)
	}
	again, out2 := b.command(t, "go on", "--resume", session)
	if err := again.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out2)
	}
	if n := notices(t, b, session, id); n != 1 {
		t.Errorf("the end was told %d times", n)
	}
}

// Whoever starts while others clean up or go on with the dead session: it goes on, and its
// end is told once.
func TestManyStartsAfterACrash(t *testing.T) {
	t.Parallel()
	b := newTaskBed(t, scriptOf(t, `agents:
  - turns:
      - {calls: [{tool: Bash, input: {command: 'sleep 1000', run_in_background: true}}]}
      - {text: fine, repeat: forever}
`))
	for range 3 {
		session := transcript.NewID()
		cmd := b.untilResult(t, "work", "--session-id", session, "--shell-grace", "10m")
		id := string(started(t, b.home, session, 1)[0].ID)
		cmd.Process.Kill()
		cmd.Wait()
		var starts sync.WaitGroup
		for _, args := range [][]string{{"a"}, {"b", "--resume", session}, {"c"}} {
			starts.Go(func() {
				cmd, out := b.command(t, append(args, "--shell-grace", "0s")...)
				_ = cmd.Run() // what is left running makes it 3
				if code := cmd.ProcessState.ExitCode(); code != exitOK && code != exitUnfinished || strings.Contains(out.String(), "clean up after") {
					t.Errorf("%q: exit code %d\n%s", args, code, out)
				}
			})
		}
		starts.Wait()
		if alive := marked(id); len(alive) > 0 {
			t.Errorf("still alive: %v", alive)
		}
		again, out := b.command(t, "go on", "--resume", session)
		if err := again.Run(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if n := notices(t, b, session, id); n != 1 {
			t.Errorf("the end was told %d times", n)
		}
	}
}

// notices counts the notifications of the end of a task.
func notices(t *testing.T, b *crashBed, session, id string) (n int) {
	t.Helper()
	past, err := transcript.Read(transcriptOf(b.home, session))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range past {
		if m, ok := r.(transcript.Message); ok && m.InputID == "end:"+id {
			n++
		}
	}
	return n
}

// untilResult starts a run and returns when its first turn is over. The run goes on with
// its work in the background.
func (b *crashBed) untilResult(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd, _ := b.command(t, append(args, "--output-format", "stream-json")...)
	cmd.Stdout = nil
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill() // it is mostly gone
		cmd.Wait()
		endLeft(t, b.home)
	})
	events := json.NewDecoder(out)
	for {
		var m struct{ Type string }
		if err := events.Decode(&m); err != nil {
			t.Fatal(err)
		}
		if m.Type == "result" {
			break
		}
	}
	go func() { // what comes further is not looked at
		var m json.RawMessage
		for events.Decode(&m) == nil {
		}
	}()
	return cmd
}

// endLeft ends what the sessions of a home left running: a test that failed in the middle
// must not leave commands behind.
func endLeft(t *testing.T, home string) {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(home, "projects", "*", "*", "tasks"))
	for _, dir := range dirs {
		records, err := task.ReadJournal(dir)
		if err != nil {
			continue // the test made it so
		}
		for _, r := range records {
			if err := shell.End(r); err != nil {
				t.Error(err)
			}
		}
	}
}

func transcriptOf(home, session string) string {
	found, _ := filepath.Glob(filepath.Join(home, "projects", "*", session+".jsonl"))
	if len(found) == 0 {
		return filepath.Join(home, "none")
	}
	return found[0]
}

// marked returns the processes that carry the mark of a task.
func marked(id string) (pids []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, f := range files {
		env, _ := os.ReadFile(f)
		if bytes.Contains(env, []byte(process.MarkVariable+"=")) && bytes.Contains(env, []byte(id)) {
			pids = append(pids, filepath.Base(filepath.Dir(f)))
		}
	}
	return pids
}
