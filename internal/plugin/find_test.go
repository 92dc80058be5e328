package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// A plugin whose manifest is wrong is left out, its neighbour is not.
func TestBadManifests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ manifest, want string }{
		"half":                {"{\n  \"name\": \"p\",\n  \"version\"", "p/.claude-plugin/plugin.json:3:"},
		"empty":               {``, `plugin.json: name: is missing; a manifest needs at least {"name": "p"}`},
		"a list":              {`[]`, `:1:1: expected an object, found a list`},
		"no name":             {`{"version": "1"}`, `:1:1: name: is missing`},
		"name is a number":    {"{\n\"name\": 5}", `:2:9: name: expected a string, found a number`},
		"name of nothing":     {`{"name": "--"}`, `:1:10: name: expected 1 to 64 lower-case letters, digits and hyphens, found "--"`},
		"long name":           {`{"name": "` + strings.Repeat("a", 65) + `"}`, `:1:10: name: expected 1 to 64`},
		"version":             {`{"name": "p", "version": 2}`, `:1:26: version: expected a string, found a number`},
		"author":              {`{"name": "p", "author": "me"}`, `:1:25: author: expected an object, found a string`},
		"defaultEnabled":      {`{"name": "p", "defaultEnabled": "no"}`, `:1:33: defaultEnabled: expected true or false, found a string`},
		"paths":               {`{"name": "p", "skills": 1}`, `:1:25: skills: expected a path or a list of paths, found a number`},
		"a path":              {`{"name": "p", "agents": ["./a", {}]}`, `:1:33: agents[1]: expected a path or a list of paths, found an object`},
		"hooks":               {`{"name": "p", "hooks": true}`, `:1:24: hooks: expected a path, an object or a list of them, found true or false`},
		"servers":             {`{"name": "p", "mcpServers": [[]]}`, `:1:30: mcpServers[0]: expected a path, an object or a list of them, found a list`},
		"what is not used":    {`{"name": "p", "lspServers": 1}`, `:1:29: lspServers: expected`},
		"userConfig":          {`{"name": "p", "userConfig": {"a": {"type": 1}}}`, `:1:44: userConfig.a.type: expected a string`},
		"userConfig min, max": {`{"name": "p", "userConfig": {"a": {"type": "number", "min": "1"}}}`, `userConfig.a.min: expected a number`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			write(t, dir, map[string]string{"p/.claude-plugin/plugin.json": test.manifest, "p/skills/": "", "q/skills/": ""})
			found := Find(many(dir))
			if len(found.Plugins) != 1 || found.Plugins[0].Name != "q" {
				t.Errorf("plugins are %v, want q", found.Plugins)
			}
			if got := strings.Join(texts(dir, found.Problems), "\n"); len(found.Problems) != 1 || !strings.Contains(got, test.want) {
				t.Errorf("problems are %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	write(t, dir, map[string]string{
		"a/.claude-plugin/plugin.json": `{"$schema": "x", "name": "a", "comands": "./x", "author": {"mail": "x"}, "metadata": 5, "experimental": []}`,
		"b/.claude-plugin/plugin.json": `{"name": "b", "outputStyles": "./x", "dependencies": [], "experimental": {"themes": "./t"}}`,
		"b/bin/":                       "", "b/.lsp.json": "{}", "b/settings.json": "broken",
		"My_Plugin.v2/skills/": "",
	})
	found := Find(many(dir))
	if len(found.Plugins) != 3 || len(found.Problems) != 0 || found.Plugins[0].Name != "my-plugin-v2" {
		t.Errorf("plugins are %v, problems are %q", found.Plugins, texts(dir, found.Problems))
	}
	want := []string{
		`My_Plugin.v2: the folder's name: "My_Plugin.v2" is not in kebab-case; the plugin is called "my-plugin-v2"`,
		`a/.claude-plugin/plugin.json:1:31: comands: unknown setting; did you mean "commands"?`,
		`a/.claude-plugin/plugin.json:1:60: author.mail: unknown setting; did you mean "email"?`,
		`b/.claude-plugin/plugin.json: the plugin has parts that heddle does not use: .lsp.json, bin, experimental.themes, outputStyles, settings.json`,
	}
	if diff := cmp.Diff(want, texts(dir, found.Warnings)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestDescriptionsAreOneLine(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	write(t, dir, map[string]string{"p/.claude-plugin/plugin.json": `{"name": "p", "version": "1\n2", "description": " a\u001b[2J\r\n\tb\u202ec "}`})
	p := Find(many(dir)).Plugins[0]
	if p.Description != "a[2J bc" || p.Version != "1 2" {
		t.Errorf("description %q, version %q", p.Description, p.Version)
	}
}

func TestSwitches(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		manifest string
		enabled  map[string]bool
		want     bool
	}{
		"nothing said":               {`{"name": "p"}`, nil, true},
		"of others":                  {`{"name": "p"}`, map[string]bool{"q": false, "pp@m": false}, true},
		"off":                        {`{"name": "p"}`, map[string]bool{"p": false}, false},
		"off, of a marketplace":      {`{"name": "p"}`, map[string]bool{"p@m": false}, false},
		"by default":                 {`{"name": "p", "defaultEnabled": false}`, nil, false},
		"on all the same":            {`{"name": "p", "defaultEnabled": false}`, map[string]bool{"p": true}, true},
		"the plain name counts":      {`{"name": "p"}`, map[string]bool{"p": true, "p@m": false}, true},
		"two marketplaces disagree":  {`{"name": "p"}`, map[string]bool{"p@a": true, "p@b": false}, false},
		"as the manifest writes it":  {`{"name": "P"}`, map[string]bool{"P": false}, false},
		"off, and wrong in its type": {`{"name": "p", "version": 5, "x": 1}`, map[string]bool{"p": false}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := folder(t)
			write(t, dir, map[string]string{"p/.claude-plugin/plugin.json": test.manifest, "p/skills/": "", "p/.mcp.json": `{"a": {"command": "x"}}`})
			o := many(dir)
			o.Enabled = test.enabled
			found := Find(o)
			if len(found.Plugins) != 1 || len(found.Problems) != 0 {
				t.Fatalf("plugins are %v, problems are %q", found.Plugins, texts(dir, found.Problems))
			}
			p := found.Plugins[0]
			if p.Enabled != test.want || (len(p.Skills) == 1) != test.want || (len(p.Servers) == 1) != test.want || (p.Vars != nil) != test.want {
				t.Errorf("enabled %t with the skills %v, want %t", p.Enabled, p.Skills, test.want)
			}
		})
	}
}

func TestOfOneNameTheLastCounts(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	write(t, dir, map[string]string{
		"user/p/skills/": "", "user/p/.mcp.json": "broken", "user/q/skills/": "",
		"project/p/commands/": "", "flag/.claude-plugin/plugin.json": `{"name": "p"}`,
	})
	found := Find(Options{Folders: []Folder{
		{Dir: filepath.Join(dir, "user"), Layer: config.User, Source: "user", Many: true},
		{Dir: filepath.Join(dir, "project"), Layer: config.Project, Source: "project", Many: true},
		{Dir: filepath.Join(dir, "flag"), Layer: config.Flags, Source: "--plugin-dir"},
	}})
	var got []string
	for _, p := range found.Plugins {
		got = append(got, p.Name+" "+p.Source)
	}
	if diff := cmp.Diff([]string{"q user", "p --plugin-dir"}, got); diff != "" {
		t.Errorf("plugins (-want +got):\n%s", diff)
	}
	if len(found.Problems) != 0 {
		t.Errorf("problems of what does not count: %q", texts(dir, found.Problems))
	}
	by := filepath.Join(dir, "flag")
	want := []Shadow{{"p", filepath.Join(dir, "user", "p"), by}, {"p", filepath.Join(dir, "project", "p"), by}}
	if diff := cmp.Diff(want, found.Shadowed); diff != "" {
		t.Errorf("shadowed (-want +got):\n%s", diff)
	}
}

// In the home directory, the folders of the project are the user's.
func TestTheSameFolderCountsOnce(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	write(t, dir, map[string]string{"plugins/p/skills/": ""})
	place := Folder{Dir: filepath.Join(dir, "plugins"), Layer: config.User, Source: "user", Many: true}
	same := Folder{Dir: place.Dir, Layer: config.Project, Source: "project", Many: true}
	flag := Folder{Dir: filepath.Join(place.Dir, "p"), Layer: config.Flags, Source: "--plugin-dir"}
	for want, folders := range map[string][]Folder{"user": {place, same}, "--plugin-dir": {place, same, flag}} {
		found := Find(Options{Folders: folders})
		if len(found.Plugins) != 1 || len(found.Shadowed) != 0 || found.Plugins[0].Source != want {
			t.Errorf("plugins are %+v, want one of %s; shadowed: %v", found.Plugins, want, found.Shadowed)
		}
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	write(t, dir, map[string]string{
		"many/a/skills/": "", "many/b/.mcp.json": "{}", "many/docs/x.md": "", "many/.git/": "", "many/README.md": "",
		"one/SKILL.md": "", "one/a/skills/": "", "empty/": "", "file": "",
	})
	const lacks = "is not a plugin: it has none of .heddle-plugin/plugin.json, .claude-plugin/plugin.json, skills, commands, agents, hooks/hooks.json, .mcp.json, SKILL.md"
	for _, test := range []struct {
		dir      string
		many     bool
		plugins  []string
		problems []string
	}{
		{"many", true, []string{"a", "b"}, []string{"many/docs: " + lacks}},
		{"many", false, []string{"a", "b"}, nil},
		{"one", false, []string{"one"}, nil},
		{"one", true, []string{"a"}, nil},
		{"empty", true, nil, nil},
		{"empty", false, nil, []string{"empty: " + lacks}},
		{"none", true, nil, nil},
		{"none", false, nil, []string{"none: there is no such folder"}},
		{"file", false, nil, []string{"file: expected a folder with plugins, found a file; if it is an archive, unpack it"}},
		{"file/x", true, nil, []string{"file/x: cannot read it: not a directory"}},
	} {
		found := Find(Options{Folders: []Folder{{Dir: filepath.Join(dir, test.dir), Many: test.many}}})
		var names []string
		for _, p := range found.Plugins {
			names = append(names, p.Name)
		}
		if diff := cmp.Diff(test.plugins, names); diff != "" {
			t.Errorf("plugins of %s, many %t (-want +got):\n%s", test.dir, test.many, diff)
		}
		if diff := cmp.Diff(test.problems, texts(dir, found.Problems)); diff != "" {
			t.Errorf("problems of %s, many %t (-want +got):\n%s", test.dir, test.many, diff)
		}
	}
}

// link makes symbolic links, by name.
func link(t *testing.T, dir string, links map[string]string) {
	t.Helper()
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	write(t, dir, map[string]string{
		"elsewhere/checkout/skills/": "", "out/x.json": `{"a": {"command": "x"}}`, "out/skills/": "",
		"plugins/p/.claude-plugin/plugin.json": `{"name": "p", "agents": ["./out", "./loop", "./within"], "mcpServers": "./x.json"}`,
		"plugins/p/commands/":                  "", "plugins/p/real/": "", "plugins/p/hooks/": "",
	})
	link(t, filepath.Join(dir, "plugins"), map[string]string{
		"linked": "../elsewhere/checkout", "loop": "loop", "gone": "nowhere", "self": ".",
		"p/out": "../../out", "p/loop": "loop", "p/within": "real", "p/skills": "../../out/skills",
		"p/x.json": "../../out/x.json", "p/hooks/hooks.json": "../../../out/x.json", "p/.mcp.json": "nowhere",
	})
	found := Find(many(filepath.Join(dir, "plugins")))
	if len(found.Plugins) != 2 || found.Plugins[0].Name != "linked" || found.Plugins[0].Dir != filepath.Join(dir, "elsewhere", "checkout") {
		t.Fatalf("plugins are %+v", found.Plugins)
	}
	if diff := cmp.Diff(map[string][]string{"commands": {"commands"}, "agents": {"within"}}, show(found.Plugins[1])); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	got := texts(dir, found.Problems)
	want := []string{
		"plugins/gone: ", "plugins/loop: ", "plugins/p/skills: cannot use it: it leads out",
		`agents: cannot use "./out": it leads out`, `agents: cannot use "./loop": `, "plugins/p/hooks/hooks.json: cannot use it: it leads out",
		"plugins/p/.mcp.json: cannot use it: ", `mcpServers: cannot use "./x.json": it leads out`, "plugins/self: is not a plugin",
	}
	if len(got) != len(want) {
		t.Fatalf("problems are\n%s", strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			t.Errorf("problem %d is %q, want %q", i, got[i], want[i])
		}
	}
}

// What could block for ever, or fill the memory, is not read.
func TestFilesThatAreNone(t *testing.T) {
	t.Parallel()
	dir := folder(t)
	write(t, dir, map[string]string{
		"a/skills/": "", "a/hooks/": "", "b/.claude-plugin/": "", "b/skills/": "",
		"c/.claude-plugin/plugin.json": `{"name": "c", "agents": "./pipe"}`,
		"d/.mcp.json":                  string(bytes.Repeat([]byte(" "), 3<<20)), "d/skills/": "",
	})
	for _, name := range []string{"a/hooks/hooks.json", "a/.mcp.json", "b/.claude-plugin/plugin.json", "c/pipe", "pipe"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	found := Find(many(dir))
	if len(found.Plugins) != 3 {
		t.Errorf("%d plugins, want a, c and d", len(found.Plugins))
	}
	want := []string{
		"a/hooks/hooks.json: expected a regular file",
		"a/.mcp.json: expected a regular file",
		"b/.claude-plugin/plugin.json: expected a regular file",
		`c/.claude-plugin/plugin.json:1:25: agents: "./pipe" is neither a file nor a folder`,
		"d/.mcp.json: the file is larger than 2 MiB",
	}
	if diff := cmp.Diff(want, texts(dir, found.Problems)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
