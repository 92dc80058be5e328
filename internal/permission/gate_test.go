package permission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"heddle/internal/tool"
)

// people answers questions from a function.
type people func(context.Context, Question) (Answer, error)

func (p people) Ask(ctx context.Context, q Question) (Answer, error) { return p(ctx, q) }

func textOf(r tool.Result) string {
	var b strings.Builder
	for _, c := range r.Content {
		fmt.Fprint(&b, c)
	}
	return b.String()
}

// do runs a command through the gate, as the agent of scope s.
func do(t testing.TB, g *Gate, s *tool.Scope, command string) tool.Result {
	t.Helper()
	tl := bashTool()
	ran := func(_ context.Context, c tool.Call) tool.Result { return tool.Text("ran " + string(c.Input)) }
	return g.Middleware(tl, ran)(t.Context(), call(t, tl, s, "command", command))
}

// Without a person to ask, an ask is refused at once, with what to do instead.
func TestNobodyToAsk(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, Default, lists{}, nil)
	s := p.scope().Child("a1")
	for range 5 {
		r := do(t, g, s, "npm run build")
		if !r.IsError || !r.Denied || r.TooDenied || r.Interrupt {
			t.Fatalf("result %+v, want a refusal that does not end the run", r)
		}
		if text := textOf(r); !strings.Contains(text, "nobody is there to ask") || !strings.Contains(text, "Bash(npm run build *)") {
			t.Errorf("text %q does not say that nobody is there, and what would permit it", text)
		}
	}
	d := g.Denied("a1")
	if len(d) != 5 || d[0].Tool != "Bash" || d[0].ID != "toolu_Bash" || !strings.Contains(string(d[0].Input), "npm") || d[0].ByUser {
		t.Errorf("Denied = %+v, want the five calls", d)
	}
	if d := g.Denied(""); len(d) != 0 {
		t.Errorf("denials of the main conversation: %+v, want none", d)
	}
	if r := do(t, g, s, "ls"); r.IsError {
		t.Errorf("ls: %s", textOf(r))
	}
}

func TestRefusalsSayWhy(t *testing.T) {
	p := newPlace(t)
	never := people(func(context.Context, Question) (Answer, error) {
		t.Error("a person was asked")
		return Answer{}, nil
	})
	for _, test := range []struct {
		mode    Mode
		l       lists
		command string
		want    string
	}{
		{Default, lists{deny: []string{"Bash(rm *)"}}, "rm x", "the rule Bash(rm *) (test) denies it"},
		{Plan, lists{allow: []string{"Bash"}}, "rm x", "plan mode is on"},
		{DontAsk, lists{}, "rm x", "dontAsk"},
	} {
		r := do(t, p.gate(t, test.mode, test.l, never), p.scope(), test.command)
		if !r.Denied || !strings.Contains(textOf(r), test.want) {
			t.Errorf("%s: %q, want a refusal with %q", test.mode, textOf(r), test.want)
		}
	}
}

// Input that makes no sense to the tool is its error, not a denial.
func TestInvalidInputIsNoDenial(t *testing.T) {
	p := newPlace(t)
	tl := bashTool()
	r := p.gate(t, Default, lists{}, nil).Middleware(tl, tl.Run)(t.Context(), tool.Call{Name: "Bash", Input: json.RawMessage(`{"command":1}`), Scope: p.scope()})
	if !r.IsError || r.Denied || !strings.Contains(textOf(r), "input of Bash") {
		t.Errorf("result %+v", r)
	}
}

// After the third refusal by a person in one run the agent is told to stop looking
// for a way round, and the run is marked to end. Other agents are not touched.
func TestThirdRefusalEndsTheRun(t *testing.T) {
	p := newPlace(t)
	asked := 0
	g := p.gate(t, Default, lists{}, people(func(_ context.Context, q Question) (Answer, error) {
		asked++
		return Answer{Message: "not here"}, nil
	}))
	child, other := p.scope().Child("a1"), p.scope().Child("a2")
	for i := 1; i <= 3; i++ {
		r := do(t, g, child, fmt.Sprintf("make v%d", i))
		text := textOf(r)
		if !r.Denied || !strings.Contains(text, "Denied by the user: not here") {
			t.Errorf("refusal %d: %q", i, text)
		}
		if r.TooDenied != (i == 3) || strings.Contains(text, "Stop.") != (i == 3) {
			t.Errorf("refusal %d: TooDenied %v, %q", i, r.TooDenied, text)
		}
	}
	if r := do(t, g, other, "make x"); r.TooDenied {
		t.Error("the refusals of one agent count for another")
	}
	if d := g.Denied("a1"); len(d) != 3 || !d[2].ByUser || asked != 4 {
		t.Errorf("%d asked, denied %+v", asked, d)
	}
	g.Begin("a1")
	if r := do(t, g, child, "make x"); r.TooDenied || len(g.Denied("a1")) != 1 {
		t.Error("a new run does not count from zero")
	}
}

