package roster

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	const servers = " mcp__git__log mcp__git__push mcp__web__get"
	tests := map[string]struct {
		all        string // empty: Read Write Bash and those of servers
		tools      string
		list       bool // there is one, though it is empty
		disallowed string
		spawn      Spawn
		kept       string
		unknown    string
		err        string
	}{
		"all":                      {kept: "Read Write Bash" + servers},
		"empty list":               {list: true},
		"star":                     {tools: "*", kept: "Read Write Bash" + servers},
		"list":                     {tools: "Bash; Read", kept: "Read Bash"},
		"list in another case":     {tools: "bash; READ", kept: "Read Bash"},
		"unknown entry":            {tools: "Read; Raed", kept: "Read", unknown: "Raed"},
		"all entries unknown":      {tools: "Raed; mcp__no", unknown: "Raed; mcp__no", err: "the agent a has only the tools Raed, mcp__no, and there are no such tools"},
		"entries for nobody":       {all: "Read TaskOutput", tools: "TaskOutput; Raed", unknown: "Raed", err: "the agent a has only the tools TaskOutput, Raed, and no agent has these when it runs like this"},
		"server":                   {tools: "mcp__git", kept: "mcp__git__log mcp__git__push"},
		"tools of server":          {tools: "mcp__git__*", kept: "mcp__git__log mcp__git__push"},
		"one tool of server":       {tools: "mcp__git__log", kept: "mcp__git__log"},
		"all servers":              {tools: "mcp__*", kept: "mcp__git__log mcp__git__push mcp__web__get"},
		"beginning is no server":   {tools: "mcp__gi; Read", kept: "Read", unknown: "mcp__gi"},
		"disallowed":               {disallowed: "write; Bash", kept: "Read" + servers},
		"disallowed server":        {disallowed: "mcp__git", kept: "Read Write Bash mcp__web__get"},
		"disallowed absent server": {disallowed: "mcp__no", kept: "Read Write Bash" + servers},
		"own spelling":             {all: "Read mcp__my_server__x mcp__my_server__y", tools: "mcp__my server__x", kept: "mcp__my_server__x"},
		"server in own spelling":   {all: "Read mcp__my_server__x mcp__my_server__y", tools: "mcp__my.server", kept: "mcp__my_server__x mcp__my_server__y"},
		"disallowed own spelling":  {all: "Read mcp__my_server__x mcp__my_server__y", disallowed: "mcp__my server__x", kept: "Read mcp__my_server__y"},
		"disallowed own server":    {all: "Read mcp__my_server__x mcp__other__y", disallowed: "mcp__my server", kept: "Read mcp__other__y"},
		"disallowed own star":      {all: "Read mcp__my_server__x mcp__other__y", disallowed: "mcp__my.server__*", kept: "Read mcp__other__y"},
		"disallowed in two ways":   {all: "Read mcp__a_b__x mcp__a__b", disallowed: "mcp__a__b", kept: "Read"},
		"allowed in one":           {all: "Read mcp__a_b__x mcp__a__b", tools: "mcp__a__b", kept: "mcp__a__b"},
		"disallowed unknown":       {disallowed: "Wirte", kept: "Read Write Bash" + servers, unknown: "Wirte"},
		"in both":                  {tools: "Read; Write", disallowed: "Write", kept: "Read"},
		"all in both":              {tools: "Read", disallowed: "*"},
		"disallowed rule":          {disallowed: "Bash(rm *)", kept: "Read Write" + servers},
		"old names":                {all: "Read Glob Agent TaskStop", tools: "Task(x, y); LS; KillShell", spawn: Spawn{MaxDepth: 1}, kept: "Glob Agent TaskStop"},
		"old name that is there":   {all: "LS Glob", tools: "LS", kept: "LS"},
		"denied old name":          {all: "Read Agent", disallowed: "Task", spawn: Spawn{MaxDepth: 1}, kept: "Read"},
		"denied agent":             {all: "Read Agent", disallowed: "Agent(x)", spawn: Spawn{MaxDepth: 1}, kept: "Read Agent"},
		"for the main agent":       {all: "Read AskUserQuestion EnterPlanMode ExitPlanMode TaskOutput", kept: "Read"},
		"in plan mode":             {all: "ExitPlanMode EnterPlanMode", spawn: Spawn{Plan: true}, kept: "ExitPlanMode"},
		"at the depth":             {all: "Read Agent", spawn: Spawn{Depth: 3, MaxDepth: 3}, kept: "Read"},
		"above the depth":          {all: "Read Agent", spawn: Spawn{Depth: 2, MaxDepth: 3}, kept: "Read Agent"},
		"no depth is set":          {all: "Read Agent", kept: "Read"},
		"nobody waits":             {all: "Read New Agent mcp__x__new Monitor", spawn: Spawn{Async: true, MaxDepth: 1}, kept: "Read Agent mcp__x__new Monitor"},
		"somebody waits":           {all: "Read New", kept: "Read New"},
		"fork":                     {all: "Read AskUserQuestion Agent", tools: "Raed", disallowed: "Read", spawn: Spawn{Fork: true, Async: true}, kept: "Read AskUserQuestion Agent"},
		"no tools at all":          {all: " ", kept: ""},
	}
	for name, tt := range tests {
		all := strings.Fields(tt.all)
		if tt.all == "" {
			all = strings.Fields("Read Write Bash" + servers)
		}
		a := &Agent{Name: "a", Tools: cutAt(tt.tools), HasTools: tt.list || tt.tools != "", Disallowed: cutAt(tt.disallowed)}
		kept, unknown, err := a.Choose(all, tt.spawn)
		if got := strings.Join(kept, " "); got != tt.kept {
			t.Errorf("%s: Choose keeps %q, want %q", name, got, tt.kept)
		}
		if got := strings.Join(unknown, "; "); got != tt.unknown {
			t.Errorf("%s: Choose does not know %q, want %q", name, got, tt.unknown)
		}
		if got := errText(err); got != tt.err {
			t.Errorf("%s: Choose = %q, want %q", name, got, tt.err)
		}
	}
}

