package permission

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"heddle/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a project in a temporary directory, next to things outside of it.
type place struct {
	home, root, outside, spill string
}

func newPlace(t testing.TB) place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{base + "/home", base + "/home/work/proj", base + "/outside", base + "/spill"}
	for _, d := range []string{p.root + "/src/deep", p.root + "/.git/hooks", p.outside, p.spill} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p place) scope() *tool.Scope { return tool.NewScope(p.root, p.spill) }

func (p place) write(t testing.TB, name string) {
	t.Helper()
	if err := os.WriteFile(name, []byte("x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p place) link(t testing.TB, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Fatal(err)
	}
}

// lists are the rules of a test as they stand in settings.
type lists struct{ allow, ask, deny []string }

func (p place) rules(t testing.TB, texts []string) []Rule {
	t.Helper()
	var list []Rule
	for _, text := range texts {
		r, err := ParseRule(Source{Name: "test", Anchor: p.root, Destination: ToSession}, text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func (p place) gate(t testing.TB, mode Mode, l lists, asker Asker) *Gate {
	t.Helper()
	return NewGate(Settings{
		Allow: p.rules(t, l.allow), Ask: p.rules(t, l.ask), Deny: p.rules(t, l.deny),
		Mode: mode, Home: p.home, AllowBypass: true,
	}, asker)
}

// fakeTool is a tool whose calls name their effects.
func fakeTool(name string, effects func(tool.Call) ([]tool.Effect, error)) tool.Tool {
	return tool.Tool{Name: name, Effects: effects, Run: func(context.Context, tool.Call) tool.Result { return tool.Text("ran") }}
}

func bashTool() tool.Tool {
	return fakeTool("Bash", func(c tool.Call) ([]tool.Effect, error) {
		in, err := tool.Decode[struct{ Command string }](c)
		return []tool.Effect{{Action: tool.Run, Target: in.Command}}, err
	})
}

func fileTool(name string, a tool.Action) tool.Tool {
	return fakeTool(name, func(c tool.Call) ([]tool.Effect, error) {
		in, err := tool.Decode[struct {
			Path string `json:"file_path"`
		}](c)
		return []tool.Effect{{Action: a, Target: in.Path}}, err
	})
}

func fetchTool() tool.Tool {
	return fakeTool("WebFetch", func(c tool.Call) ([]tool.Effect, error) {
		in, err := tool.Decode[struct{ URL string }](c)
		return []tool.Effect{{Action: tool.Fetch, Target: in.URL}}, err
	})
}

// call makes a call of t by the agent of s with one field of input.
func call(t testing.TB, tl tool.Tool, s *tool.Scope, field, value string) tool.Call {
	t.Helper()
	in, err := json.Marshal(map[string]string{field: value})
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call{ID: "toolu_" + tl.Name, Name: tl.Name, Input: in, Scope: s}
}

// bash judges a command.
func (p place) bash(t testing.TB, g *Gate, command string) Verdict {
	t.Helper()
	return g.Judge(bashTool(), call(t, bashTool(), p.scope(), "command", command))
}

// file judges a call of a file tool.
func (p place) file(t testing.TB, g *Gate, name, path string) Verdict {
	t.Helper()
	action := tool.Read
	if name == "Edit" || name == "Write" || name == "NotebookEdit" {
		action = tool.Write
	}
	tl := fileTool(name, action)
	return g.Judge(tl, call(t, tl, p.scope(), "file_path", path))
}
