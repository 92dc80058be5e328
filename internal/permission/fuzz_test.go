package permission

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
	"pgregory.net/rapid"

	"heddle/internal/tool"
)

// FuzzJudge: no command makes the gate panic, and one that holds a denied
// command is never let through, whatever is around it.
func FuzzJudge(f *testing.F) {
	for _, s := range []string{
		"rm x", "ls | rm", "$(rm x)", "timeout 5 rm x", "FOO=1 rm x > y", "bash -c 'rm x'", "for i in {1..3}; do rm $i; done", "cat <<E\n$(rm)\nE",
		"f() { rm x; }; f", "[[ $x -eq 1 ]] && rm", "echo ${x:-$(rm)}", "((x=$(rm)))", "find . -exec rm {} +", "sed -n 1p x", "git -c a=b log", "a=(`rm`)",
		"\"r\"'m' x", "coproc rm", "cd x && rm *", "case x in $(rm)) ;; esac", "select x in a; do rm; done", "xargs -0 sh -c 'rm $0'", "let 'x=1'", "trap rm EXIT", "eval", "{a,b}",
	} {
		f.Add(s)
	}
	p := place{home: "/home/me", root: "/home/me/proj", outside: "/srv", spill: "/spill"}
	gates := []*Gate{
		p.gate(f, Default, lists{allow: []string{"Bash"}, deny: []string{"Bash(rm *)"}}, nil),
		p.gate(f, AcceptEdits, lists{allow: []string{"Bash(*)", "Bash(r*)", "Bash(ls *)"}, deny: []string{"Bash(rm:*)", "Read(.env)"}}, nil),
		p.gate(f, Bypass, lists{deny: []string{"Bash(rm *)"}}, nil),
	}
	f.Fuzz(func(t *testing.T, command string) {
		denied := runs(command, "rm")
		for _, g := range gates {
			if v := p.bash(t, g, command); denied && v.Behavior == Allow {
				t.Errorf("Judge(%q) in mode %s allows rm", command, g.Mode())
			}
		}
	})
}

// FuzzOffLimits: whatever stands around a change of what is off limits, it is refused.
func FuzzOffLimits(f *testing.F) {
	for _, s := range []string{
		"touch /up/x", "ls && touch /up/x | cat", "$(touch /up/x)", "cd /up && touch /up/x", "f() { touch /up/x; }; f", "A=1 touch /up/x > y", "for i in a; do touch /up/x; done", "if\ntouch /up/x", "git -C /up log; touch /up/x",
		"find . -exec touch /up/x ;", "cp -t /up a", "git config -f /up/x a b", "sed -i -e x -- /up/x", "tar -C", "dd of=", "ln -s", "install -d", "git -C", "git --git-dir= x", "wget -O", "perl -pi", "touch {/up/x,y}", "GIT_DIR=/up git x",
	} {
		f.Add(s)
	}
	s := tool.NewScope("/up/.heddle/worktrees/agent-a1", "/spill")
	s.OffLimits = []string{"/up"}
	g := place{home: "/home/me"}.gate(f, Bypass, lists{}, nil)
	f.Fuzz(func(t *testing.T, command string) {
		v := g.Judge(bashTool(), call(t, bashTool(), s, "command", command))
		if runs(command, "touch", "/up/x") && !v.final {
			t.Errorf("Judge(%q) = %s (%s), want it barred", command, v.Behavior, v.Reason)
		}
	})
}

// runs reports whether a simple command that begins with these words stands anywhere in text.
func runs(text string, words ...string) bool {
	file, err := syntax.NewParser().Parse(strings.NewReader(strings.TrimSpace(text)), "")
	if err != nil {
		return false
	}
	for n := range syntax.Preorder(file) {
		c, ok := n.(*syntax.CallExpr)
		if !ok || len(c.Args) < len(words) {
			continue
		}
		if slices.EqualFunc(c.Args[:len(words)], words, func(a *syntax.Word, w string) bool { return a.Lit() == w }) {
			return true
		}
	}
	return false
}

// FuzzParseRule: whatever is accepted prints as something that is accepted and
// means the same.
func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"Bash", "Bash(a *)", "Read(//a/**)", "Read(~/[a-z]?)", "Agent(model:x)", "WebFetch(domain:*.x.org)", "mcp__a__*", "Task(x)", "Bash(x", "Read(!x)"} {
		f.Add(s, "ls")
	}
	p := place{home: "/home/me", root: "/home/me/proj", spill: "/spill"}
	f.Fuzz(func(t *testing.T, text, command string) {
		r, err := ParseRule(Source{Anchor: "/a"}, text)
		if err != nil {
			return
		}
		again, err := ParseRule(Source{Anchor: "/a"}, r.String())
		if err != nil || again.String() != r.String() || again.kind != r.kind {
			t.Fatalf("ParseRule(%q) prints as %q, which is %v, %v", text, r, again, err)
		}
		g := NewGate(Settings{Allow: []Rule{r}, Deny: []Rule{r}, Home: "/home/me"}, nil)
		p.bash(t, g, command)
		p.file(t, g, "Read", command)
		g.Warnings()
	})
}

func FuzzUpdate(f *testing.F) {
	f.Add(`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"x"}],"behavior":"allow","destination":"session"}`)
	f.Add(`{"type":"setMode","mode":"plan"}`)
	f.Fuzz(func(t *testing.T, text string) {
		var u Update
		if json.Unmarshal([]byte(text), &u) != nil {
			return
		}
		data, err := json.Marshal(u)
		if err != nil {
			t.Fatalf("%s was read and cannot be written: %v", text, err)
		}
		var again Update
		if err := json.Unmarshal(data, &again); err != nil {
			t.Fatalf("%s was written as %s: %v", text, data, err)
		}
		_ = NewGate(Settings{Home: "/h"}, nil).Apply([]Update{u}) // may be refused, must not panic
	})
}

