package permission

import (
	"encoding/json"
	"strings"
	"testing"

	"heddle/internal/tool"
)

func TestParseRule(t *testing.T) {
	for text, want := range map[string]string{
		"Bash": "Bash", "Bash(npm run *)": "Bash(npm run *)", " Read(~/x) ": "Read(~/x)", "mcp__a__b": "mcp__a__b", "*": "*", "mcp__*": "mcp__*",
		"Task(Explore)": "Agent(Explore)", "Bash(echo (a))": "Bash(echo (a))", "WebFetch(domain:x.org)": "WebFetch(domain:x.org)", "Bash()": "Bash",
	} {
		r, err := ParseRule(Source{}, text)
		if err != nil || r.String() != want {
			t.Errorf("ParseRule(%q) = %v, %v, want %s", text, r, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "name of a tool", "(x)": "name of a tool", "Bash(x": "parenthesis", "Ba sh": "name of a tool", "Read()": "nothing stands", "Read(!x)": "exceptions",
		"Read(a/../b)": "..", "Read([)": "bracket", "Read(\x00)": "zero byte", "Bash(x)y": "parenthesis",
	} {
		if _, err := ParseRule(Source{}, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseRule(%q): %v, want an error about %q", text, err, want)
		}
	}
}

func TestRulesWithoutEffectAreWarnedOf(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		list, rule string
		want       string // in the warning; empty: none
	}{
		{"allow", "*", "mcp__server__"},
		{"allow", "mcp__*", "mcp__server__"},
		{"allow", "mcp__gi*__x", "mcp__server__"},
		{"allow", "mcp__git__get_*", ""},
		{"deny", "mcp__*", ""},
		{"allow", "Agent(model:opus)", "parameters"},
		{"deny", "Agent(model:opus)", ""},
		{"deny", "Bash(command:rm *)", "own kind"},
		{"deny", "WebFetch(url:http://x)", "own kind"},
		{"deny", "Write(x)", "Edit(x)"},
		{"allow", "Grep(x)", "Read(x)"},
		{"allow", "WebFetch(example.com)", "domain:example.com"},
		{"deny", "WebSearch(x)", "takes no content"},
		{"allow", "Bash(npm:*)", ""},
		{"deny", "mcp__a__b(x:1)", ""},
	} {
		l := map[string]lists{"allow": {allow: []string{test.rule}}, "deny": {deny: []string{test.rule}}}[test.list]
		got := strings.Join(p.gate(t, Default, l, nil).Warnings(), "\n")
		if (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s %s: warning %q, want one about %q", test.list, test.rule, got, test.want)
		}
	}
	g := p.gate(t, Default, lists{deny: []string{"Bsh", "Bash", "mcp__x", "B*", "My_Tool"}, allow: []string{"Nope"}}, nil)
	if got := g.Unknown([]tool.Tool{bashTool()}); len(got) != 1 || !strings.Contains(got[0], "Bsh") {
		t.Errorf("Unknown = %q, want Bsh only", got)
	}
}

// plain is a tool that needs no permission by itself.
func plain(name string) tool.Tool { return fakeTool(name, nil) }

func TestRulesByToolAndInput(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		rule, tool, input string
		hit               bool
	}{
		{"Agent(Explore)", "Agent", `{"subagent_type":"Explore"}`, true},
		{"Task(Explore)", "Agent", `{"subagent_type":"Explore"}`, true},
		{"Agent(Explore)", "Task", `{"subagent_type":"Explore"}`, true},
		{"Agent(Explore)", "Agent", `{"subagent_type":"Plan"}`, false},
		{"Agent(model:opus)", "Agent", `{"model":"opus"}`, true},
		{"Agent( model : opus )", "Agent", `{"model":"opus"}`, true},
		{"Agent(model:opus)", "Agent", `{"model":"haiku"}`, false},
		{"Agent(model:op*)", "Agent", `{"model":"opus"}`, true},
		{"Agent(isolation:*)", "Agent", `{"isolation":"worktree"}`, true},
		{"Agent(isolation:*)", "Agent", `{}`, false}, // left out never matches
		{"Agent(isolation:*)", "Agent", `{"isolation":null}`, false},
		{"Agent(isolation:*)", "Agent", `{"isolation":["a"]}`, false}, // scalars only
		{"Bash(run_in_background:true)", "Bash", `{"command":"x","run_in_background":true}`, true},
		{"Bash(run_in_background:true)", "Bash", `{"command":"x","run_in_background":false}`, false},
		{"Bash(timeout:1e3)", "Bash", `{"command":"x","timeout":1e3}`, true}, // as it was sent
		{"Bash(timeout:1e3)", "Bash", `{"command":"x","timeout":1000}`, false},
		{"Skill(deploy)", "Skill", `{"skill":"deploy"}`, true},
		{"Skill(deploy)", "Skill", `{"skill":"deploy","args":"now"}`, true},
		{"Skill(deploy *)", "Skill", `{"skill":"deploy","args":"now"}`, true},
		{"Skill(deploy *)", "Skill", `{"skill":"deployer"}`, false},
		{"mcp__git", "mcp__git__push", `{}`, true},
		{"mcp__git__*", "mcp__git__push", `{}`, true},
		{"mcp__git__push", "mcp__git__push", `{}`, true},
		{"mcp__git__push", "mcp__git__pull", `{}`, false},
		{"mcp__git", "mcp__github__push", `{}`, false},
		{"mcp__*", "mcp__git__push", `{}`, true},
		{"mcp__*", "Mcp__x", `{}`, false},
		{"*", "WebSearch", `{}`, true},
		{"Web*", "WebSearch", `{}`, true},
		{"eb*", "WebSearch", `{}`, false}, // the whole name
		{"mcp__a__b(x:1)", "mcp__a__b", `{"x":1}`, true},
		{"Agent(Explore)", "Agent", `not json`, false},
	} {
		g := p.gate(t, Bypass, lists{deny: []string{test.rule}}, nil)
		v := g.Judge(plain(test.tool), tool.Call{Name: test.tool, Input: json.RawMessage(test.input), Scope: p.scope()})
		if (v.Behavior == Deny) != test.hit {
			t.Errorf("deny %s: Judge(%s %s) = %s, want a hit: %v", test.rule, test.tool, test.input, v.Behavior, test.hit)
		}
		g = p.gate(t, Default, lists{ask: []string{test.rule}}, nil)
		v = g.Judge(plain(test.tool), tool.Call{Name: test.tool, Input: json.RawMessage(test.input), Scope: p.scope()})
		if (v.Behavior == Ask) != test.hit {
			t.Errorf("ask %s: Judge(%s %s) = %s, want a hit: %v", test.rule, test.tool, test.input, v.Behavior, test.hit)
		}
	}
}

