package roster

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ours are the tools of the program.
func ours() []string {
	return strings.Fields("Read Write Edit NotebookEdit Glob Grep Bash Monitor TaskOutput TaskStop WebFetch TodoWrite AskUserQuestion" +
		" EnterPlanMode ExitPlanMode Skill ToolSearch CallTool ListMcpResources ReadMcpResource Agent SendMessage EnterWorktree ExitWorktree")
}

func TestBuiltin(t *testing.T) {
	t.Parallel()
	r := Find(Builtin())
	if p := append(r.Problems(), r.Warnings()...); len(p) > 0 {
		t.Errorf("problems and warnings = %v, want none", p)
	}
	want := []string{"Explore", "Plan", "general-purpose", "heddle-guide", "statusline-setup", "worker"}
	if diff := cmp.Diff(want, names(r)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, a := range r.List() {
		if a.Kind != KindBuiltin || a.Prompt == "" || a.Source != "heddle" {
			t.Errorf("%s: kind %q, source %q and a prompt of %d bytes", a.Name, a.Kind, a.Source, len(a.Prompt))
		}
		readOnly := a.Name == "Explore" || a.Name == "Plan"
		if a.NoMemoryFiles != readOnly {
			t.Errorf("%s: NoMemoryFiles = %t, want %t", a.Name, a.NoMemoryFiles, readOnly)
		}
		if got, want := strings.Count(a.Prompt, Docs), 0; a.Name != "heddle-guide" && got != want {
			t.Errorf("%s: the prompt holds %s", a.Name, Docs)
		}
		kept, unknown, err := a.Choose(ours(), Spawn{Depth: 1, MaxDepth: 3})
		if err != nil || len(unknown) > 0 {
			t.Errorf("%s: Choose = %q, %q, %v, want no unknown names", a.Name, kept, unknown, err)
		}
		if readOnly && strings.Contains(strings.Join(kept, " "), "Edit") {
			t.Errorf("%s: Choose = %q, want nothing that edits", a.Name, kept)
		}
	}
	if guide := get(t, r, "heddle-guide"); strings.Count(guide.Prompt, Docs) != 1 {
		t.Errorf("the prompt of heddle-guide does not hold %s once", Docs)
	}
}

func names(r *Roster) []string {
	var out []string
	for _, a := range r.List() {
		out = append(out, a.Name)
	}
	return out
}

func get(t *testing.T, r *Roster, name string) *Agent {
	t.Helper()
	a, ok := r.Get(name)
	if !ok {
		t.Fatalf("Get(%s) = nothing; there are %q, problems %v, warnings %v", name, names(r), r.Problems(), r.Warnings())
	}
	return a
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}
