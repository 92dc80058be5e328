package roster

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"heddle/internal/config"
)

// damages are what goes wrong with a line when it is typed, pasted or merged.
func damages() map[string]func(line string) string {
	behind := func(colon string) func(string) string {
		return func(l string) string { return strings.Replace(l, ": ", colon, 1) }
	}
	return map[string]func(line string) string{
		"no colon": behind(" "), "no blank": behind(":"), "quote": behind(`: "`), "bracket": behind(": ["), "brace": behind(": {"),
		"map": behind(":\n  inner: "), "lists in lists": behind(": [[x]] #"), "anchor": behind(": &x "), "alias": behind(": *"),
		"tag": behind(": !x "), "no value": behind(":\n#"), "null": behind(": ~ #"), "number": behind(": -1 #"), "list": behind(": [1, ~] #"),
		"tab":      func(l string) string { return "\t" + l },
		"indented": func(l string) string { return "   " + l },
		"dash":     func(l string) string { return "- " + l },
		"doubled":  func(l string) string { return l + "\n" + l },
		"fence":    func(l string) string { return l + "\n---" },
		"conflict": func(l string) string { return "<<<<<<< HEAD\n" + l + "\n=======\n" + l + "\n>>>>>>> x" },
		"NUL":      func(l string) string { return l + "\x00" },
		"Latin-1":  func(l string) string { return l + "\xe4" },
		"half":     func(l string) string { return l[:len(l)/2] },
		"escape":   func(l string) string { return l + "\x1b[31m" },
	}
}

// One broken file is read, or told of at one of its lines, and never costs another.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	good := map[string][]string{
		"x/agents": {
			"name: x", "description: Does it", "tools: Read, Agent(a, b)", "disallowedTools: Bash", "model: sonnet", "permissionMode: plan", "maxTurns: 3",
			"skills: a b", "mcpServers: [a, {b: {command: c}}]", "hooks: {Stop: []}", "memory: user", "background: true", "isolation: worktree", "color: red",
		},
		".opencode/agents": {
			"description: Does it", "mode: subagent", "tools: {write: false, \"*\": false}", "permission: {bash: {\"*\": deny}, task: allow}", "prompt: \"{file:x.txt}\"",
			"maxSteps: 3", "hidden: false", "disable: false",
		},
	}
	for folder, lines := range good {
		variants := 0
		for i, line := range lines {
			for name, damage := range damages() {
				bad := append([]string(nil), lines...)
				bad[i] = damage(line)
				checkBroken(t, fmt.Sprintf("%s: %s in %q", folder, name, line), folder, "---\n"+strings.Join(bad, "\n")+"\n---\nDo it.\n")
				variants++
			}
		}
		text := "---\n" + strings.Join(lines, "\n") + "\n---\nDo it.\n"
		for cut := 0; cut < len(text); cut += 3 {
			checkBroken(t, fmt.Sprintf("%s: cut after %d bytes", folder, cut), folder, text[:cut])
			variants++
		}
		if variants < 100 {
			t.Errorf("%d variants in %s, want at least 100", variants, folder)
		}
	}
}

func checkBroken(t *testing.T, name, folder, text string) {
	t.Helper()
	path := folder + "/x.md"
	r := Find(Source{Layer: config.Project, Name: "test", Trusted: true, Folders: []string{folder}, FS: fstest.MapFS{
		path:                 {Data: []byte(text)},
		folder + "/good.md":  {Data: []byte(md("good"))},
		folder + "/other.md": {Data: []byte(md("other"))},
	}})
	for _, other := range []string{"good", "other"} {
		if _, ok := r.Get(other); !ok {
			t.Errorf("%s: %s is gone", name, other)
		}
	}
	defined := len(r.List()) - 2
	if problems := len(r.Problems()); defined > 0 && problems > 0 || problems > 1 {
		t.Errorf("%s: there are %d agents in it, and %d problems", name, defined, problems)
	}
	for _, p := range append(r.Problems(), r.Warnings()...) {
		if p.File != path || p.Line < 1 || p.Line > strings.Count(text, "\n")+1 || strings.ContainsAny(p.Text, "\n\x00\x1b") {
			t.Errorf("%s: %q at %v, want a line of the file", name, p.Text, p.Origin)
		}
	}
	checkUse(t, name, r)
}

// checkUse uses all that was found.
func checkUse(t *testing.T, name string, r *Roster) {
	t.Helper()
	for _, a := range r.List() {
		if badName(a.Name[strings.LastIndexByte(a.Name, ':')+1:]) != "" || a.MaxTurns < 0 {
			t.Errorf("%s: found the agent %+v", name, a)
		}
		for what, text := range map[string][]byte{"servers": a.Servers, "hooks": a.Hooks} {
			if _, err := config.Text(a.Layer, a.Path, text); text != nil && err != nil {
				t.Errorf("%s: %s = %s, which cannot be read: %v", name, what, text, err)
			}
		}
		if _, _, err := a.Choose(ours(), Spawn{MaxDepth: 1}); err != nil && strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: Choose = %q, want one line", name, err)
		}
	}
	list := r.Listing(100000)
	if strings.Count(list, "\n") > len(r.List()) || strings.ContainsAny(list, "\x00\x1b<") {
		t.Errorf("%s: the list is forged: %q", name, list)
	}
}

// Whatever a file or an object holds, it is read or told of, and costs only itself.
func FuzzFind(f *testing.F) {
	f.Add(md("a", "tools: [read_file]", "hooks: {Stop: []}"), false, false)
	f.Add("---\nname: 1\ndescription: a: b\nmcpServers: {a: {b: c}}\n---", true, false)
	f.Add("---\ndescription: d\npermission:\n  bash: {\"*\": deny, x: allow}\ntools: {\"*\": false}\n---\nx", true, true)
	f.Add(`{"a": {"description": "d", "prompt": "p", "tools": "A(b, c)", "mcpServers": "x, y"}, "b": 1}`, true, true)
	f.Fuzz(func(t *testing.T, text string, trusted, foreign bool) {
		folder := "agents"
		if foreign {
			folder = ".opencode/agents"
		}
		s := Source{Name: "test", Trusted: trusted, Folders: []string{folder}, FS: fstest.MapFS{
			folder + "/x.md":    {Data: []byte(text)},
			folder + "/good.md": {Data: []byte(md("good"))},
		}}
		s.JSON, _ = config.Text(config.Flags, "--agents", []byte(text))
		r := Find(s)
		if _, ok := r.Get("good"); !ok {
			t.Error("another file is gone")
		}
		checkUse(t, "fuzz", r)
		for _, a := range r.List() {
			var names []string
			if !trusted && (a.Hooks != nil || a.Servers != nil && json.Unmarshal(a.Servers, &names) != nil) {
				t.Errorf("hooks %s and servers %s of a source that is not trusted", a.Hooks, a.Servers)
			}
		}
	})
}