func TestQuestionSaysWhoAndWhat(t *testing.T) {
	p := newPlace(t)
	var got Question
	g := p.gate(t, Default, lists{}, people(func(_ context.Context, q Question) (Answer, error) {
		got = q
		return Answer{Allow: true}, nil
	}))
	s := p.scope().Child("a7")
	s.SetDir(p.root + "/src")
	r := do(t, g, s, "make x")
	if r.IsError || !strings.Contains(textOf(r), "ran") {
		t.Errorf("an allowed call: %q", textOf(r))
	}
	if got.Agent != "a7" || got.Dir != p.root+"/src" || got.Call.Name != "Bash" || got.Effects[0].Target != "make x" || got.Reason == "" || len(got.Suggestions) != 1 {
		t.Errorf("question %+v", got)
	}
}

// Input that the answer changed is held against deny rules again.
func TestChangedInputIsJudgedAgain(t *testing.T) {
	p := newPlace(t)
	input := ""
	g := p.gate(t, Default, lists{deny: []string{"Bash(rm *)"}}, people(func(context.Context, Question) (Answer, error) {
		return Answer{Allow: true, Input: json.RawMessage(input)}, nil
	}))
	for in, want := range map[string]string{
		`{"command":"make b"}`: "ran {\"command\":\"make b\"}",
		`{"command":"rm b"}`:   "denies it",
		`{"command":1}`:        "input of Bash",
		`null`:                 "make a",
		``:                     "make a",
	} {
		input = in
		if got := textOf(do(t, g, p.scope(), "make a")); !strings.Contains(got, want) {
			t.Errorf("with input %s: %q, want %q", in, got, want)
		}
	}
}

func TestAnswersThatDoNotCome(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, Default, lists{}, people(func(context.Context, Question) (Answer, error) { return Answer{}, errors.New("the line is dead") }))
	if r := do(t, g, p.scope(), "make"); !r.Denied || !strings.Contains(textOf(r), "the line is dead") {
		t.Errorf("a broken asker: %q", textOf(r))
	}
	g.SetAsker(people(func(ctx context.Context, _ Question) (Answer, error) {
		<-ctx.Done()
		return Answer{}, ctx.Err()
	}))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	tl := bashTool()
	if r := g.Middleware(tl, tl.Run)(ctx, call(t, tl, p.scope(), "command", "make")); r.Denied || !strings.Contains(textOf(r), "Interrupted") {
		t.Errorf("an interrupted question: %+v", r)
	}
	g.SetAsker(people(func(context.Context, Question) (Answer, error) {
		return Answer{Allow: true, Updates: []Update{{Type: AddRules, Behavior: Allow, Rules: []RuleText{{"Read", "!x"}}}}}, nil
	}))
	if r := do(t, g, p.scope(), "make"); !r.Denied || !strings.Contains(textOf(r), "cannot be made") {
		t.Errorf("an answer with a bad update: %q", textOf(r))
	}
	g.SetAsker(people(func(context.Context, Question) (Answer, error) { return Answer{Interrupt: true}, nil }))
	if r := do(t, g, p.scope(), "make"); !r.Interrupt {
		t.Errorf("an interrupting refusal: %+v", r)
	}
}

// desk holds the questions that are outstanding, each with the way for its answer.
type desk struct {
	mu   sync.Mutex
	open map[string]chan Answer // by command
}

func (d *desk) Ask(ctx context.Context, q Question) (Answer, error) {
	c := make(chan Answer, 1)
	d.mu.Lock()
	d.open[q.Effects[0].Target] = c
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.open, q.Effects[0].Target)
		d.mu.Unlock()
	}()
	select {
	case a := <-c:
		return a, nil
	case <-ctx.Done():
		return Answer{}, ctx.Err()
	}
}

func (d *desk) waiting() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var list []string
	for c := range d.open {
		list = append(list, c)
	}
	slices.Sort(list)
	return list
}

func (d *desk) answer(command string, a Answer) {
	d.mu.Lock()
	c := d.open[command]
	d.mu.Unlock()
	c <- a
}