var (
	anyProgram = rapid.SampledFrom([]string{"ls", "cat", "rm", "make", "git status", "git push", "npm test", "touch", "sudo rm", "timeout 5 make", "bash -c 'rm x'", "FOO=1 make", "$X", "echo $(rm x)"})
	anyRule    = rapid.SampledFrom([]string{"Bash", "Bash(ls *)", "Bash(rm *)", "Bash(rm x)", "Bash(make *)", "Bash(git *)", "Bash(git push *)", "Bash(*x*)", "Bash(sudo rm x)", "Read(x)", "Edit(x)", "Edit(/**)", "Read(src/**)", "Bash(timeout:5)", "*", "B*"})
	anyMode    = rapid.SampledFrom([]Mode{Default, AcceptEdits, Plan, DontAsk, Bypass})
)

// anyCommand draws a command of a few parts.
func anyCommand(t *rapid.T) string {
	var b strings.Builder
	for i := range rapid.IntRange(1, 4).Draw(t, "parts") {
		if i > 0 {
			b.WriteString(rapid.SampledFrom([]string{" && ", "; ", " | ", " || ", "\n"}).Draw(t, "joint"))
		}
		b.WriteString(anyProgram.Draw(t, "program"))
		b.WriteString(rapid.SampledFrom([]string{"", " x", " src/y", " > x", " $Y", " -rf x"}).Draw(t, "end"))
	}
	return b.String()
}

// More deny or ask rules never make a call pass that did not, and no allow rule
// lifts a deny.
func TestRulesOnlyPullTheirWay(t *testing.T) {
	p := newPlace(t)
	strict := map[Behavior]int{Allow: 0, Ask: 1, Deny: 2}
	rapid.Check(t, func(rt *rapid.T) {
		command, mode := anyCommand(rt), anyMode.Draw(rt, "mode")
		l := lists{rapid.SliceOfN(anyRule, 0, 3).Draw(rt, "allow"), rapid.SliceOfN(anyRule, 0, 2).Draw(rt, "ask"), rapid.SliceOfN(anyRule, 0, 2).Draw(rt, "deny")}
		more := []string{anyRule.Draw(rt, "more")}
		before := p.bash(t, p.gate(t, mode, l, nil), command)
		denied := p.bash(t, p.gate(t, mode, lists{l.allow, l.ask, append(more, l.deny...)}, nil), command)
		if strict[denied.Behavior] < strict[before.Behavior] {
			rt.Errorf("deny %q turned %s of %q into %s (%s)", more, before.Behavior, command, denied.Behavior, denied.Reason)
		}
		asked := p.bash(t, p.gate(t, mode, lists{l.allow, append(more, l.ask...), l.deny}, nil), command)
		if strict[asked.Behavior] < strict[before.Behavior] {
			rt.Errorf("ask %q turned %s of %q into %s (%s)", more, before.Behavior, command, asked.Behavior, asked.Reason)
		}
		allowed := p.bash(t, p.gate(t, mode, lists{append(more, l.allow...), l.ask, l.deny}, nil), command)
		if before.Rule != nil && before.Behavior == Deny && allowed.Behavior != Deny {
			rt.Errorf("allow %q lifted the rule %s for %q", more, before.Rule, command)
		}
	})
}

// Patterns agree with the regular expressions that say the same.
func TestPatternsAgreeWithRegexp(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`[ab *]{0,6}`).Draw(rt, "pattern")
		s := rapid.StringMatching(`[ab ]{0,8}`).Draw(rt, "text")
		want := regexp.MustCompile(`^` + strings.ReplaceAll(text, "*", ".*") + `$`).MatchString(s)
		if got := parsePattern(text).match(s); got != want {
			rt.Errorf("%q.match(%q) = %v, want %v", text, s, got, want)
		}
		segments := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*", "**"}), 1, 5).Draw(rt, "segments")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 6).Draw(rt, "names")
		expr := ""
		for _, s := range segments {
			expr += map[string]string{"a": "/a", "b": "/b", "*": "/[^/]+", "**": "(/[^/]+)*"}[s]
		}
		path := "/" + strings.Join(names, "/")
		if len(names) == 0 {
			path = ""
		}
		want = regexp.MustCompile(`^` + expr + `(/.*)?$`).MatchString(path)
		if got := matchSegments(segments, names); got != want {
			rt.Errorf("matchSegments(%q, %q) = %v, want %v", segments, names, got, want)
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	p := newPlace(b)
	l := lists{
		allow: []string{"Bash(go test *)", "Bash(npm run *)", "Bash(git commit *)", "Edit(src/**)"},
		deny:  []string{"Bash(rm -rf *)", "Bash(git push *)", "Read(.env)", "Read(~/.ssh/**)"},
	}
	g := p.gate(b, Default, l, nil)
	for name, command := range map[string]string{
		"plain":    "go test ./...",
		"compound": "cd src && git status --short | head -20 && go test ./... 2>&1 | tail -n 40",
		"script":   "for f in $(find . -name '*.go'); do if grep -q TODO \"$f\"; then echo \"$f: $(grep -c TODO \"$f\")\"; fi; done | sort -t: -k2 -rn | head",
		"long":     strings.Repeat("echo 'some text' | grep -v foo && ", 250) + "true",
	} {
		c := call(b, bashTool(), p.scope(), "command", command)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.Judge(bashTool(), c)
			}
		})
	}
	read := fileTool("Read", tool.Read)
	c := call(b, read, p.scope(), "file_path", p.root+"/src/deep/x.go")
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g.Judge(read, c)
		}
	})
}
