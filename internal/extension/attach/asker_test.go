package attach

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
	"heddle/internal/hook"
	"heddle/internal/permission"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// hooksOf returns hooks as a file gives them, for a session in a directory of its own.
func hooksOf(t *testing.T, rules permission.Settings, text string) (h *Hooks, dir string) {
	t.Helper()
	dir = t.TempDir()
	l, err := config.Text(config.User, "hooks.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	list, problems, _ := hook.Read(l, "settings", nil)
	for _, p := range problems {
		t.Fatal(p)
	}
	scope := tool.NewScope(dir, filepath.Join(dir, "spill"))
	r := hook.NewRunner(hook.Options{Session: "s", Dir: dir, Project: dir, Tell: func(text string) { t.Log(text) }}, list)
	return NewHooks(r, HookOptions{
		Scope: scope, Model: func() string { return "p/m" }, Tasks: func() []task.Snapshot { return nil },
		Gate: permission.NewGate(rules, nil),
		Tool: func(name string) (tool.Tool, bool) { return bash(), name == "Bash" },
	}), dir
}

// hookOf is a file with one hook, which answers with a text.
func hookOf(t *testing.T, e hook.Event, answer string) string {
	t.Helper()
	command := "cat >told; cat <<'END'\n" + answer + "\nEND"
	b, err := json.Marshal(map[string]any{string(e): []any{map[string]any{"hooks": []any{map[string]any{"type": "command", "command": command}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func rule(t *testing.T, text string) []permission.Rule {
	t.Helper()
	r, err := permission.ParseRule(permission.Source{Name: "test"}, text)
	if err != nil {
		t.Fatal(err)
	}
	return []permission.Rule{r}
}

// somebody answers no to everything, and remembers what.
type somebody struct{ asked []string }

func (s *somebody) Ask(_ context.Context, q permission.Question) (permission.Answer, error) {
	s.asked = append(s.asked, q.Reason)
	return permission.Answer{Message: "no"}, nil
}

func TestHooksAnswerForAPerson(t *testing.T) {
	t.Parallel()
	decision := func(d string) string {
		return `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": ` + d + `}}`
	}
	person := permission.Answer{Message: "no"} // hooks have left it open
	allow := decision(`{"behavior": "allow"}`)
	for _, c := range []struct {
		name, answer, command string
		rules                 permission.Settings
		person                bool
		want                  permission.Answer
	}{
		{"allow", allow, "make", permission.Settings{}, false, permission.Answer{Allow: true}},
		{"deny", decision(`{"behavior": "deny", "message": "not now", "interrupt": true}`), "make", permission.Settings{}, false, permission.Answer{Message: "not now", Interrupt: true}},
		{"nothing", "", "make", permission.Settings{}, false, person},
		{"nonsense", decision(`{"behavior": "perhaps"}`), "make", permission.Settings{}, false, person},
		{"changed", decision(`{"behavior": "allow", "updatedInput": {"command": "make -n"}}`), "make", permission.Settings{}, false,
			permission.Answer{Allow: true, Input: json.RawMessage(`{"command": "make -n"}`)}},
		{"for always", decision(`{"behavior": "allow", "updatedPermissions": [{"type": "setMode", "mode": "acceptEdits", "destination": "session"}]}`), "make", permission.Settings{}, false,
			permission.Answer{Allow: true, Updates: []permission.Update{{Type: permission.SetMode, Mode: permission.AcceptEdits, Destination: permission.ToSession}}}},
		{"for a person", allow, "make", permission.Settings{}, true, person},
		{"ask rule", allow, "make", permission.Settings{Ask: rule(t, "Bash(make *)")}, false, person},
		{"changed into what an ask rule names", decision(`{"behavior": "allow", "updatedInput": {"command": "make"}}`), "true; ls >x", permission.Settings{Ask: rule(t, "Bash(make *)")}, false, person},
		{"changed into what is protected", decision(`{"behavior": "allow", "updatedInput": {"command": "echo x > .git/hooks/pre-push"}}`), "make", permission.Settings{}, false, person},
		{"plan mode", decision(`{"behavior": "allow", "updatedInput": {"command": "touch planned"}}`), "cat /root/.profile", permission.Settings{Mode: permission.Plan}, false, person},
		{"always asked", allow, "rm -rf ~", permission.Settings{}, false, person},
		{"refused in spite of an ask rule", decision(`{"behavior": "deny", "message": "no, no"}`), "make", permission.Settings{Ask: rule(t, "Bash(make *)")}, false, permission.Answer{Message: "no, no"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, _ := hooksOf(t, c.rules, hookOf(t, hook.PermissionRequest, c.answer))
			input, err := json.Marshal(map[string]string{"command": c.command})
			if err != nil {
				t.Fatal(err)
			}
			var s somebody
			q := permission.Question{Call: tool.Call{Name: "Bash", Input: input, Scope: h.o.Scope}, Reason: "it makes", Person: c.person}
			got, err := h.Asker(&s).Ask(t.Context(), q)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("Ask: %v\n%s", err, diff)
			}
			if asked := len(s.asked) > 0; asked != (c.want.Message == "no") {
				t.Errorf("a person was asked: %v", asked)
			}
		})
	}
}

func TestAnswersThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	h, _ := hooksOf(t, permission.Settings{}, hookOf(t, hook.PermissionRequest,
		`{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow", "updatedPermissions": [7]}}}`))
	q := permission.Question{Call: tool.Call{Name: "Bash", Input: json.RawMessage(`{"command":"make"}`), Scope: h.o.Scope}}
	if a, err := h.Asker(nil).Ask(t.Context(), q); err == nil || a.Allow || !strings.Contains(err.Error(), "updatedPermissions") {
		t.Errorf("Ask = %v, %v; want an error about updatedPermissions", a, err)
	}
	for _, update := range []string{
		`{"type": "replaceRules", "behavior": "deny", "rules": [], "destination": "userSettings"}`,
		`{"type": "removeRules", "behavior": "ask", "rules": [{"toolName": "Bash"}], "destination": "session"}`,
		`{"type": "setMode", "mode": "bypassPermissions", "destination": "session"}`,
	} {
		h, _ := hooksOf(t, permission.Settings{}, hookOf(t, hook.PermissionRequest,
			`{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow", "updatedPermissions": [`+update+`]}}}`))
		if a, err := h.Asker(nil).Ask(t.Context(), q); err == nil || a.Allow || !strings.Contains(err.Error(), "would lift") {
			t.Errorf("Ask with %s = %v, %v; want an error", update, a, err)
		}
	}
	q.Call.Name = "mcp__gone__tool"
	h, _ = hooksOf(t, permission.Settings{}, hookOf(t, hook.PermissionRequest, `{"hookSpecificOutput": {"decision": {"behavior": "allow"}}}`))
	if a, err := h.Asker(nil).Ask(t.Context(), q); !errors.Is(err, permission.ErrNobody) || a.Allow {
		t.Errorf("Ask about a tool that is not there = %v, %v; want %v", a, err, permission.ErrNobody)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a, err := h.Asker(&somebody{}).Ask(ctx, q); !errors.Is(err, context.Canceled) || a.Allow {
		t.Errorf("Ask of nobody who waits = %v, %v; want %v", a, err, context.Canceled)
	}
}

// Without a person, there is nothing that hooks could be notified of.
func TestNotificationsAreAboutPeople(t *testing.T) {
	t.Parallel()
	h, dir := hooksOf(t, permission.Settings{}, hookOf(t, hook.Notification, ""))
	q := permission.Question{Call: tool.Call{Name: "Bash", Input: json.RawMessage(`{}`), Scope: h.o.Scope}, Person: true, Reason: "it makes"}
	if _, err := h.Asker(nil).Ask(t.Context(), q); !errors.Is(err, permission.ErrNobody) {
		t.Errorf("Ask = %v, want %v", err, permission.ErrNobody)
	}
	if exists(t, filepath.Join(dir, "told")) {
		t.Error("hooks were notified of a question that nobody was asked")
	}
}
