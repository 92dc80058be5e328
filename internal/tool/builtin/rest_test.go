package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/tool"
)

func TestTodoWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one := tool.Todo{Content: "Run", Status: "in_progress", ActiveForm: "Running"}
	two := tool.Todo{Content: "Fix", Status: "completed", ActiveForm: "Fixing"}
	b.ok(TodoWrite(), args{"todos": []tool.Todo{one}})
	r := b.call(TodoWrite(), args{"todos": []tool.Todo{one, two}})
	if want := "The list has 2 items now: 1 completed, 1 in progress, 0 pending. Go on with the item in progress."; textOf(r) != want {
		t.Errorf("TodoWrite = %q, want %q", textOf(r), want)
	}
	if d := cmp.Diff([]tool.Todo{one, two}, b.scope.Todos()); d != "" {
		t.Errorf("the list (-want +got):\n%s", d)
	}
	b.fails(TodoWrite(), args{"todos": []tool.Todo{{Content: "x", Status: "done"}}}, `item 1 has the status "done"`)
	b.fails(TodoWrite(), args{"todos": []tool.Todo{{Status: "pending"}}}, "item 1 has no content")
	if len(b.scope.Todos()) != 2 {
		t.Error("a refused call changed the list")
	}
	b.ok(TodoWrite(), args{"todos": []tool.Todo{}})
	if len(b.scope.Todos()) != 0 {
		t.Error("an empty list does not clear it")
	}
}

// person answers with the first option, or not at all.
type person struct{ err error }

func (p person) Ask(_ context.Context, c tool.Call) (map[string]string, error) {
	var in map[string][]Question // questions and nothing else
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for _, q := range in["questions"] {
		answers[q.Question] = q.Options[0].Label
	}
	return answers, p.err
}

func TestAskUserQuestion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	q := func(text string, options int) map[string]any {
		o := []Option{}
		for i := range options {
			o = append(o, Option{Label: fmt.Sprint("answer ", i), Description: "d"})
		}
		return map[string]any{"question": text, "header": "h", "options": o}
	}
	in := func(qs ...map[string]any) args { return args{"questions": qs} }
	ask := AskUserQuestion(person{})
	if got := b.ok(ask, in(q("Which?", 2))); got != "The user answered:\n- Which?\n  answer 0\n" {
		t.Errorf("AskUserQuestion = %q", got)
	}
	b.fails(AskUserQuestion(nil), in(q("Which?", 2)), "Nobody is there to answer. Decide yourself")
	b.fails(AskUserQuestion(person{errors.New("the user went away")}), in(q("Which?", 2)), "the user went away")
	b.fails(ask, in(q("Which?", 1)), "question 1 needs two to four options, not 1")
	b.fails(ask, in(q("A", 2), q("A", 2)), "question 2 is there twice")
	b.fails(ask, in(q("", 2)), "question 1 has no text")
	b.fails(ask, in(q("A", 2), q("B", 2), q("C", 2), q("D", 2), q("E", 2)), "one to four questions, not 5")
}

// planner is plan mode with a person who has made up their mind.
type planner struct {
	approves bool
	feedback string
	err      error
}

func (p planner) EnterPlan(context.Context) error { return p.err }
func (p planner) ExitPlan(context.Context, tool.Call, string) (bool, string, error) {
	return p.approves, p.feedback, p.err
}

func TestPlanMode(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	plan := args{"plan": "1. look\n2. leap"}
	if got := b.ok(EnterPlanMode(planner{}), args{}); !strings.Contains(got, "You are in plan mode now") {
		t.Errorf("EnterPlanMode = %q", got)
	}
	b.fails(EnterPlanMode(planner{err: errors.New("not now")}), args{}, "not now")
	b.fails(EnterPlanMode(nil), args{}, "There is no plan mode here")
	if got := b.ok(ExitPlanMode(planner{approves: true, feedback: "be quick"}), plan); got != "The plan is approved and plan mode is over. Begin. The user said: be quick" {
		t.Errorf("ExitPlanMode = %q", got)
	}
	b.fails(ExitPlanMode(planner{feedback: "no tests?"}), plan, "is not approved, and you are still in plan mode. Change the plan and present it again. The user said: no tests?")
	b.fails(ExitPlanMode(planner{err: errors.New("nobody answered")}), plan, "You are still in plan mode: nobody answered")
	b.fails(ExitPlanMode(nil), plan, "There is no plan mode here")
}

