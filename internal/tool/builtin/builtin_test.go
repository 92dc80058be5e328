package builtin

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"heddle/internal/message"
	"heddle/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an agent with a project folder.
type bench struct {
	t     *testing.T
	scope *tool.Scope
	locks *Locks
}

func newBench(t *testing.T) *bench {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, scope: tool.NewScope(root, filepath.Join(t.TempDir(), "spill")), locks: NewLocks()}
}

// child is another agent in the same project.
func (b *bench) child() *bench {
	return &bench{t: b.t, scope: b.scope.Child("c1"), locks: b.locks}
}

func (b *bench) path(name string) string { return filepath.Join(b.scope.Root, name) }

func (b *bench) put(name, content string) string {
	b.t.Helper()
	path := b.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) holds(name, want string) {
	b.t.Helper()
	got, err := os.ReadFile(b.path(name))
	if err != nil || string(got) != want {
		b.t.Errorf("%s holds %q (%v), want %q", name, got, err, want)
	}
}

// args is the input of a call, written short.
type args map[string]any

func (b *bench) call(t tool.Tool, in args) tool.Result {
	b.t.Helper()
	input, err := json.Marshal(in)
	if err != nil {
		b.t.Fatal(err)
	}
	return t.Run(b.t.Context(), tool.Call{ID: "1", Name: t.Name, Input: input, Scope: b.scope})
}

// ok runs a call that must succeed and returns its text.
func (b *bench) ok(t tool.Tool, in args) string {
	b.t.Helper()
	r := b.call(t, in)
	if r.IsError {
		b.t.Fatalf("%s(%v) failed: %s", t.Name, in, textOf(r))
	}
	return textOf(r)
}

// fails runs a call that must fail with a text that holds want.
func (b *bench) fails(t tool.Tool, in args, want string) {
	b.t.Helper()
	r := b.call(t, in)
	if !r.IsError || !strings.Contains(textOf(r), want) {
		b.t.Errorf("%s(%v) = %q (failed: %v), want a failure with %q", t.Name, in, textOf(r), r.IsError, want)
	}
}

func textOf(r tool.Result) string { return message.Message{Content: r.Content}.Text() }

func all() []tool.Tool {
	l := NewLocks()
	return []tool.Tool{Read(), Write(l), Edit(l), NotebookEdit(l), Glob(), Grep(), WebFetch(WebOptions{}), TodoWrite(),
		AskUserQuestion(nil), EnterPlanMode(nil), ExitPlanMode(nil)}
}

func TestEverySchemaIsCompactAndClosed(t *testing.T) {
	t.Parallel()
	for _, tl := range all() {
		var s struct {
			Type       string                     `json:"type"`
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
			Additional *bool                      `json:"additionalProperties"`
		}
		if err := json.Unmarshal(tl.Schema, &s); err != nil {
			t.Fatalf("%s: %v", tl.Name, err)
		}
		if s.Type != "object" || s.Additional == nil || *s.Additional {
			t.Errorf("%s: the schema is not that of a closed object", tl.Name)
		}
		for _, r := range s.Required {
			if s.Properties[r] == nil {
				t.Errorf("%s: %s is required but not described", tl.Name, r)
			}
		}
		if clean, ok := message.CleanInput(tl.Schema); !ok || string(clean) != string(tl.Schema) {
			t.Errorf("%s: the schema is not compact", tl.Name)
		}
		if tl.Description == "" {
			t.Errorf("%s: there is no prompt", tl.Name)
		}
	}
}

