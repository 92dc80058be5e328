package roster

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// tree writes files, named by their paths with slashes, and returns their folder.
func tree(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// in is a trusted source of files in memory, below the folder agents.
func in(texts map[string]string) Source {
	all := fstest.MapFS{}
	for name, text := range texts {
		all["agents/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	return Source{Layer: config.User, Name: "user", Trusted: true, Folders: []string{"agents"}, FS: all}
}

// md is a definition with a name, a description and more lines.
func md(name string, lines ...string) string {
	return "---\nname: " + name + "\ndescription: Does it\n" + strings.Join(append(lines, ""), "\n") + "---\nDo it.\n"
}

// said are problems without the folder that all files are in.
func said(dir string, problems []*config.Problem) []string {
	var out []string
	for _, p := range problems {
		text := p.Error()
		if dir != "" {
			text = strings.ReplaceAll(text, dir+string(filepath.Separator), "")
		}
		out = append(out, text)
	}
	return out
}

func TestFindReadsAllKeys(t *testing.T) {
	t.Parallel()
	r := Find(in(map[string]string{"a.md": "\ufeff---\r\nname: 3000\r\ndescription: Reviews: all of\r\ntools: Read, Agent(a, b)\r\ndisallowed-tools: [Bash, Write]\r\n" +
		"model: sonnet\neffort: high\npermission_mode: manual\nmaxTurns: 7\nskills: one two\nmcpServers:\n  - github\n  - own:\n      command: x\n" +
		"hooks:\n  Stop: []\nmemory: project\nbackground: yes\nisolation: worktree\ncolor: red\ninitialPrompt: Go\n--- \n\nDo\nit.\n\n"}))
	got := *get(t, r, "3000")
	servers, hooks := string(got.Servers), string(got.Hooks)
	got.Servers, got.Hooks = nil, nil
	want := Agent{
		Name: "3000", Description: "Reviews: all of", Prompt: "Do\nit.", Tools: []string{"Read", "Agent(a, b)"}, HasTools: true,
		Disallowed: []string{"Bash", "Write"}, Model: "sonnet", Effort: "high", PermissionMode: "default", MaxTurns: 7,
		Skills: []string{"one", "two"}, Memory: "project", Background: true, Isolation: "worktree", Color: "red", InitialPrompt: "Go",
		Kind: KindClaude, Path: "agents/a.md", Source: "user", Layer: config.User,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Agent{})); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	if got, want := strings.Join(strings.Fields(servers), ""), `["github",{"own":{"command":"x"}}]`; got != want {
		t.Errorf("Servers = %s, want %s", got, want)
	}
	if got, want := strings.TrimSpace(hooks), `"Stop":[]}`; !strings.HasSuffix(got, want) {
		t.Errorf("Hooks = %s, want %s at the end", got, want)
	}
	if p := r.Problems(); len(p) > 0 {
		t.Errorf("problems = %v, want none", p)
	}
}

func TestServersStandInTheirLines(t *testing.T) {
	t.Parallel()
	a := get(t, Find(in(map[string]string{"a.md": md("a", "mcpServers:", "  own:", "    command: 7")})), "a")
	tree, err := config.Text(a.Layer, a.Path, a.Servers)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := tree.At("0", "own", "command").Here().Line, 6; got != want {
		t.Errorf("the command stands in line %d, want %d", got, want)
	}
}

func TestFindTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text     string
		problem  string // then there is no agent
		warnings []string
	}{
		"documentation":      {text: "# Agents\n\nWrite them so."},
		"empty":              {text: ""},
		"no name":            {text: "---\ndescription: d\n---\n", warnings: []string{"1:1: name: is missing, so the file was taken for documentation: add a name to make it an agent"}},
		"no description":     {text: "---\nname: a\n---\n", problem: "1:1: description: is missing: say when the agent is to be called"},
		"blank description":  {text: "---\nname: a\ndescription: \"\\u200b \"\n---\n", problem: "3:1: description: is missing: say when the agent is to be called"},
		"blank in name":      {text: md("Code Reviewer"), problem: `2:1: name: "Code Reviewer" is no name of an agent: use letters, digits and hyphens, as in code-reviewer`},
		"colon in name":      {text: md("a:b"), problem: `2:1: name: "a:b" is no name of an agent: use letters, digits and hyphens, as in a-b`},
		"dash first":         {text: md(`"-a"`), problem: `2:1: name: "-a" is no name of an agent: use letters, digits and hyphens, as in a`},
		"path as name":       {text: md("../a"), problem: `2:1: name: "../a" is no name of an agent: use letters, digits and hyphens, as in a`},
		"reserved":           {text: md("Fork"), problem: `2:1: name: "Fork" is the name of the agent that continues a conversation: choose another`},
		"long name":          {text: md(strings.Repeat("a", 65)), problem: `2:1: name: "` + strings.Repeat("a", 40) + `…" is longer than 64 characters: shorten it`},
		"map as name":        {text: "---\nname: {a: b}\n---\n", problem: "2:1: name: expected a text, found a map"},
		"mode":               {text: md("a", "permissionMode: yolo"), problem: `4:1: permissionMode: expected default, manual, acceptEdits, auto, dontAsk, bypassPermissions or plan, found "yolo"`},
		"isolation":          {text: md("a", "isolation: docker"), problem: `4:1: isolation: expected worktree, found "docker"`},
		"memory":             {text: md("a", "memory: all"), problem: `4:1: memory: expected user, project or local, found "all"`},
		"no turns":           {text: md("a", "max-turns: 0"), problem: "4:1: max-turns: expected at least 1, found 0: leave it out for no limit"},
		"turns in words":     {text: md("a", "maxTurns: many"), problem: `4:1: maxTurns: expected a whole number, found "many"`},
		"background":         {text: md("a", "background: perhaps"), problem: `4:1: background: expected true or false, found "perhaps"`},
		"tools as map":       {text: md("a", "tools:", "  Read: true"), problem: "4:1: tools: expected a list, found a map"},
		"hooks as list":      {text: md("a", "hooks: [x]"), problem: "4:1: hooks: expected a map of events"},
		"servers of numbers": {text: md("a", "mcpServers: [1]"), problem: "4:1: mcpServers: expected a list of names of servers, and of maps with configurations by name"},
		"server of text":     {text: md("a", "mcpServers:", "  - x: y"), problem: "4:1: mcpServers: expected a list of names of servers, and of maps with configurations by name"},
		"not closed":         {text: "---\nname: a\n", problem: "1:1: the front matter that begins here has no end: add a line --- after it"},
		"unknown keys": {
			text: md("a", "toolz: Read", "permision_mode: plan", "license: MIT"),
			warnings: []string{
				`4:1: toolz: agents have no "toolz" (did you mean tools?), "permision_mode" (did you mean permissionMode?), "license": what stands there is ignored`,
			},
		},
		"forged key":    {text: md("a", `"x\ny: forged": 1`), warnings: []string{`4:1: x y: forged: agents have no "x\ny: forged": what stands there is ignored`}},
		"effort":        {text: md("a", "effort: huge"), warnings: []string{`4:1: effort: "huge" is ignored: expected one of low, medium, high, xhigh, max`}},
		"color":         {text: md("a", "color: mauve"), warnings: []string{`4:1: color: "mauve" is ignored: expected one of red, blue, green, yellow, purple, orange, pink, cyan`}},
		"no tools":      {text: md("a", "tools:"), warnings: []string{"4:1: tools: has no value, so the agent has no tools: write [] to say so, or remove the line to give it all"}},
		"rule":          {text: md("a", "tools: Bash(git *), Agent(x)"), warnings: []string{`4:1: tools: "Bash(git *)" was read as Bash: what stands in parentheses belongs into permission rules`}},
		"denied rule":   {text: md("a", "disallowedTools: Bash(rm *)"), warnings: []string{`4:1: disallowedTools: "Bash(rm *)" was read as Bash: what stands in parentheses belongs into permission rules`}},
		"Gemini":        {text: md("a", "tools: [read_file, glob, mcp_git_*, run_shell_command]"), warnings: []string{"4:1: tools: holds names of Gemini CLI, and was read as Read, Glob, mcp__git__*, Bash: write these"}},
		"unknown model": {text: md("a", "model: nobody/knows")},
	}
	for name, tt := range tests {
		r := Find(in(map[string]string{"a.md": tt.text, "good.md": md("good")}))
		get(t, r, "good")
		var problems []string
		if tt.problem != "" {
			problems = []string{"agents/a.md:" + tt.problem}
		}
		var warnings []string
		for _, w := range tt.warnings {
			warnings = append(warnings, "agents/a.md:"+w)
		}
		if diff := cmp.Diff(problems, said("", r.Problems())); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(warnings, said("", r.Warnings())); diff != "" {
			t.Errorf("%s: warnings (-want +got):\n%s", name, diff)
		}
	}
}

