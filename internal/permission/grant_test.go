package permission

import (
	"context"
	"testing"

	"heddle/internal/tool"
)

// What a skill may do counts until the run is over, for its agent alone, and never
// against a refusal.
func TestGrantsLastForARun(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, Default, lists{deny: []string{"Bash(make deploy)"}}, nil)
	judge := func(agent, command string) Behavior {
		scope := p.scope()
		scope.Agent = agent
		return g.Judge(bashTool(), call(t, bashTool(), scope, "command", command)).Behavior
	}
	want := func(when, agent, command string, want Behavior) {
		t.Helper()
		if got := judge(agent, command); got != want {
			t.Errorf("%s: %q of agent %q: %s, want %s", when, command, agent, got, want)
		}
	}
	want("before", "", "make", Ask)
	g.Grant("", p.rules(t, []string{"Bash(make *)"}), p.rules(t, []string{"Bash(rm *)"}))
	want("granted", "", "make", Allow)
	want("granted", "", "make deploy", Deny)
	want("granted", "", "rm x", Deny)
	want("granted to another", "a1", "make", Ask)
	if err := g.SetMode(AcceptEdits); err != nil {
		t.Fatal(err)
	}
	want("after a change of mode", "", "make", Allow)
	g.Begin("a1")
	want("another's run begins", "", "make", Allow)
	g.Begin("")
	want("the next run begins", "", "make", Ask)
	want("the next run begins", "", "rm x", Allow) // of accepted edits
}

type adviceKey struct{}

// A hook may answer a question and may ask one; it cannot lift what a person decided.
func TestAdviceAnswersQuestionsAlone(t *testing.T) {
	p := newPlace(t)
	g := NewGate(Settings{
		Ask: p.rules(t, []string{"Bash(git push *)"}), Deny: p.rules(t, []string{"Bash(make deploy)"}),
		Advice: func(ctx context.Context) Advice { a, _ := ctx.Value(adviceKey{}).(Advice); return a },
	}, nil)
	ran := false
	run := g.Middleware(bashTool(), func(context.Context, tool.Call) tool.Result { ran = true; return tool.Text("done") })
	for _, test := range []struct {
		advice  Behavior
		command string
		want    bool
	}{
		{"", "make", false},
		{Allow, "make", true},
		{Allow, "make deploy", false},
		{Allow, "git push origin", false},
		{Allow, "rm -rf /", false},
		{Allow, "echo x > .git/hooks/pre-commit", false}, // only a person may
		{Ask, "ls", false},
		{"", "ls", true},
	} {
		ran = false
		ctx := context.WithValue(t.Context(), adviceKey{}, Advice{Behavior: test.advice, Reason: "a hook said so"})
		r := run(ctx, call(t, bashTool(), p.scope(), "command", test.command))
		if ran != test.want || r.Denied == test.want {
			t.Errorf("advice %q on %q: ran %v, want %v", test.advice, test.command, ran, test.want)
		}
	}
}

// Who asks nobody in the end refuses like a gate without anyone to ask.
func TestNobodyBehindAnAsker(t *testing.T) {
	p := newPlace(t)
	got := do(t, p.gate(t, Default, lists{}, people(func(context.Context, Question) (Answer, error) {
		return Answer{}, ErrNobody
	})), p.scope(), "make")
	want := do(t, p.gate(t, Default, lists{}, nil), p.scope(), "make")
	if textOf(got) != textOf(want) || !got.Denied {
		t.Errorf("it says %q, want %q", textOf(got), textOf(want))
	}
}
