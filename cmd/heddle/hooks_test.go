package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"heddle/internal/transcript"
)

// hooksFile writes hooks for the tests of one directory, and returns the settings file.
func hooksFile(t *testing.T, hooks map[string]string) string {
	t.Helper()
	all := map[string]any{}
	for event, command := range hooks {
		h := msg{"type": "command", "command": command}
		if rest, ok := strings.CutPrefix(command, "async "); ok {
			h["command"], h["async"], h["asyncRewake"] = rest, true, true
		}
		all[event] = []any{msg{"hooks": []any{h}}}
	}
	b, err := json.Marshal(msg{"hooks": all})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "hooks.json")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What a hook in the background says comes with the next message after it has ended.
func TestLateHooksAreHeardInALaterTurn(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - text: begun
      - wait: '<hook event="SessionStart">\nsaid in the background\n</hook>'
        text: heard
`, "--settings", hooksFile(t, map[string]string{"SessionStart": "async until test -e go; do sleep 0.01; done; echo '{\"systemMessage\": \"said in the background\"}'"}))
	p.say("go")
	if got := p.result()["result"]; got != "begun" {
		t.Errorf("with the hook still running, the turn gave %v", got)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for {
		p.say("and now?") // whoever asks too early is told to wait
		if got := p.result()["result"]; got == "heard" {
			break
		} else if got != "(waiting)" {
			t.Fatalf("the turn gave %v", got)
		}
	}
	if code := p.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// A hook in the background that exits with 2 wakes the model, once.
func TestLateHooksWakeTheModel(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - text: done
      - expect: '^<hook event="SessionStart">\nthe build broke\n</hook>'
        text: went on
      - expect: '^bye'
        text: over
`, "--settings", hooksFile(t, map[string]string{"SessionStart": "async until test -e go; do sleep 0.01; done; echo the build broke >&2; exit 2"}))
	p.say("go")
	if got := p.result()["result"]; got != "done" {
		t.Errorf("the first turn gave %v", got)
	}
	if err := os.WriteFile(filepath.Join(p.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := p.result()["result"]; got != "went on" {
		t.Errorf("the hook made the model say %v", got)
	}
	p.say("bye")
	if got := p.result()["result"]; got != "over" {
		t.Errorf("the last turn gave %v", got)
	}
	p.end()
}

// Hooks hear of a question while it waits, and are ended when it is answered; those that
// answer it themselves leave nothing to ask.
func TestHooksBesideQuestions(t *testing.T) {
	t.Parallel()
	p := connect(t, `
agents:
  - turns:
      - calls: [{tool: Bash, input: {command: touch one}}]
      - expect: no output
        calls: [{tool: Bash, input: {command: touch two}}]
      - {expect: no output, text: done}
`, "--settings", hooksFile(t, map[string]string{
		"Notification":      "cat >>notified; echo >>notified; echo >ready; sleep 1000",
		"PermissionRequest": `grep -q 'touch two' && echo '{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}'`,
	}))
	p.say("go")
	q := p.question()
	if got := q.at("request", "input", "command"); got != "touch one" {
		t.Errorf("the question is about %v", got)
	}
	if _, err := os.ReadFile(filepath.Join(p.dir, "ready")); err != nil { // the hook has been told
		t.Fatal(err)
	}
	p.answer(q, msg{"behavior": "allow"})
	r := p.next("the result, without a question", func(m msg) bool {
		return m.is("result", "") || m.at("request", "subtype") == "can_use_tool"
	})
	if r["result"] != "done" {
		t.Errorf("then came %v", r)
	}
	b, err := os.ReadFile(filepath.Join(p.dir, "notified"))
	if err != nil {
		t.Fatal(err)
	}
	var told msg
	if err := json.Unmarshal(b, &told); err != nil {
		t.Fatalf("%v: not told once: %s", err, b)
	}
	for key, want := range map[string]string{
		"hook_event_name": "Notification", "notification_type": "permission_prompt", "title": "heddle",
		"message": "heddle asks for permission: Bash (it runs touch one)",
	} {
		if told[key] != want {
			t.Errorf("%s is %v, want %s", key, told[key], want)
		}
	}
	p.end()
}

// A start after a kill ends the hooks that the dead session left running, be it the same
// session that goes on or another one.
func TestKilledSessionsLeaveNoHooks(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{true, false} {
		b := newTaskBed(t, scriptOf(t, "agents: [{turns: [{text: fine, repeat: forever}]}]"))
		session := transcript.NewID()
		settings := hooksFile(t, map[string]string{"UserPromptSubmit": "sleep 1000 & echo $$ >up; sleep 1000"})
		cmd, out := b.command(t, "work", "--session-id", session, "--settings", settings)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		awaitFile(t, filepath.Join(b.dir, "up"))
		cmd.Process.Kill()
		cmd.Wait()
		if len(marked(session)) < 2 {
			t.Fatalf("nothing runs after the kill: the test proves nothing\n%s", out)
		}
		args := []string{"hello"}
		if again {
			args = append(args, "--resume", session)
		}
		next, told := b.command(t, args...)
		if err := next.Run(); err != nil {
			t.Errorf("%v\n%s", err, told)
		}
		if alive := marked(session); len(alive) > 0 {
			t.Errorf("after %q, still alive: %v", args, alive)
		}
	}
}

// awaitFile waits until a file is there.
func awaitFile(t *testing.T, path string) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for late := time.After(20 * time.Second); ; {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		}
		select {
		case <-look.C:
		case <-late:
			t.Fatalf("there is no %s", path)
		}
	}
}

// The model and the effort of a command are those of its turn only.
func TestCommandsChooseForOneTurn(t *testing.T) {
	t.Parallel()
	b := newTaskBed(t, scriptOf(t, "agents: [{turns: [{text: fine, repeat: forever}]}]"))
	skill := filepath.Join(b.home, "skills", "think", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(skill), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(skill, []byte("---\nname: think\ndescription: Thinks.\nmodel: claude-sonnet-5\neffort: high\n---\nThink."), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"/think", "--model", "claude-opus-4-8"}, {"and then", "--continue"}} {
		cmd, out := b.command(t, args...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	var got []string
	for _, r := range b.api.Requests() {
		got = append(got, string(r.Body))
	}
	if len(got) != 2 {
		t.Fatalf("%d requests", len(got))
	}
	for i, want := range []struct {
		model  string
		effort bool
	}{{"claude-sonnet-5", true}, {"claude-opus-4-8", false}} {
		if !strings.Contains(got[i], `"model":"`+want.model+`"`) || strings.Contains(got[i], `"effort":"high"`) != want.effort {
			t.Errorf("request %d does not ask %s with high effort %v: %.300s", i+1, want.model, want.effort, got[i])
		}
	}
}