// What comes with a clone or a plugin can neither run nor permit.
func TestTrust(t *testing.T) {
	t.Parallel()
	text := func(mode string) string {
		return md("a", "hooks: {Stop: []}", "mcpServers: [github, {own: {command: x}}]", "permissionMode: "+mode)
	}
	tests := []struct {
		mode, plugin            string
		trusted                 bool
		wantMode, wantServers   string
		wantHooks, wantWarnings int
	}{
		{mode: "bypassPermissions", trusted: true, wantMode: "bypassPermissions", wantServers: `["github",{"own":{"command":"x"}}]`, wantHooks: 1},
		{mode: "bypassPermissions", wantServers: `["github"]`, wantWarnings: 3},
		{mode: "acceptEdits", wantServers: `["github"]`, wantWarnings: 3},
		{mode: "auto", wantServers: `["github"]`, wantWarnings: 3},
		{mode: "plan", wantMode: "plan", wantServers: `["github"]`, wantWarnings: 2},
		{mode: "plan", plugin: "p", trusted: true, wantWarnings: 3},
	}
	for _, tt := range tests {
		s := in(map[string]string{"a.md": text(tt.mode)})
		s.Trusted, s.Plugin = tt.trusted, tt.plugin
		r := Find(s)
		a := get(t, r, strings.TrimPrefix(tt.plugin+":a", ":"))
		if a.PermissionMode != tt.wantMode || strings.Join(strings.Fields(string(a.Servers)), "") != tt.wantServers || (a.Hooks != nil) != (tt.wantHooks > 0) {
			t.Errorf("%+v: mode %q, servers %s, hooks %s", tt, a.PermissionMode, a.Servers, a.Hooks)
		}
		if got := r.Warnings(); len(got) != tt.wantWarnings {
			t.Errorf("%+v: warnings = %v, want %d", tt, got, tt.wantWarnings)
		}
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{
		"user/explore.md":        md("Explore"),
		"user/x.md":              md("x"),
		"claude/agents/x.md":     md("x"),
		"claude/agents/sub/x.md": md("x"),
		"heddle/agents/y.md":     md("x"),
		"single/x.md":            md("x"),
	})
	user := Source{Layer: config.User, Name: "user", Folders: []string{filepath.Join(dir, "user")}}
	project := Source{
		Layer: config.Project, Name: "project", Folders: []string{filepath.Join(dir, "claude/agents"), filepath.Join(dir, "heddle/agents")},
		Files: []string{filepath.Join(dir, "single/x.md")},
	}
	r := Find(Builtin(), user, project)
	if got, want := get(t, r, "x").Path, filepath.Join(dir, "single/x.md"); got != want {
		t.Errorf("x is %s, want %s", got, want)
	}
	if got := get(t, r, "Explore"); got.Kind != KindClaude || got.NoMemoryFiles {
		t.Errorf("Explore is %s, want the user's", got.Path)
	}
	var shadowed []string
	for _, s := range r.Shadowed() {
		shadowed = append(shadowed, s.Name+" "+strings.TrimPrefix(s.Path, dir+"/"))
	}
	want := []string{"Explore builtin/Explore.md", "x heddle/agents/y.md", "x claude/agents/sub/x.md", "x claude/agents/x.md", "x user/x.md"}
	if diff := cmp.Diff(want, shadowed); diff != "" {
		t.Errorf("shadowed (-want +got):\n%s", diff)
	}
}

