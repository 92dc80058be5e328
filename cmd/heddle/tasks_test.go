package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/control"
	"heddle/internal/model/scripted"
	"heddle/internal/task"
	"heddle/internal/transcript"
)

// Another terminal sees the tasks of a running session, follows, waits and stops, and
// reads of them when the session is over.
func TestTasksFromAnotherTerminal(t *testing.T) {
	t.Parallel()
	script, err := scripted.Load("tasks", []byte(`agents:
  - turns:
      - calls:
          - {tool: Bash, input: {command: 'echo one; until [ -e go ]; do sleep 0.02; done; echo two; exit 3', description: first, run_in_background: true}}
          - {tool: Bash, input: {command: 'sleep 1000 & sleep 1000', description: "a \e[31mserver", run_in_background: true}}
      - {text: fine, repeat: forever}
`))
	if err != nil {
		t.Fatal(err)
	}
	b := newTaskBed(t, script)
	session := transcript.NewID()
	cmd := b.untilResult(t, "work", "--session-id", session, "--shell-grace", "10m")
	tasks := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), cmd.Path, append([]string{"tasks"}, args...)...)
		cmd.Dir, cmd.Env = b.dir, b.env
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		_ = cmd.Run() // the code tells
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("tasks %q: exit code %d, want %d\n%s", args, code, want, &out)
		}
		return out.String()
	}
	ids := journals(t, b.home, session)
	first, second := string(ids[0].ID), string(ids[1].ID)
	list := tasks(0)
	if !strings.Contains(list, first+"  local_bash  running") || !strings.Contains(list, "first") || strings.Contains(list, "\x1b") {
		t.Errorf("list:\n%s", list)
	}
	if got := tasks(0, "list", "--json"); !strings.Contains(got, `"session_id": "`+session+`"`) || !json.Valid([]byte(got)) {
		t.Errorf("list --json:\n%s", got)
	}
	if got := tasks(0, "show", second[:5]); !strings.Contains(got, "running") || !strings.Contains(got, session) {
		t.Errorf("show:\n%s", got)
	}
	if got := tasks(0, "logs", first); got != "one\n" {
		t.Errorf("logs = %q", got)
	}
	if got := tasks(exitTimeout, "wait", first, "--timeout", "50ms"); !strings.Contains(got, "not ended within 50ms") {
		t.Errorf("wait: %q", got)
	}
	followed := make(chan string, 1)
	go func() { followed <- tasks(0, "logs", "-f", first) }()
	waited := make(chan string, 1)
	go func() { waited <- tasks(1, "wait", first) }()
	if err := exec.Command("touch", b.dir+"/go").Run(); err != nil {
		t.Fatal(err)
	}
	if got := <-waited; !strings.HasPrefix(got, first+" failed (exit code 3), after ") {
		t.Errorf("wait: %q", got)
	}
	if got := <-followed; got != "one\ntwo\n" {
		t.Errorf("logs -f = %q", got)
	}
	if got := tasks(0, "logs", first, "--tail", "1"); got != "two\n" {
		t.Errorf("logs --tail 1 = %q", got)
	}
	if got := tasks(1, "wait", "--any", second, first); !strings.HasPrefix(got, first) || strings.Contains(got, second) {
		t.Errorf("wait --any: %q", got)
	}
	if got := tasks(exitUsage, "stop", first, second); !strings.HasPrefix(got, second+" killed (stopped by user)") || !strings.Contains(got, first+" has ended already: failed") {
		t.Errorf("stop of one that ended and one that runs: %q", got)
	}
	if alive := marked(second); len(alive) > 0 {
		t.Errorf("alive after the stop: %v", alive)
	}
	if got := tasks(exitUsage, "stop", second); !strings.Contains(got, "has ended already: killed (stopped by user)") {
		t.Errorf("stop again: %q", got)
	}
	if got := tasks(exitUsage, "stop", "x0"); !strings.Contains(got, `there is no task "x0"`) {
		t.Errorf("stop of nothing: %q", got)
	}
	if err := cmd.Wait(); err != nil { // with its work done, the run is over
		t.Errorf("the session: %v", err)
	}
	if got := tasks(0); !strings.Contains(got, "No session runs in this directory") {
		t.Errorf("afterwards: %q", got)
	}
	if got := tasks(0, "--session", session[:6]); !strings.Contains(got, first+"  local_bash  failed (exit code 3)") {
		t.Errorf("of the dead session:\n%s", got)
	}
	if got := tasks(0, "logs", "-f", first); got != "one\ntwo\n" {
		t.Errorf("logs of the dead = %q", got)
	}
	for _, args := range [][]string{{"fly"}, {"show"}, {"show", first, second}, {"list", "x"}, {"--session", "zzz"}, {"--bad"}} {
		tasks(exitUsage, args...)
	}
}

