package hook

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/tool"
)

func TestWhatAHookIsTold(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	file := filepath.Join(o.Dir, "input")
	h := sh(PreToolUse, `cat > input; echo "$CLAUDE_PROJECT_DIR $HEDDLE_PROJECT_DIR $CLAUDECODE $HEDDLE $CLAUDE_CODE_SESSION_ID ${CLAUDE_PLUGIN_ROOT}" >> input`)
	h.Env = []string{"CLAUDE_PLUGIN_ROOT=/p $(touch bad)"}
	scope := tool.NewScope(o.Dir, "")
	scope.Agent = "a7"
	c := tool.Call{ID: "1", Name: "Bash", Scope: scope}
	out := runner(t, o, h).Fire(t.Context(), PreToolUse, "Bash", map[string]any{"tool_input": json.RawMessage(`{"command":"a && b"}`)}, &c)
	if diff := cmp.Diff(Outcome{}, out); diff != "" || len(said.all()) > 0 {
		t.Errorf("outcome %s, told %q", diff, said.all())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	input, env, _ := strings.Cut(string(text), "\n")
	want := `{"agent_id":"a7","cwd":` + quote(o.Dir) + `,"hook_event_name":"PreToolUse","permission_mode":"default","session_id":"s1","tool_input":{"command":"a && b"},"transcript_path":"/t.jsonl"}`
	if input != want {
		t.Errorf("input\n%s, want\n%s", input, want)
	}
	if want := "/the project /the project 1 1 s1 /p $(touch bad)\n"; env != want {
		t.Errorf("environment %q, want %q", env, want)
	}
}

// Commands of hooks do not follow the agent to another place, but are told of it.
func TestHooksAreToldWhereTheAgentWorks(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	o.Place = func() string { return "/elsewhere" }
	runner(t, o, sh(Stop, `cat > input`)).Fire(t.Context(), Stop, "", nil, nil)
	if got := readObject(t, filepath.Join(o.Dir, "input"))["cwd"]; got != "/elsewhere" {
		t.Errorf("cwd is %v, want /elsewhere", got)
	}
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func TestExecFormHasNoShell(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	h := sh(UserPromptSubmit, "printf")
	h.Args = []string{"%s|", "$(id)", "${CLAUDE_PROJECT_DIR}/x", "${CLAUDE_PLUGIN_DATA}", "${HOME}"}
	h.Env = environment(map[string]string{"CLAUDE_PLUGIN_DATA": "${CLAUDE_PROJECT_DIR}"})
	out := runner(t, o, h).Fire(t.Context(), UserPromptSubmit, "", nil, nil)
	want := []string{"$(id)|/the project/x|${CLAUDE_PROJECT_DIR}|${HOME}|"}
	if diff := cmp.Diff(want, out.Context); diff != "" {
		t.Errorf("arguments: %s, told %q", diff, said.all())
	}
}

func TestHooksOfAnEventRunAtOnce(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	// Each waits for the other, so one after the other would never end.
	r := runner(t, o,
		sh(UserPromptSubmit, `mkfifo a 2>/dev/null; echo one; : > a`),
		sh(UserPromptSubmit, `until [ -p a ]; do :; done; : < a; echo two`))
	out := r.Fire(t.Context(), UserPromptSubmit, "", nil, nil)
	if diff := cmp.Diff([]string{"one", "two"}, out.Context); diff != "" {
		t.Errorf("%s, told %q", diff, said.all())
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	var said told
	o := options(t, &said)
	o.Matches = func(rule string, c tool.Call) (bool, error) {
		if rule == "bad" {
			return false, errors.New("no rule")
		}
		return rule == c.Name, nil
	}
	hook := func(matcher, rule string) Hook {
		h := sh(PreToolUse, matcher+rule)
		h.Matcher, h.If = matcher, rule
		return h
	}
	wrongEvent := sh(Stop, "c")
	wrongEvent.If = "Bash"
	r := runner(t, o, hook("Bash", ""), hook("Edit", ""), hook("", "Bash"), hook("", "Edit"), hook("", "bad"), hook("Bash", ""), wrongEvent, hook("(", ""))
	c := tool.Call{Name: "Bash"}
	var got []string
	for _, e := range r.choose(PreToolUse, "Bash", &c) {
		got = append(got, e.Command)
	}
	if diff := cmp.Diff([]string{"Bash", "Bash", "bad"}, got); diff != "" { // by matcher, by rule, and unjudged
		t.Error(diff)
	}
	if n := len(r.choose(Stop, "", nil)); n != 0 {
		t.Errorf("%d hooks run with a rule where there is no call", n)
	}
	if lines := said.all(); len(lines) != 2 || !strings.Contains(lines[0], "it never runs") || !strings.Contains(lines[1], `"if" cannot be judged: no rule`) {
		t.Errorf("told %q", lines)
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	var said told
	h := sh(UserPromptSubmit, "echo again")
	h.Once = true
	r := runner(t, options(t, &said), h)
	for i, want := range []int{1, 0, 0} {
		if got := len(r.Fire(t.Context(), UserPromptSubmit, "", nil, nil).Context); got != want {
			t.Errorf("time %d: %d texts, want %d", i, got, want)
		}
	}
}

func TestAddAndRemoveWhileFiring(t *testing.T) {
	t.Parallel()
	var said told
	r := runner(t, options(t, &said), Hook{Event: Stop, Kind: HTTP, URL: "ftp://x"})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			remove := r.Add([]Hook{{Event: Notification, Kind: HTTP, URL: "ftp://x"}})
			if !r.Has(Notification) {
				t.Error("an added hook is not there")
			}
			r.Fire(t.Context(), Notification, "", nil, nil)
			remove()
			remove()
		})
	}
	all.Wait()
	if r.Has(Notification) || !r.Has(Stop) {
		t.Errorf("after all was removed, Has = %v, %v", r.Has(Notification), r.Has(Stop))
	}
	if lines := said.all(); len(lines) == 0 || slices.ContainsFunc(lines, func(l string) bool { return !strings.Contains(l, "http://") }) {
		t.Errorf("told %q", lines)
	}
}
