package scripted

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"heddle/internal/message"
	"heddle/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	turnAgent = model.Agent{Type: "main"}
	explorer  = model.Agent{ID: "a1", Type: "Explore", Name: "finder"}
)

func load(t testing.TB, text string) *Script {
	t.Helper()
	s, err := Load("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func user(text string) message.Message { return message.FromUser(text) }

func result(id, text string) message.Message {
	return message.Message{Role: message.User, Content: []message.Block{message.ToolResult{ToolUseID: id, Content: []message.Block{message.Text{Text: text}}}}}
}

func TestRules(t *testing.T) {
	p := New(load(t, `
agents:
  - {name: finder, turns: [{text: by name}]}
  - {type: Explore, prompt: /^find (it|them)$/, turns: [{text: by type and prompt}]}
  - {type: Explore, turns: [{text: by type}]}
  - {prompt: sub, turns: [{text: by prompt}]}
  - {system: weave, main: true, turns: [{text: main by system}]}
  - {main: true, turns: [{text: main}]}
`))
	for _, c := range []struct {
		who    model.Agent
		prompt string
		want   string
	}{
		{explorer, "x", "by name"},
		{model.Agent{ID: "b", Type: "Explore"}, "please\nfind them", "by type and prompt"},
		{model.Agent{ID: "b", Type: "Explore"}, "find them all", "by type"},
		{turnAgent, "the subject", "by prompt"},
		{turnAgent, "x", "main by system"},
		{model.Agent{}, "x", "main by system"},
		{model.Agent{ID: "c", Type: "Plan"}, "x", `no agent of the script fits agent of type Plan with the prompt: x`},
	} {
		resp, err := request(t, p, c.who, []message.Message{user(c.prompt)})
		if got := resp.Message.Text(); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v %q: %q, %v, want %q", c.who, c.prompt, got, err, c.want)
		}
	}
}

// A new engine, as after a resume, goes on where the conversation stands.
func TestTurnComesFromTheConversation(t *testing.T) {
	s := load(t, `
agents:
  - turns:
      - {text: one, repeat: 2}
      - {capture: {id: 'n=(\d+)'}, calls: [{tool: A}, {tool: B}]}
      - {text: "three ${id}"}
      - {text: for ever, repeat: forever}
`)
	history := []message.Message{user("go")}
	for i, want := range []string{"one", "one", "", "three 7", "for ever", "for ever"} {
		resp, err := request(t, New(s), turnAgent, history)
		if err != nil || resp.Message.Text() != want {
			t.Fatalf("turn %d: %q, %v, want %q", i+1, resp.Message.Text(), err, want)
		}
		history = append(history, resp.Message)
		if uses := resp.Message.ToolUses(); uses != nil {
			if uses[0].ID != "toolu_3_1" || uses[1].ID != "toolu_3_2" {
				t.Errorf("ids %s, %s", uses[0].ID, uses[1].ID)
			}
			history = append(history, result(uses[0].ID, "x"), result(uses[1].ID, "y"))
		} else {
			history = append(history, user("n=7"))
		}
	}
	// Taken back, it says the same again.
	if resp, err := request(t, New(s), turnAgent, history[:3]); err != nil || resp.Message.Text() != "one" {
		t.Errorf("after going back: %q, %v", resp.Message.Text(), err)
	}
}

func TestIDsOfAgentsDiffer(t *testing.T) {
	p := New(load(t, turns("{calls: [{tool: A}]}")))
	seen := map[string]bool{}
	for _, who := range []model.Agent{turnAgent, {ID: "a/1", Type: "Explore"}, {ID: "a2", Type: "Explore"}} {
		resp, err := request(t, p, who, []message.Message{user("go")})
		if err != nil {
			t.Fatal(err)
		}
		seen[resp.Message.ToolUses()[0].ID], seen[resp.ID] = true, true
	}
	if len(seen) != 6 || !seen["toolu_a_1_1_1"] {
		t.Errorf("ids: %v", seen)
	}
}

// A wait takes one match: early ones are not lost, and several in one message count.
func TestWaits(t *testing.T) {
	s := load(t, `
agents:
  - turns:
      - {text: started, capture: {id: 'run (\w+)'}}
      - {wait: 'end of (${id}\d)', capture: {n: 'end of (\w+)'}, text: "got ${n}"}
      - {wait: 'end of ${id}\d', text: and another}
      - {wait: 'end of ${id}\d', expect: hurrah, text: and a third}
`)
	say := func(p *Provider, history []message.Message) string {
		resp, err := request(t, p, turnAgent, history)
		if err != nil {
			return err.Error()
		}
		return resp.Message.Text()
	}
	answer := func(text string) message.Message {
		return message.Message{Role: message.Assistant, Content: []message.Block{message.Text{Text: text}}}
	}
	for _, c := range []struct {
		name    string
		history []message.Message
		want    string
	}{
		{"nothing", []message.Message{user("run b"), answer("started"), user("x")}, "(waiting)"},
		{"another's", []message.Message{user("run b"), answer("started"), user("end of c1")}, "(waiting)"},
		{"it came", []message.Message{user("run b"), answer("started"), user("end of b1")}, "got b1"},
		{"it came with others", []message.Message{user("run b"), answer("started"), user("x"), answer("(waiting)"), user("y end of b1 z")}, "got b1"},
		{"it was early", []message.Message{user("run b, end of b0"), answer("started"), user("go")}, "got b0"},
		{"the second is missing", []message.Message{user("run b"), answer("started"), user("end of b1"), answer("got b1"), user("x")}, "(waiting)"},
		{"both in one", []message.Message{user("run b"), answer("started"), user("end of b1, end of b2"), answer("got b1"), user("x")}, "and another"},
		{"a result is no message", []message.Message{user("run b"), answer("started"), result("x", "end of b1")}, "(waiting)"},
		{"the third without what is expected", []message.Message{
			user("run b"), answer("started"), user("end of b1, end of b2"), answer("got b1"), user("x"), answer("and another"), user("end of b3"),
		}, `turn 4 of agent main: expected something that matches "hurrah", but there is: end of b3`},
		{"the third", []message.Message{
			user("run b"), answer("started"), user("end of b1, end of b2"), answer("got b1"), user("x"), answer("and another"), user("hurrah, end of b3"), answer("(waiting)"), user("late"),
		}, "and a third"},
	} {
		if got := say(New(s), c.history); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// After a summary the script goes on with the rule, the turn and the values that it
// had, also in a new process and also if the conversation came as an excerpt.
func TestSummary(t *testing.T) {
	s := load(t, `
agents:
  - {type: other, turns: [{text: no}]}
  - prompt: build
    summary: We built.
    turns:
      - {text: one, capture: {id: 'id (\S+)'}}
      - {text: two}
      - {text: "three ${id}"}
`)
	ask := user(summaryRequest + " It will replace the conversation.")
	for _, excerpt := range []bool{false, true} {
		p := New(s)
		history := []message.Message{user("build id b]7x")}
		for range 2 {
			resp, err := request(t, p, turnAgent, history)
			if err != nil {
				t.Fatal(err)
			}
			history = append(history, resp.Message, user("go on"))
		}
		asked := append(history[:4:4], ask)
		if excerpt {
			asked = []message.Message{user("<conversation>build</conversation>\n\n" + summaryRequest)}
		}
		resp, err := request(t, p, turnAgent, asked)
		text := resp.Message.Text()
		if err != nil || !strings.HasPrefix(text, "We built.") {
			t.Fatalf("summary %q, %v", text, err)
		}
		for engine, q := range map[string]*Provider{"same": p, "new": New(s)} {
			resp, err := request(t, q, turnAgent, []message.Message{user("<conversation-summary>\n" + text + "\n</conversation-summary>"), user("and?")})
			if err != nil || resp.Message.Text() != "three b]7x" {
				t.Errorf("excerpt %v, %s engine: %q, %v, want three b]7x", excerpt, engine, resp.Message.Text(), err)
			}
		}
	}
}

// What a client does not keep is not asked for again.
func TestAnswersThatAreNotKept(t *testing.T) {
	s := load(t, `
agents:
  - turns:
      - {stop: max_tokens, text: big, calls: [{tool: Write, input_raw: '{"content":"aa'}]}
      - {refusal: {category: bio}}
      - {}
      - {text: last}
`)
	p := New(s)
	history := []message.Message{user("go")}
	first, err := request(t, p, turnAgent, history)
	if err != nil || first.Stop != message.MaxTokens || first.Partial == nil || first.Partial.Name != "Write" || first.Message.ToolUses() != nil {
		t.Fatalf("first %+v, %v", first, err)
	}
	if r, err := request(t, p, turnAgent, history); err != nil || r.Stop != message.Refusal || r.Refusal.Category != "bio" {
		t.Errorf("second %+v, %v", r, err)
	}
	if r, err := request(t, p, turnAgent, history); err != nil || len(r.Message.Content) != 0 || r.Stop != message.EndTurn {
		t.Errorf("third %+v, %v", r, err)
	}
	if r, err := request(t, p, turnAgent, history); err != nil || r.Message.Text() != "last" {
		t.Errorf("fourth %+v, %v", r, err)
	}
	// Kept, it counts as any other.
	p = New(s)
	if _, err := request(t, p, turnAgent, history); err != nil {
		t.Fatal(err)
	}
	if r, err := request(t, p, turnAgent, append(history, first.Message, user("smaller"))); err != nil || r.Stop != message.Refusal {
		t.Errorf("after a kept answer %+v, %v", r, err)
	}
}

func TestPausesTakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(load(t, turns("{text: abcdef, pause: 2s, pace: 100ms, chunk: 2}")))
		begin := time.Now()
		resp, err := request(t, p, turnAgent, []message.Message{user("go")})
		if took := time.Since(begin); err != nil || resp.Message.Text() != "abcdef" || took != 2200*time.Millisecond {
			t.Errorf("%q, %v after %v, want 2.2s", resp.Message.Text(), err, took)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		time.AfterFunc(time.Second, func() { cancel(enough) })
		begin = time.Now()
		r := &model.Request{Prefix: p.EncodePrefix(model.Prompt{}), Messages: [][]byte{p.EncodeMessage(user("go"))}}
		for ev, err := range p.Stream(ctx, r) {
			if ev != nil || !errors.Is(err, enough) || time.Since(begin) != time.Second {
				t.Errorf("cancelled: %v, %v after %v", ev, err, time.Since(begin))
			}
		}
	})
}

func TestWindow(t *testing.T) {
	p := New(load(t, "window: 100\n"+turns("{text: a, repeat: forever}")))
	if _, err := request(t, p, turnAgent, []message.Message{user("short")}); err != nil {
		t.Error(err)
	}
	_, err := request(t, p, turnAgent, []message.Message{user(strings.Repeat("x", 500))})
	var e *model.Error
	if !errors.As(err, &e) || e.Class != model.ContextFull || !strings.Contains(e.Message, "> 100 maximum") {
		t.Errorf("error %v", err)
	}
}

// What the request before sent is read from the cache; the rest is written to it.
func TestUsage(t *testing.T) {
	s := load(t, turns("{text: aaaa, repeat: 2}, {text: b, usage: {input: 1, cache_read: 2, cache_write: 3, cache_write_1h: 4, output: 5}}"))
	p := New(s)
	history := []message.Message{user("go")}
	first, _ := request(t, p, turnAgent, history)
	history = append(history, first.Message, user("on"))
	second, _ := request(t, p, turnAgent, history)
	if first.Usage.CacheRead != 0 || second.Usage.CacheRead != first.Usage.Prompt() || second.Usage.Prompt() <= first.Usage.Prompt() || second.Usage.Output == 0 {
		t.Errorf("usage %+v, then %+v", first.Usage, second.Usage)
	}
	third, err := request(t, p, turnAgent, append(history, second.Message, user("on")))
	if want := (message.Usage{Input: 1, CacheRead: 2, CacheWrite: 3, CacheWrite1h: 4, Output: 5}); err != nil || third.Usage != want {
		t.Errorf("usage %+v, %v, want %+v", third.Usage, err, want)
	}
	p = New(load(t, "usage: {input: 9}\n"+turns("{text: a}")))
	if r, err := request(t, p, turnAgent, history[:1]); err != nil || r.Usage.Input != 9 {
		t.Errorf("usage of the script %+v, %v", r.Usage, err)
	}
}

func TestManyAgentsAtOnce(t *testing.T) {
	p := New(load(t, turns("{text: one, fail: {status: 529, times: 20}}, {text: two}")))
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	for i := range 40 {
		wg.Go(func() {
			who := model.Agent{ID: fmt.Sprint(i % 2), Type: "x"}
			r := &model.Request{Prefix: p.EncodePrefix(model.Prompt{}), Messages: [][]byte{p.EncodeMessage(user("go"))}, Agent: who}
			for _, err := range p.Stream(t.Context(), r) {
				if err != nil {
					mu.Lock()
					failed++
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	if failed != 40 {
		t.Errorf("%d requests failed, want 20 for each of two agents", failed)
	}
}