func TestGlobLists(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 103 {
		path := b.put(fmt.Sprintf("many/%03d.txt", i), "")
		at := time.Unix(int64(i), 0)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	b.put("a.go", "")
	b.put("odd\nname.go", "")
	got := strings.Split(b.ok(Glob(), args{"pattern": "**/*.txt"}), "\n")
	if len(got) != globLimit+2 || got[0] != "many/102.txt" || !strings.HasPrefix(got[globLimit], "[3 more are not listed") {
		t.Errorf("Glob of many = %q", got)
	}
	if got := b.ok(Glob(), args{"pattern": "odd*.go"}); got != `"odd\nname.go"`+"\n" {
		t.Errorf("Glob of an odd name = %q", got)
	}
	if got := b.ok(Glob(), args{"pattern": "0*.txt"}); !strings.Contains(got, `try "**/0*.txt"`) {
		t.Errorf("Glob in the wrong folder = %q", got)
	}
	if got := b.ok(Glob(), args{"pattern": b.path("many") + "/00[12].txt", "path": "/"}); got != "many/002.txt\nmany/001.txt\n" {
		t.Errorf("Glob of an absolute pattern = %q", got)
	}
	b.fails(Glob(), args{"pattern": "[a"}, `the pattern "[a" is not valid`)
	b.fails(Glob(), args{"pattern": "*", "path": "mani"}, "Did you mean "+b.path("many"))
	b.fails(Glob(), args{"pattern": "*", "path": "a.go"}, "is a file, not a folder")
}

func TestGrepShows(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.go", "one\ntwo foo\nthree\nfour\nfive foo\n")
	b.put("b/c.txt", "Foo\n")
	for _, tt := range []struct {
		in   args
		want string
	}{
		{args{"pattern": "foo"}, "a.go\n"},
		{args{"pattern": "nothing"}, "No matches."},
		{args{"pattern": "foo", "-i": true, "output_mode": "count"}, "a.go:2\nb/c.txt:1\n[3 in 2 files]\n"},
		{args{"pattern": "foo", "output_mode": "content"}, "a.go:2:two foo\na.go:5:five foo\n"},
		{args{"pattern": "foo", "output_mode": "content", "-n": "false"}, "a.go:two foo\na.go:five foo\n"},
		{args{"pattern": "foo", "output_mode": "content", "-A": 1}, "a.go:2:two foo\na.go-3-three\n--\na.go:5:five foo\n"},
		{args{"pattern": "foo", "output_mode": "content", "-C": 9}, "a.go-1-one\na.go:2:two foo\na.go-3-three\na.go-4-four\na.go:5:five foo\n"},
		{args{"pattern": "f[a-z]+", "output_mode": "content", "-o": true, "head_limit": 2, "offset": 1}, "a.go:4:four\na.go:5:five\n[More follow. To see them, search with offset 3, or narrow the search.]\n"},
		{args{"pattern": "foo", "offset": 7}, "[There is nothing after offset 7.]\n"},
		{args{"pattern": "o", "glob": "*.{txt,md},*.rs"}, "b/c.txt\n"},
		{args{"pattern": "o", "path": "b"}, "b/c.txt\n"},
	} {
		if got := b.ok(Grep(), tt.in); got != tt.want {
			t.Errorf("Grep(%v) = %q, want %q", tt.in, got, tt.want)
		}
	}
	b.fails(Grep(), args{"pattern": "a(b"}, "missing closing ), at position 2")
	b.fails(Grep(), args{"pattern": "x", "output_mode": "lines"}, "Use content, files_with_matches or count")
	b.fails(Grep(), args{"pattern": "x", "path": "c"}, "There is no file")
	b.fails(Grep(), args{"pattern": "x", "-A": -1}, "cannot be negative")
	b.fails(Grep(), args{"pattern": "x", "type": "klingon"}, "there is no file type")
}

// TestGrepIsBounded: a huge result must not fill the conversation.
func TestGrepIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("big.txt", strings.Repeat(strings.Repeat("x", 900)+"\n", 5000))
	got := b.ok(Grep(), args{"pattern": "x", "output_mode": "content", "head_limit": 5000})
	if len(got) > grepBytes+2000 || !strings.Contains(got, "To see them, search with offset") {
		t.Errorf("the result has %d bytes and ends %.100q", len(got), got[len(got)-100:])
	}
}