// Seven agents ask within a moment: all questions stand, and each answer reaches
// the agent that asked.
func TestSeveralQuestionsAtOnce(t *testing.T) {
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		d := &desk{open: map[string]chan Answer{}}
		g := p.gate(t, Default, lists{}, d)
		results := make([]tool.Result, 7)
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() { results[i] = do(t, g, p.scope().Child(fmt.Sprint("a", i)), fmt.Sprintf("make t%d", i)) })
		}
		synctest.Wait()
		if w := d.waiting(); len(w) != 7 {
			t.Fatalf("waiting: %q, want seven", w)
		}
		for i := len(results) - 1; i >= 0; i-- {
			d.answer(fmt.Sprintf("make t%d", i), Answer{Allow: i%2 == 0, Message: fmt.Sprint("no ", i)})
		}
		wg.Wait()
		for i, r := range results {
			want := fmt.Sprintf("make t%d", i)
			if i%2 == 1 {
				want = fmt.Sprint("no ", i)
			}
			if r.Denied != (i%2 == 1) || !strings.Contains(textOf(r), want) {
				t.Errorf("agent %d: %+v, want %q", i, r, want)
			}
		}
	})
}

// "Always allow" settles the questions it fits, and only these; so does a new
// deny rule, and a change of mode.
func TestAnswerSettlesWhatWaits(t *testing.T) {
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		d := &desk{open: map[string]chan Answer{}}
		g := p.gate(t, Default, lists{}, d)
		commands := []string{"make a", "make b", "make c && npm test", "rm x"}
		results := make([]tool.Result, len(commands))
		var wg sync.WaitGroup
		for i, c := range commands {
			wg.Go(func() { results[i] = do(t, g, p.scope(), c) })
		}
		synctest.Wait()
		d.answer("make a", Answer{Allow: true, Updates: []Update{allowUpdate(ToLocal, RuleText{"Bash", "make *"})}})
		synctest.Wait()
		if w := d.waiting(); !slices.Equal(w, []string{"make c && npm test", "rm x"}) {
			t.Fatalf("still waiting: %q", w)
		}
		if results[1].IsError {
			t.Errorf("make b was not settled: %q", textOf(results[1]))
		}
		if err := g.Apply([]Update{{Type: AddRules, Behavior: Deny, Rules: []RuleText{{"Bash", "rm *"}}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if w := d.waiting(); len(w) != 1 || !results[3].Denied {
			t.Errorf("after the deny rule: waiting %q, %+v", w, results[3])
		}
		if err := g.SetMode(DontAsk); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if !results[2].Denied {
			t.Errorf("after the change of mode: %+v", results[2])
		}
	})
}

func TestModes(t *testing.T) {
	for text, want := range map[string]Mode{"": Default, "manual": Default, "default": Default, "acceptEdits": AcceptEdits, "plan": Plan, "dontAsk": DontAsk, "bypassPermissions": Bypass} {
		if m, err := ParseMode(text); err != nil || m != want {
			t.Errorf("ParseMode(%q) = %s, %v", text, m, err)
		}
	}
	if _, err := ParseMode("yolo"); err == nil || !strings.Contains(err.Error(), "acceptEdits") {
		t.Errorf("ParseMode(yolo): %v, want an error that lists the modes", err)
	}
	for _, test := range []struct {
		s       Settings
		start   Mode
		bypass  bool
		problem bool
	}{
		{Settings{}, Default, false, false},
		{Settings{AllowBypass: true}, Default, true, false},
		{Settings{Mode: Bypass}, Bypass, true, false},
		{Settings{Mode: Bypass, Root: true}, Default, false, true},
		{Settings{Mode: Bypass, DisableBypass: true}, Default, false, true},
		{Settings{AllowBypass: true, Root: true}, Default, false, false},
		{Settings{Mode: "yolo"}, Default, false, true},
	} {
		g := NewGate(test.s, nil)
		if g.Mode() != test.start || (test.s.Check() != nil) != test.problem {
			t.Errorf("%+v: mode %s, Check %v", test.s, g.Mode(), test.s.Check())
		}
		if err := g.SetMode(Plan); err != nil || g.Mode() != Plan {
			t.Errorf("SetMode(plan): %v", err)
		}
		if err := g.SetMode(Bypass); (err == nil) != test.bypass {
			t.Errorf("%+v: SetMode(bypass): %v", test.s, err)
		}
		if err := g.SetMode("yolo"); err == nil {
			t.Error("SetMode(yolo) worked")
		}
	}
}

func TestApply(t *testing.T) {
	p := newPlace(t)
	managed := p.rules(t, []string{"Bash(m)"})
	managed[0].Source.Destination = ""
	g := NewGate(Settings{Allow: slices.Concat(p.rules(t, []string{"Bash(a)"}), managed), Home: p.home}, nil)
	check := func(step string, want map[string]Behavior) {
		t.Helper()
		for command, b := range want {
			if v := p.bash(t, g, command); v.Behavior != b {
				t.Errorf("%s: Judge(%s) = %s, want %s", step, command, v.Behavior, b)
			}
		}
	}
	apply := func(text string) error {
		t.Helper()
		var list []Update
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return err
		}
		return g.Apply(list)
	}
	ok := func(text string) {
		t.Helper()
		if err := apply(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	check("start", map[string]Behavior{"a": Allow, "m": Allow, "b": Ask})
	ok(`[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"b"}],"behavior":"allow","destination":"session"}]`)
	check("added", map[string]Behavior{"a": Allow, "b": Allow})
	ok(`[{"type":"replaceRules","rules":[{"toolName":"Bash","ruleContent":"c"}],"behavior":"allow","destination":"session"}]`)
	check("replaced", map[string]Behavior{"a": Ask, "b": Ask, "c": Allow, "m": Allow})
	ok(`[{"type":"removeRules","rules":[{"toolName":"Bash","ruleContent":"c"},{"toolName":"Bash","ruleContent":"m"}],"behavior":"allow","destination":"session"}]`)
	check("removed", map[string]Behavior{"c": Ask, "m": Allow}) // not what came from elsewhere
	ok(`[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"deny","destination":"session"}]`)
	check("denied", map[string]Behavior{"m": Deny})
	ok(`[{"type":"addRules","rules":[{"toolName":"Read","ruleContent":"/src/key"}],"behavior":"deny","destination":"cliArg"}]`)
	if v := p.file(t, g, "Read", p.root+"/src/key"); v.Behavior != Deny { // from the project
		t.Errorf("a path in an update: %s", v.Behavior)
	}
	ok(`[{"type":"removeRules","rules":[{"toolName":"Bash"}],"behavior":"deny","destination":"session"}]`)
	ok(`[{"type":"addDirectories","directories":["` + p.outside + `"],"destination":"session"},{"type":"setMode","mode":"acceptEdits","destination":"session"}]`)
	check("directories", map[string]Behavior{"touch " + p.outside + "/x": Allow})
	if d := g.Directories(); len(d) != 1 || g.Mode() != AcceptEdits {
		t.Errorf("directories %q, mode %s", d, g.Mode())
	}
	ok(`[{"type":"removeDirectories","directories":["` + p.outside + `/"],"destination":"session"}]`)
	check("directories removed", map[string]Behavior{"touch " + p.outside + "/x": Ask})

	// All or nothing.
	if err := apply(`[{"type":"setMode","mode":"plan"},{"type":"setMode","mode":"bypassPermissions"}]`); err == nil || g.Mode() != AcceptEdits {
		t.Errorf("half an update was made: %v, mode %s", err, g.Mode())
	}
	for text, want := range map[string]string{
		`[{"type":"frobnicate"}]`: "frobnicate", `[{"type":"addRules","rules":[]}]`: "behavior", `[{"type":"setMode","mode":"x"}]`: "permission mode",
		`[{"type":"addRules","behavior":"allow","rules":[{"toolName":"Read","ruleContent":"!x"}]}]`: "exceptions",
		`[{"type":"setMode","mode":"plan","destination":"moon"}]`:                                   "moon",
		`[{"type":"addDirectories","directories":["x"]}]`:                                           "absolute", `[{"type":1}]`: "permission update",
	} {
		if err := apply(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error about %q", text, err, want)
		}
	}
}

func TestUpdateKeepsItsShape(t *testing.T) {
	for _, text := range []string{
		`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"npm test"},{"toolName":"Read"}],"behavior":"allow","destination":"localSettings"}`,
		`{"type":"replaceRules","rules":[],"behavior":"deny","destination":"userSettings"}`,
		`{"type":"removeRules","rules":[{"toolName":"Read"}],"behavior":"ask","destination":"projectSettings"}`,
		`{"type":"setMode","mode":"acceptEdits","destination":"session"}`,
		`{"type":"addDirectories","directories":["/a"],"destination":"cliArg"}`,
		`{"type":"removeDirectories","directories":[],"destination":"session"}`,
	} {
		var u Update
		if err := json.Unmarshal([]byte(text), &u); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := json.Marshal(u); err != nil || string(got) != text {
			t.Errorf("got %s, %v, want %s", got, err, text)
		}
	}
}
