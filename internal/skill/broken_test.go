package skill

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"heddle/internal/config"
)

// damages are what goes wrong with a line when it is typed, pasted or merged.
func damages() map[string]func(line string) string {
	return map[string]func(line string) string{
		"colon missing":   func(l string) string { return strings.Replace(l, ":", "", 1) },
		"blank missing":   func(l string) string { return strings.Replace(l, ": ", ":", 1) },
		"quote opened":    func(l string) string { return strings.Replace(l, ": ", `: "`, 1) },
		"bracket opened":  func(l string) string { return strings.Replace(l, ": ", ": [", 1) },
		"brace opened":    func(l string) string { return strings.Replace(l, ": ", ": {", 1) },
		"map":             func(l string) string { return strings.Replace(l, ": ", ":\n  inner: ", 1) },
		"list of lists":   func(l string) string { return strings.Replace(l, ": ", ": [[x]] #", 1) },
		"tab":             func(l string) string { return "\t" + l },
		"indented":        func(l string) string { return "   " + l },
		"dash":            func(l string) string { return "- " + l },
		"anchor":          func(l string) string { return strings.Replace(l, ": ", ": &x ", 1) },
		"alias":           func(l string) string { return strings.Replace(l, ": ", ": *", 1) },
		"tag":             func(l string) string { return strings.Replace(l, ": ", ": !x ", 1) },
		"value missing":   func(l string) string { return l[:strings.Index(l, ":")+1] },
		"doubled":         func(l string) string { return l + "\n" + l },
		"fence":           func(l string) string { return l + "\n---" },
		"conflict":        func(l string) string { return "<<<<<<< HEAD\n" + l + "\n=======\n" + l + "\n>>>>>>> x" },
		"NUL":             func(l string) string { return l + "\x00" },
		"Latin-1":         func(l string) string { return l + "\xe4" },
		"cut":             func(l string) string { return l[:len(l)/2] },
		"escape sequence": func(l string) string { return l + "\x1b[31m" },
	}
}

// One broken file is read, or told of at one of its lines, and never costs another.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	good := []string{
		"name: x", "description: Does it", "allowed-tools: Bash(git *), Read", "disable-model-invocation: true",
		"user-invocable: false", "context: fork", "effort: high", "arguments: a b",
	}
	for _, path := range []string{"skills/x/SKILL.md", "commands/x.md"} {
		variants := 0
		for i, line := range good {
			for name, damage := range damages() {
				bad := append([]string(nil), good...)
				bad[i] = damage(line)
				checkBroken(t, fmt.Sprintf("%s: %s in %q", path, name, line), path, "---\n"+strings.Join(bad, "\n")+"\n---\nBody $0\n")
				variants++
			}
		}
		for cut := range 20 {
			text := "---\n" + strings.Join(good, "\n") + "\n---\nBody $0\n"
			checkBroken(t, fmt.Sprintf("%s: cut in %d of 20", path, cut), path, text[:len(text)*cut/20])
			variants++
		}
		if variants < 100 {
			t.Errorf("%d variants of %s, want at least 100", variants, path)
		}
	}
}

func checkBroken(t *testing.T, name, path, text string) {
	t.Helper()
	c := Find(Source{Layer: config.Project, Name: "test", Trusted: true, Skills: []string{"skills"}, Commands: []string{"commands"}, FS: fstest.MapFS{
		path:                   {Data: []byte(text)},
		"skills/good/SKILL.md": {Data: []byte("good")},
		"commands/fine.md":     {Data: []byte("fine")},
	}})
	for _, other := range []string{"good", "fine"} {
		if _, ok := c.Get(other); !ok {
			t.Errorf("%s: %s is gone", name, other)
		}
	}
	s, ok := c.Get("x")
	if problems := len(c.Problems()); ok == (problems > 0) {
		t.Errorf("%s: found %t with %d problems", name, ok, problems)
	}
	for _, p := range append(c.Problems(), c.Warnings()...) {
		if p.File != path || p.Line < 1 || p.Line > strings.Count(text, "\n")+1 || strings.ContainsAny(p.Text, "\n\x00\x1b") {
			t.Errorf("%s: %q at %v, want a line of the file", name, p.Text, p.Origin)
		}
	}
	if ok {
		if _, err := s.Expand("arg", Vars{}); err != nil {
			t.Errorf("%s: Expand: %v", name, err)
		}
	}
	if strings.Contains(c.Listing(10000), "\x1b") {
		t.Errorf("%s: the list holds a control character", name)
	}
}