// TestBadInputIsOneSentence: no input makes a tool panic, or act.
func TestBadInputIsOneSentence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tl := range all() {
		for _, input := range []string{`{}`, `[]`, `null`, `"x"`, `{"file_path":7,"pattern":7,"url":7,"todos":7,"questions":7,"plan":7,"notebook_path":7}`,
			`{"file_path":"","pattern":"","url":"","todos":null,"questions":[],"plan":"","notebook_path":""}`} {
			c := tool.Call{Name: tl.Name, Input: json.RawMessage(input), Scope: b.scope}
			if tl.Name == "EnterPlanMode" {
				continue // has no input
			}
			r := tl.Run(t.Context(), c)
			if !r.IsError || textOf(r) == "" {
				t.Errorf("%s(%s) = %q (failed: %v), want a failure", tl.Name, input, textOf(r), r.IsError)
			}
			if tl.Effects != nil {
				if effects, err := tl.Effects(c); err == nil {
					t.Errorf("%s.Effects(%s) = %v, want an error", tl.Name, input, effects)
				}
			}
		}
	}
	b.fails(Read(), args{"file_path": 7}, "file_path must be a string, not number")
	b.fails(Read(), args{"file_path": "/x", "offset": "ten"}, `offset must be a whole number, not "ten"`)
	b.fails(Read(), args{"file_path": "/x", "offset": 1.5}, "offset must be a whole number, not 1.5")
	b.fails(Edit(b.locks), args{"file_path": "/x", "old_string": "a", "new_string": "b", "replace_all": "maybe"},
		"replace_all must be true or false")
}

func TestSlipsOfModelsAreUnderstood(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.txt", "one\ntwo\nthree\n")
	if got := b.ok(Read(), args{"path": "a.txt", "offset": "2", "limit": 1.0}); !strings.HasPrefix(got, "     2\ttwo\n[") {
		t.Errorf("Read with slips = %q", got)
	}
	b.ok(Edit(b.locks), args{"path": b.path("a.txt"), "old_string": "t", "new_string": "T", "replace_all": "True"})
	b.holds("a.txt", "one\nTwo\nThree\n")
	b.ok(TodoWrite(), args{"todos": `[{"content":"x","status":"pending","active_form":"doing x"}]`})
	if got := b.scope.Todos(); len(got) != 1 || got[0].ActiveForm != "doing x" {
		t.Errorf("todos are %v", got)
	}
}

func TestEffectsNameTheAbsolutePath(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tt := range []struct {
		tool  tool.Tool
		input string
		want  tool.Effect
	}{
		{Read(), `{"file_path":"a/../b c"}`, tool.Effect{Action: tool.Read, Target: b.path("b c")}},
		{Read(), `{"file_path":"/x/y"}`, tool.Effect{Action: tool.Read, Target: "/x/y"}},
		{Write(b.locks), `{"file_path":"项目","content":""}`, tool.Effect{Action: tool.Write, Target: b.path("项目")}},
		{Edit(b.locks), `{"file_path":"a","old_string":"x","new_string":""}`, tool.Effect{Action: tool.Write, Target: b.path("a")}},
		{NotebookEdit(b.locks), `{"notebook_path":"n.ipynb","cell_id":0,"new_source":""}`, tool.Effect{Action: tool.Write, Target: b.path("n.ipynb")}},
		{Glob(), `{"pattern":"/etc/*.conf"}`, tool.Effect{Action: tool.Read, Target: "/etc"}},
		{Glob(), `{"pattern":"../up/*.go","path":"sub"}`, tool.Effect{Action: tool.Read, Target: b.path("up")}},
		{Grep(), `{"pattern":"x"}`, tool.Effect{Action: tool.Read, Target: b.scope.Root}},
		{WebFetch(WebOptions{}), `{"url":"http://example.com/a#b","prompt":"p"}`, tool.Effect{Action: tool.Fetch, Target: "https://example.com/a"}},
	} {
		got, err := tt.tool.Effects(tool.Call{Name: tt.tool.Name, Input: json.RawMessage(tt.input), Scope: b.scope})
		if err != nil || len(got) != 1 || got[0] != tt.want {
			t.Errorf("%s.Effects(%s) = %v, %v; want %v", tt.tool.Name, tt.input, got, err, tt.want)
		}
	}
}
