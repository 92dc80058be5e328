package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// write makes files, by name; a name that ends in / is a folder.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// folder returns a new folder, without symbolic links in its path.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// many looks for plugins in the folders of dir.
func many(dir string) Options {
	return Options{Folders: []Folder{{Dir: dir, Layer: config.User, Source: "user", Many: true}}}
}

// show is a plugin in short, with paths inside it.
func show(p *Plugin) map[string][]string {
	out := map[string][]string{}
	paths := func(key string, list []string) {
		for _, path := range list {
			rel, _ := filepath.Rel(p.Dir, path)
			out[key] = append(out[key], rel)
		}
	}
	trees := func(key string, list []*config.Layers) {
		for _, tree := range list {
			out[key] = append(out[key], strings.Join(tree.Keys(), " "))
		}
	}
	paths("skills", p.Skills)
	paths("commands", p.Commands)
	paths("agents", p.Agents)
	trees("hooks", p.Hooks)
	trees("servers", p.Servers)
	return out
}

// texts are messages with paths relative to dir.
func texts(dir string, problems []*config.Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, strings.ReplaceAll(p.Error(), dir+"/", ""))
	}
	return out
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		files map[string]string
		want  map[string][]string
	}{
		"all in the usual places": {
			files: map[string]string{
				"p/.claude-plugin/plugin.json": `{"name": "p", "version": "1.2.0", "author": {"name": "A", "url": "https://example.com"}, "keywords": ["x"]}`,
				"p/skills/one/SKILL.md":        "", "p/commands/go.md": "", "p/agents/a.md": "",
				"p/hooks/hooks.json": `{"description": "d", "hooks": {"Stop": [], "PreToolUse": []}}`,
				"p/.mcp.json":        `{"mcpServers": {"files": {"command": "x"}}}`,
			},
			want: map[string][]string{"skills": {"skills"}, "commands": {"commands"}, "agents": {"agents"}, "hooks": {"Stop PreToolUse"}, "servers": {"files"}},
		},
		"no manifest": {
			files: map[string]string{"p/commands/go.md": ""},
			want:  map[string][]string{"commands": {"commands"}},
		},
		"one skill": {
			files: map[string]string{"p/SKILL.md": ""},
			want:  map[string][]string{"skills": {"."}},
		},
		"one skill, named": {
			files: map[string]string{"p/SKILL.md": "", "p/.claude-plugin/plugin.json": `{"name": "p", "skills": "./"}`},
			want:  map[string][]string{"skills": {"."}},
		},
		"nothing but a manifest": {
			files: map[string]string{"p/.heddle-plugin/plugin.json": `{"name": "p"}`},
			want:  map[string][]string{},
		},
		"skills are added, commands and agents replaced": {
			files: map[string]string{
				"p/.claude-plugin/plugin.json": `{"name": "p", "skills": ["./more/", "./skills"], "commands": ["./cmd/a.md", "./cmd"], "agents": "./who"}`,
				"p/skills/":                    "", "p/more/": "", "p/commands/": "", "p/cmd/a.md": "", "p/agents/": "", "p/who/": "",
			},
			want: map[string][]string{"skills": {"skills", "more"}, "commands": {"cmd/a.md", "cmd"}, "agents": {"who"}},
		},
		"servers as a bare map": {
			files: map[string]string{"p/.mcp.json": `{"a": {"command": "x"}, "b": {"url": "https://example.com"}}`},
			want:  map[string][]string{"servers": {"a b"}},
		},
		"declared inline and in files": {
			files: map[string]string{
				"p/.claude-plugin/plugin.json": `{"name": "p",
					"hooks": ["./hooks/hooks.json", "./more.json", {"Stop": []}, {"hooks": {"Notification": []}}],
					"mcpServers": [{"in": {"command": "x"}}, "./servers.json"]}`,
				"p/hooks/hooks.json": `{"hooks": {"PreToolUse": []}}`,
				"p/more.json":        `{"SessionStart": []}`,
				"p/.mcp.json":        `{"mcpServers": {"usual": {"command": "x"}}}`,
				"p/servers.json":     `{"mcpServers": {"file": {"command": "x"}}}`,
			},
			want: map[string][]string{"hooks": {"PreToolUse", "SessionStart", "Stop", "Notification"}, "servers": {"usual", "in", "file"}},
		},
		"declarations of nothing": {
			files: map[string]string{"p/.mcp.json": "", "p/hooks/hooks.json": `{"hooks": {}}`},
			want:  map[string][]string{},
		},
		"heddle's manifest before others'": {
			files: map[string]string{
				"p/.heddle-plugin/plugin.json": `{"name": "p", "commands": "./ours"}`, "p/.claude-plugin/plugin.json": `{"name": "p", "commands": "./theirs"}`,
				"p/ours/": "", "p/theirs/": "",
			},
			want: map[string][]string{"commands": {"ours"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			write(t, dir, test.files)
			found := Find(many(dir))
			if len(found.Problems)+len(found.Warnings) > 0 {
				t.Errorf("problems: %q, warnings: %q", texts(dir, found.Problems), texts(dir, found.Warnings))
			}
			if len(found.Plugins) != 1 {
				t.Fatalf("%d plugins, want 1", len(found.Plugins))
			}
			p := found.Plugins[0]
			if p.Name != "p" || p.Dir != filepath.Join(dir, "p") || !p.Enabled || p.Layer != config.User || p.Source != "user" {
				t.Errorf("the plugin is %+v", p)
			}
			if diff := cmp.Diff(test.want, show(p)); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

// Whatever is wrong with a part, the rest of the plugin is there.
func TestBadPartsCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	const named = ".claude-plugin/plugin.json"
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"hooks.json":          {map[string]string{"hooks/hooks.json": "{\n  \"hooks\": {,\n}"}, "p/hooks/hooks.json:2:13: "},
		"hooks.json no hooks": {map[string]string{"hooks/hooks.json": `{"description": "d"}`}, `p/hooks/hooks.json:1:1: expected {"hooks": {…}}, found none of it`},
		"hooks.json list":     {map[string]string{"hooks/hooks.json": `[]`}, `p/hooks/hooks.json:1:1: expected {"hooks": {…}}, found a list`},
		"hooks of lists":      {map[string]string{"hooks/hooks.json": `{"hooks": []}`}, `p/hooks/hooks.json:1:11: hooks: expected an object, found a list`},
		"misspelled":          {map[string]string{".mcp.json": `{"mcpservers": {"a": {"command": "x"}}}`}, `p/.mcp.json:1:16: "mcpservers": unknown; did you mean "mcpServers"?`},
		"one server, bare":    {map[string]string{".mcp.json": `{"command": "x", "args": []}`}, `p/.mcp.json:1:1: expected {"mcpServers": {…}}, found none of it`},
		"a folder":            {map[string]string{".mcp.json/": ""}, `p/.mcp.json: expected a file, found a directory`},
		"a file":              {map[string]string{"agents": ""}, `p/agents: expected a folder, found a file`},
		"missing":             {map[string]string{named: "{\"name\": \"p\",\n \"skills\": [\"./none\"]}"}, `plugin.json:2:13: skills: there is no "./none" in the plugin`},
		"missing file":        {map[string]string{named: `{"name": "p", "hooks": "./none.json"}`}, `plugin.json:1:24: hooks: there is no "./none.json" in the plugin`},
		"skills in a file":    {map[string]string{named: `{"name": "p", "skills": "./x.md"}`, "x.md": ""}, `skills: expected a folder, found the file "./x.md"`},
		"up":                  {map[string]string{named: `{"name": "p", "agents": "./../x"}`}, `agents: cannot use "./../x": it leads out of the plugin's folder`},
		"up later":            {map[string]string{named: `{"name": "p", "agents": "./skills/../../x"}`}, `it leads out`},
		"absolute":            {map[string]string{named: `{"name": "p", "agents": "/etc"}`}, `agents: a path must start with ./`},
		"twice absolute":      {map[string]string{named: `{"name": "p", "mcpServers": ".//etc/passwd"}`}, `it leads out`},
		"no ./":               {map[string]string{named: `{"name": "p", "agents": "agents"}`}, `agents: a path must start with ./`},
		"empty path":          {map[string]string{named: `{"name": "p", "agents": ""}`}, `agents: a path must start with ./`},
		"zero byte":           {map[string]string{named: `{"name": "p", "agents": "./a\u0000b"}`}, `agents: cannot use "./a\x00b": `},
		"name set twice":      {map[string]string{named: "{\"name\": \"p\",\n \"version\": \"1\", \"version\": \"2\"}"}, `plugin.json:2:18: version is set twice`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			write(t, dir, map[string]string{"p/skills/": "", "p/commands/": ""})
			for name, text := range test.files {
				write(t, dir, map[string]string{"p/" + name: text})
			}
			found := Find(many(dir))
			if len(found.Plugins) != 1 || len(found.Plugins[0].Skills) != 1 || len(found.Plugins[0].Commands) != 1 {
				t.Errorf("the rest is %+v", found.Plugins)
			}
			got := strings.Join(texts(dir, found.Problems), "\n")
			if len(found.Problems) != 1 || !strings.Contains(got, test.want) {
				t.Errorf("problems are %s\nwant %s", got, test.want)
			}
		})
	}
}
