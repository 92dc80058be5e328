package plugin

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"heddle/internal/config"
)

const (
	goodManifest = `{
  "name": "p", "version": "1.0.0", "author": {"name": "A"}, "keywords": ["x", "y"],
  "skills": ["./more"], "commands": "./cmd", // both are there
  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
  "mcpServers": {"in": {"command": "x", "args": ["y"]}},
  "userConfig": {"limit": {"type": "number", "default": 5, "min": 1}}
}`
	goodHooks = `{
  "description": "d",
  "hooks": {
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "${CLAUDE_PLUGIN_ROOT}/x.sh", "timeout": 5}]}],
    "Stop": []
  }
}`
	goodServers = `{
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "x"], "env": {"A": "b"}},
    "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"X": "${Y:-z}"}}
  }
}`
)

// whole is a folder with a plugin p that has all parts, and one beside it.
func whole() map[string]string {
	return map[string]string{
		"p/.claude-plugin/plugin.json": goodManifest, "p/hooks/hooks.json": goodHooks, "p/.mcp.json": goodServers,
		"p/skills/": "", "p/more/": "", "p/cmd/": "", "p/agents/": "", "q/SKILL.md": "",
	}
}

// breakText changes a text in one of the ways in which files break.
func breakText(r *rand.Rand, text string) string {
	at := r.IntN(len(text))
	end := min(len(text), at+1+r.IntN(20))
	junk := []string{"{", "}", "[", "]", ",", ":", `"`, "\\", "null", "5", "-1e999", "true", `"x"`, "[]", "{}", "\x00", "\xff", "/*", "//", "\u202e", "\n", `"name":`, strings.Repeat("[", 200)}
	switch r.IntN(5) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + text[end:]
	case 2:
		return text[:end] + text[at:]
	case 3:
		return text[:at] + junk[r.IntN(len(junk))] + text[at:]
	}
	return text[:at] + junk[r.IntN(len(junk))] + text[end:]
}

// Of what is broken something is there, or it is said where it is broken, and what is not
// broken is there.
func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for file, text := range map[string]string{
		"p/.claude-plugin/plugin.json": goodManifest, "p/hooks/hooks.json": goodHooks, "p/.mcp.json": goodServers,
	} {
		for i := range 100 {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(file), i), func(t *testing.T) {
				t.Parallel()
				broken := breakText(rand.New(rand.NewPCG(uint64(i), 1)), text)
				dir := folder(t)
				files := whole()
				files[file] = broken
				write(t, dir, files)
				checkBroken(t, dir, file, broken, Find(many(dir)))
			})
		}
	}
}

func checkBroken(t *testing.T, dir, file, broken string, found *Found) {
	t.Helper()
	tell := func(what string) {
		t.Errorf("%s\nproblems: %q\n%s", what, texts(dir, found.Problems), broken)
	}
	named := false
	for _, p := range found.Problems {
		if p.File == filepath.Join(dir, file) && p.Line > 0 {
			named = true
		}
	}
	last := len(found.Plugins) - 1
	if last < 0 || found.Plugins[last].Name != "q" || len(found.Plugins[last].Skills) != 1 {
		tell("the plugin beside it is lost")
		return
	}
	if _, err := config.Text(config.User, file, []byte(broken)); err != nil && !named {
		tell("it is not said where it is broken")
	}
	if last == 0 {
		if !named || !strings.HasSuffix(file, "plugin.json") {
			tell("the plugin is lost, and it is not said why")
		}
		return
	}
	p := found.Plugins[0]
	if len(p.Skills) == 0 || len(p.Agents) == 0 {
		tell("its folders are lost")
	}
	lost := func(what string, count, least int, itself string) {
		if count < least && (file != itself || !named && strings.TrimSpace(broken) != "") {
			tell(what + " are lost")
		}
	}
	manifest := strings.HasSuffix(file, "plugin.json")
	if manifest {
		lost("hooks", len(p.Hooks), 1, "")
		lost("servers", len(p.Servers), 1, "")
		return
	}
	lost("hooks", len(p.Hooks), 2, "p/hooks/hooks.json")
	lost("servers", len(p.Servers), 2, "p/.mcp.json")
	if len(p.Commands) == 0 || p.Vars["user_config.limit"] != "5" {
		tell("what the manifest says is lost")
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(goodManifest, goodHooks, goodServers)
	f.Add(configurable, `{"Stop": []}`, `{"a": {}}`)
	f.Add(`{"name": "p", "skills": ["./../x", "/", "./", ""], "hooks": ["./hooks/hooks.json", {}]}`, `[]`, `{"mcpServers": 1}`)
	f.Add(`{"name": "A b", "mcpServers": ["./.mcp.json", "./p"]}`, "", "\ufeff{}")
	f.Add(`{"name": "p", "userConfig": {"a": {"type": "number", "default": [1e400]}}}`, "{", "nul")
	dir := folder(f)
	write(f, dir, whole())
	f.Fuzz(func(t *testing.T, manifest, hooks, servers string) {
		write(t, dir, map[string]string{"p/.claude-plugin/plugin.json": manifest, "p/hooks/hooks.json": hooks, "p/.mcp.json": servers})
		found := Find(many(dir))
		last := len(found.Plugins) - 1
		if last < 0 || last == 0 && len(found.Problems) == 0 {
			t.Errorf("plugins are lost and nothing is said: %v", found.Plugins)
		}
		for _, p := range found.Plugins {
			checkPlugin(t, dir, p)
		}
		for _, p := range append(found.Problems, found.Warnings...) {
			if p.File == "" || p.Text == "" || strings.Contains(p.Text, "\n") {
				t.Errorf("the message %+v", p)
			}
		}
	})
}

// checkPlugin checks what holds of every plugin, whatever its files say.
func checkPlugin(t *testing.T, dir string, p *Plugin) {
	t.Helper()
	if p.Name == "" || len(p.Name) > maxName || p.Name != kebab(p.Name) || filepath.Dir(p.Dir) != dir {
		t.Errorf("the name %q of %s", p.Name, p.Dir)
	}
	for _, list := range [][]string{p.Skills, p.Commands, p.Agents} {
		for _, path := range list {
			if rel, err := filepath.Rel(p.Dir, path); err != nil || !filepath.IsLocal(rel) || !exists(path) {
				t.Errorf("%s is not in %s", path, p.Dir)
			}
		}
	}
	for _, list := range [][]*config.Layers{p.Hooks, p.Servers} {
		for _, tree := range list {
			if kindOf(tree) != anObject || tree.Here().File == "" {
				t.Errorf("%s is %s", tree.Here(), tree.JSON())
			}
		}
	}
}