func TestTailOffset(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"", 3, ""}, {"a", 1, "a"}, {"a\nb\n", 1, "b\n"}, {"a\nb", 1, "b"}, {"a\nb\n", 2, "a\nb\n"}, {"a\nb\n", 9, "a\nb\n"}, {"a\nb\n", 0, ""},
		{strings.Repeat("x", 200_000) + "\nend\n", 1, "end\n"}, {"\n\n\n", 1, "\n"},
	} {
		path := t.TempDir() + "/f"
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		at, err := tailOffset(path, tt.n)
		if err != nil || tt.text[at:] != tt.want {
			t.Errorf("the last %d lines of %.20q = %.20q, %v; want %q", tt.n, tt.text, tt.text[at:], err, tt.want)
		}
	}
}

// What is split anywhere reaches a terminal as whole lines, without what acts on it.
func TestPlainLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := &plainLines{w: &out}
	for _, c := range []byte("a\x1b[31mü\x1b[0m\nb\r\nrest") {
		if _, err := l.Write([]byte{c}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.flush(); err != nil || out.String() != "aü\nb\nrest" {
		t.Errorf("got %q, %v", out.String(), err)
	}
}

// Ids that are not one task's are errors that say so, and no connection stays open.
func TestChooseTasks(t *testing.T) {
	t.Parallel()
	seen := func(id, session string, live bool) seenTask {
		return seenTask{Record: task.Record{Snapshot: task.Snapshot{ID: task.ID(id)}}, Session: session, Live: live}
	}
	all := []seenTask{seen("b1aa", "s", true), seen("b1ab", "s", true), seen("b2", "d", false)}
	for _, tt := range []struct {
		ids  []string
		want string // ids, or the error
	}{
		{[]string{"b2", "b1ab", "b2"}, "b2 b1ab"},
		{[]string{"b2", "b1a"}, `2 tasks begin with "b1a"; give more of the id`},
		{[]string{"b3"}, `there is no task "b3" among the 3 of 1 running and 1 finished sessions`},
	} {
		chosen, err := choose(all, tt.ids)
		var got []string
		for _, c := range chosen {
			got = append(got, string(c.ID))
		}
		text := strings.Join(got, " ")
		if err != nil {
			text = err.Error()
		}
		if text != tt.want {
			t.Errorf("choose(%q) = %q, want %q", tt.ids, text, tt.want)
		}
	}
}

// More tasks than a session takes requests at once are waited for and stopped, over one
// connection; and what a session did not say before it ended is read from its journal.
func TestManyTasksOfOneSession(t *testing.T) {
	t.Parallel()
	dir, run := t.TempDir(), filepath.Join(t.TempDir(), "run")
	rt, err := task.NewRuntime(task.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	server, err := control.Listen(control.Options{Folder: run, Session: "s", Tasks: rt})
	if err != nil {
		t.Fatal(err)
	}
	client, err := control.Dial(t.Context(), run, "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	var tasks []seenTask
	for range 300 {
		tk, err := rt.Start(task.Spec{Kind: task.LocalBash, Background: true}, task.RunnerFunc(func(ctx context.Context, _ *task.Task) error {
			<-ctx.Done()
			return context.Cause(ctx)
		}))
		if err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, seenTask{Record: task.Record{Snapshot: tk.Snapshot()}, client: client, Live: true, dir: dir})
	}
	last := tasks[299]
	after, err := ask(t.Context(), tasks[:299], control.Stop, 0)
	for i, a := range after {
		if err != nil || a.ID != tasks[i].ID || a.Reason != task.ReasonStoppedByUser {
			t.Fatalf("task %d: %+v, %v", i, a.Record, err)
		}
	}
	if after, err = ask(t.Context(), tasks, control.Wait, 1); err != nil || after[299].Status.Terminal() {
		t.Errorf("wait for any: %v, %v", after[299].Status, err)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
	if _, err := ask(t.Context(), tasks[299:], control.Wait, 0); !errors.Is(err, control.ErrLost) {
		t.Errorf("without an end on record: %v", err)
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if after, err = ask(t.Context(), tasks[299:], control.Wait, 0); err != nil || after[0].ID != last.ID || after[0].Reason != task.ReasonSessionClosed {
		t.Errorf("with one: %+v, %v", after, err)
	}
	unreachable := seenTask{Live: true}
	if _, err := ask(t.Context(), []seenTask{unreachable}, control.Wait, 0); err == nil || !strings.Contains(err.Error(), "cannot be reached") {
		t.Errorf("of one that cannot be reached: %v", err)
	}
}