func TestDomainRules(t *testing.T) {
	p := newPlace(t)
	for _, test := range []struct {
		rule, url string
		hit       bool
	}{
		{"WebFetch(domain:example.com)", "https://example.com/x", true},
		{"WebFetch(domain:Example.COM.)", "https://EXAMPLE.com.:8080/x", true},
		{"WebFetch(domain:example.com)", "https://a.example.com", false},
		{"WebFetch(domain:example.com)", "https://example.com.evil.org", false},
		{"WebFetch(domain:example.com)", "https://example.com@evil.org/", false},
		{"WebFetch(domain:*.example.com)", "https://a.b.example.com", true},
		{"WebFetch(domain:*.example.com)", "https://example.com", false},
		{"WebFetch(domain:*.example.com)", "https://evilexample.com", false},
		{"WebFetch(domain:*)", "https://x.org", true},
		{"WebFetch(domain:a*.example.com)", "https://ab.example.com", true},
		{"WebFetch(domain:a*.example.com)", "https://a.b.example.com", false},
		{"WebFetch", "https://x.org", true},
		{"WebFetch(domain:*)", "nonsense", false},
	} {
		for list, want := range map[string]Behavior{"allow": Allow, "deny": Deny, "ask": Ask} {
			l := map[string]lists{"allow": {allow: []string{test.rule}}, "deny": {deny: []string{test.rule}}, "ask": {ask: []string{test.rule}}}[list]
			mode := Default
			if list == "ask" {
				mode = Bypass
			}
			v := p.gate(t, mode, l, nil).Judge(fetchTool(), call(t, fetchTool(), p.scope(), "url", test.url))
			if (v.Behavior == want) != test.hit {
				t.Errorf("%s %s: Judge(%s) = %s, want a hit: %v", list, test.rule, test.url, v.Behavior, test.hit)
			}
		}
	}
	g := p.gate(t, Default, lists{}, nil)
	v := g.Judge(fetchTool(), call(t, fetchTool(), p.scope(), "url", "https://x.org/a"))
	if v.Behavior != Ask || v.Suggestions[0].Rules[0].String() != "WebFetch(domain:x.org)" {
		t.Errorf("without a rule: %+v", v)
	}
}