func TestSuggest(t *testing.T) {
	t.Parallel()
	plugin := in(map[string]string{"reviewer.md": md("reviewer")})
	plugin.Plugin = "p"
	r := Find(Builtin(), plugin)
	for name, want := range map[string]string{
		"explore": "Explore", "general_purpose": "general-purpose", "reviewer": "p:reviewer", "something": "", "": "", strings.Repeat("x", 1000): "",
	} {
		if got := r.Suggest(name); got != want {
			t.Errorf("Suggest(%.20s) = %q, want %q", name, got, want)
		}
	}
}

func TestLinksAndPipes(t *testing.T) {
	t.Parallel()
	dir := tree(t, map[string]string{"agents/good.md": md("good"), "key": "secret", "elsewhere/linked.md": md("linked")})
	agents := filepath.Join(dir, "agents")
	for name, target := range map[string]string{
		"key.md": "../key", "linked.md": "../elsewhere/linked.md", "gone.md": "../nothing", "round": ".", "again.md": "good.md",
	} {
		if err := os.Symlink(target, filepath.Join(agents, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(agents, "pipe.md"), 0o600); err != nil {
		t.Skipf("no pipes here: %v", err)
	}
	r := Find(Source{Name: "project", Folders: []string{agents}})
	if diff := cmp.Diff([]string{"good", "linked"}, names(r)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	want := []string{
		"agents/gone.md: cannot follow the link: no such file or directory",
		"agents/key.md: it leads to key, which is not a Markdown file: name it *.md",
		"agents/pipe.md: cannot read it: expected a regular file",
	}
	got := said(dir, r.Problems())
	if diff := cmp.Diff(want, sorted(got)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if w := r.Warnings(); len(w) != 1 || !strings.Contains(w[0].Text, "read already") {
		t.Errorf("warnings = %v, want one about the link to the folder itself", w)
	}
}

func TestWalkHasLimits(t *testing.T) {
	t.Parallel()
	texts := map[string]string{strings.Repeat("d/", maxDepth) + "deep.md": md("deep"), strings.Repeat("d/", maxDepth+1) + "deeper.md": md("deeper")}
	r := Find(in(texts))
	if diff := cmp.Diff([]string{"deep"}, names(r)); diff != "" || len(r.Problems()) != 1 {
		t.Errorf("problems %v, names (-want +got):\n%s", r.Problems(), diff)
	}
	many := fstest.MapFS{}
	for i := range maxFiles + 1 {
		many["agents/"+strings.Repeat("x", i%50)+string(rune('a'+i%26))+strings.Repeat("y", i/50)+".txt"] = &fstest.MapFile{}
	}
	r = Find(Source{Folders: []string{"agents"}, FS: many})
	if p := r.Problems(); len(p) != 1 || !strings.Contains(p[0].Text, "more than 2000 files") {
		t.Errorf("problems = %v, want that there are too many files", p)
	}
}