func cutAt(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, "; ")
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMaySpawn(t *testing.T) {
	t.Parallel()
	tests := []struct {
		agent Agent
		want  string // of x, y and p:z
	}{
		{Agent{}, "x y p:z"},
		{Agent{HasTools: true}, ""},
		{Agent{HasTools: true, Tools: []string{"Read"}}, ""},
		{Agent{HasTools: true, Tools: []string{"*"}}, "x y p:z"},
		{Agent{HasTools: true, Tools: []string{"Agent"}}, "x y p:z"},
		{Agent{HasTools: true, Tools: []string{"Agent(x, p:*)"}}, "x p:z"},
		{Agent{HasTools: true, Tools: []string{"Task(x)", "Read", "Agent(y)"}}, "x y"},
		{Agent{HasTools: true, Tools: []string{"Agent()"}}, ""},
		{Agent{HasTools: true, Tools: []string{"Agent(x"}}, "x"},
		{Agent{Disallowed: []string{"Agent"}}, ""},
		{Agent{Disallowed: []string{"Task(x)"}}, "y p:z"},
		{Agent{HasTools: true, Tools: []string{"Agent(x, y)"}, Disallowed: []string{"Agent(x)"}}, "y"},
		{Agent{limited: true, only: []string{"y"}}, "y"},
	}
	for _, tt := range tests {
		var may []string
		for _, name := range []string{"x", "y", "p:z"} {
			if tt.agent.MaySpawn(name) {
				may = append(may, name)
			}
		}
		if got := strings.Join(may, " "); got != tt.want {
			t.Errorf("tools %q without %q: may call %q, want %q", tt.agent.Tools, tt.agent.Disallowed, got, tt.want)
		}
	}
}

func TestPieces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, " , ,": nil, "a, b": {"a", "b"}, "A(x, y), B": {"A(x, y)", "B"}, "A(x, y": {"A(x, y"}, "a), b": {"a)", "b"}, "A(B(x, y), z), c": {"A(B(x, y), z)", "c"},
	} {
		if diff := cmp.Diff(want, pieces(text)); diff != "" {
			t.Errorf("pieces(%q) (-want +got):\n%s", text, diff)
		}
	}
}

// What is kept is there, and neither denied to all nor disallowed.
func FuzzChoose(f *testing.F) {
	f.Add("Read, Agent(a, b)", "Bash(rm *)", false, 0, 1)
	f.Add("mcp__git__*, *", "mcp__git, Task(x)", true, 3, 3)
	f.Add("Task(((, LS", "*", true, -1, 0)
	f.Fuzz(func(t *testing.T, tools, disallowed string, async bool, depth, maxDepth int) {
		a := &Agent{Name: "a", Tools: pieces(tools), HasTools: tools != "", Disallowed: pieces(disallowed)}
		all := append(ours(), "mcp__git__log", "mcp__web__get", "New")
		kept, unknown, err := a.Choose(all, Spawn{Async: async, Depth: depth, MaxDepth: maxDepth})
		if err != nil && len(kept) > 0 {
			t.Errorf("Choose = %q with %v", kept, err)
		}
		for _, tool := range kept {
			if !slices.Contains(all, tool) || slices.Contains(a.Disallowed, tool) || slices.Contains(a.Disallowed, "*") {
				t.Errorf("Choose keeps %q of tools %q without %q", tool, tools, disallowed)
			}
			if tool == "AskUserQuestion" || tool == "TaskOutput" || tool == "New" && async || tool == "Agent" && depth >= maxDepth {
				t.Errorf("Choose keeps %q, which no agent has", tool)
			}
		}
		for _, text := range unknown {
			if slices.Contains(all, text) {
				t.Errorf("Choose does not know %q", text)
			}
		}
		a.MaySpawn("x")
	})
}