func TestToolsWithEffectsOfOtherKinds(t *testing.T) {
	p := newPlace(t)
	asks := fakeTool("AskUserQuestion", func(tool.Call) ([]tool.Effect, error) { return []tool.Effect{{Action: tool.Ask}}, nil })
	odd := fakeTool("mcp__a__b", func(tool.Call) ([]tool.Effect, error) { return []tool.Effect{{Action: "call"}}, nil })
	for _, test := range []struct {
		mode  Mode
		allow string
		tool  tool.Tool
		want  Behavior
	}{
		{Bypass, "AskUserQuestion", asks, Ask}, // a person is always asked
		{DontAsk, "AskUserQuestion", asks, Deny},
		{Default, "Bash", odd, Ask},
		{Default, "mcp__a", odd, Allow},
		{Default, "mcp__a__*", odd, Allow},
		{Bypass, "Bash", odd, Allow},
		{Plan, "mcp__a", odd, Deny},
		{DontAsk, "Bash", odd, Deny},
		{Plan, "Bash", plain("TodoWrite"), Allow},
	} {
		v := p.gate(t, test.mode, lists{allow: []string{test.allow}}, nil).Judge(test.tool, tool.Call{Name: test.tool.Name, Scope: p.scope()})
		if v.Behavior != test.want {
			t.Errorf("%s, allow %s: Judge(%s) = %s (%s), want %s", test.mode, test.allow, test.tool.Name, v.Behavior, v.Reason, test.want)
		}
	}
}

func TestHidden(t *testing.T) {
	p := newPlace(t)
	g := p.gate(t, Default, lists{deny: []string{"Bash", "Edit", "Read(x)", "mcp__a"}}, nil)
	for name, want := range map[string]bool{"Bash": true, "Monitor": true, "Edit": true, "Write": true, "Read": false, "mcp__a__b": true, "mcp__b__b": false, "WebFetch": false} {
		if got := g.Hidden(plain(name)); got != want {
			t.Errorf("Hidden(%s) = %v, want %v", name, got, want)
		}
	}
}

// A hook asks whether its rule is about a call. What cannot be told is an error, not a no.
func TestAbout(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, test := range []struct {
		rule, command string
		want          bool
		unclear       string
	}{
		{"Bash(git *)", "git push", true, ""},
		{"Bash(git *)", "ls && timeout 5 git push", true, ""},
		{"Bash(git *)", "make", false, ""},
		{"Bash(git *)", "make $X", false, ""},
		{"Bash(git *)", "rm -rf /", false, ""},
		{"Bash(git *)", "$X push", false, "cannot be told whether"},
		{"Bash(git *)", "eval \"$X\"", false, "not known before it runs"},
		{"Bash(git *)", "if", false, "cannot be parsed"},
		{"Bash(git push *)", "git $X", false, "cannot be told"},
		{"Edit(src/**)", "echo x > src/a", true, ""},
		{"Edit(src/**)", "echo x > $X", false, "cannot be told"},
		{"Edit(src/**)", "echo x", false, ""},
		{"Write(src/**)", "echo x", false, "write Edit(src/**)"},
		{"WebFetch(domain:x.org)", "$X", false, ""}, // about another tool
	} {
		r := p.rules(t, []string{test.rule})[0]
		got, err := About(r, bashTool(), call(t, bashTool(), p.scope(), "command", test.command))
		if got != test.want || (err == nil) != (test.unclear == "") || err != nil && !strings.Contains(err.Error(), test.unclear) {
			t.Errorf("About(%s, %q) = %v, %v, want %v, %q", test.rule, test.command, got, err, test.want, test.unclear)
		}
	}
}

// People write the name of a server as it is in their settings, models know it in letters
// that all take. A rule means the tools in either spelling.
func TestRulesNameServersInTheirOwnSpelling(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	long := strings.Repeat("long ", 12) + "name"
	for _, test := range []struct {
		rule, tool  string
		hit, allows bool
	}{
		{"mcp__my server__x", "mcp__my_server__x", true, true},
		{"mcp__my server__x", "mcp__my_server__y", false, false},
		{"mcp__my server", "mcp__my_server__x", true, true},
		{"mcp__my server", "mcp__my_servers__x", false, false},
		{"mcp__my server__*", "mcp__my_server__x", true, true},
		{"mcp__my server__*", "mcp__my_server_2__x", false, false},
		{"mcp__my.server__do it", "mcp__my_server__do_it", true, true},
		{"mcp__my ser*", "mcp__my_server__x", true, false}, // no allow rule has a star in the server
		{"mcp__my server__x(a:1)", "mcp__my_server__x", true, false},
		{"mcp__my_server__x", "mcp__my_server__x", true, true},
		{"mcp__a__b", "mcp__a__b", true, true},
		{"mcp__a__b", "mcp__a_b__x", true, false}, // perhaps all of the server a__b
		{"mcp__a__b__x", "mcp__a_b__x", true, false},
		{"mcp__a__*", "mcp__a_b__x", false, false},
		{"mcp__" + long, "mcp__" + tool.ServerName(long) + "__x", true, true},
		{"mcp__" + long + "__x", tool.ServerTool(tool.ServerName(long), "x"), true, true},
	} {
		c := tool.Call{Name: test.tool, Input: json.RawMessage(`{"a":1}`), Scope: p.scope()}
		judged := func(l lists) Behavior {
			mode := Default
			if l.deny != nil {
				mode = Bypass
			}
			return p.gate(t, mode, l, nil).Judge(fakeTool(test.tool, func(tool.Call) ([]tool.Effect, error) { return []tool.Effect{{Action: tool.Use}}, nil }), c).Behavior
		}
		if got := judged(lists{deny: []string{test.rule}}); (got == Deny) != test.hit {
			t.Errorf("deny %s: %s for %s, want a hit: %v", test.rule, got, test.tool, test.hit)
		}
		if got := judged(lists{allow: []string{test.tool}, ask: []string{test.rule}}); (got == Ask) != test.hit {
			t.Errorf("ask %s: %s for %s, want a hit: %v", test.rule, got, test.tool, test.hit)
		}
		if got := judged(lists{allow: []string{test.rule}}); (got == Allow) != test.allows {
			t.Errorf("allow %s: %s for %s, want a hit: %v", test.rule, got, test.tool, test.allows)
		}
	}
	if !p.gate(t, Default, lists{deny: []string{"mcp__my server"}}, nil).Hidden(plain("mcp__my_server__x")) {
		t.Error("a tool of a server that is denied is shown")
	}
	if _, err := ParseRule(Source{}, "my server"); err == nil {
		t.Error("a name with a blank that is no server's was taken")
	}
}
