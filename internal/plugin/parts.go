package plugin

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/config"
)

// pathField is a field of the manifest that names paths.
type pathField struct {
	key    string
	inline bool // objects may stand in place of files
}

var pathFields = []pathField{
	{key: "skills"}, {key: "commands"}, {key: "agents"}, {key: "workflows"}, {key: "outputStyles"},
	{key: "hooks", inline: true}, {key: "mcpServers", inline: true}, {key: "lspServers", inline: true},
}

// entry is one value of such a field.
type entry struct {
	value  *config.Layers
	path   string
	inline bool // it is no path, but an object
}

// entries reads a field: one value, or a list.
func (f pathField) entries(manifest *config.Layers) (out []entry, wrong []*config.Problem) {
	field := manifest.At(f.key)
	if field == nil {
		return nil, nil
	}
	values := []*config.Layers{field}
	name := func(int) string { return f.key }
	if kindOf(field) == aList {
		values = nil
		for _, i := range field.Keys() {
			values = append(values, field.At(i))
		}
		name = func(i int) string { return fmt.Sprintf("%s[%d]", f.key, i) }
	}
	for i, v := range values {
		e := entry{value: v, inline: f.inline && kindOf(v) == anObject}
		if !e.inline {
			var err error
			if e.path, err = config.Section[string](v, ""); err != nil {
				wrong = append(wrong, &config.Problem{Origin: v.Here(), Text: fmt.Sprintf("%s: expected %s, found %s", name(i), f.expected(), kindOf(v))})
				continue
			}
		}
		out = append(out, e)
	}
	return out, wrong
}

func (f pathField) expected() string {
	if f.inline {
		return "a path, an object or a list of them"
	}
	return "a path or a list of paths"
}

// parts finds out what the plugin brings.
func (r *reader) parts() {
	p := r.plugin
	p.Skills = r.folders("skills", true)
	if exists(filepath.Join(r.dir, "SKILL.md")) && !slices.Contains(p.Skills, r.dir) {
		p.Skills = append(p.Skills, r.dir)
	}
	p.Commands = r.folders("commands", false)
	p.Agents = r.folders("agents", false)
	p.Hooks = r.declared(hooks)
	p.Servers = r.declared(servers)
	r.unused()
}

// folders returns where the files of one kind lie. Those that the manifest names stand in
// place of the usual folder; for skills, beside it.
func (r *reader) folders(key string, skills bool) []string {
	named, _ := pathField{key: key}.entries(r.tree)
	var out []string
	if skills || r.tree.At(key) == nil {
		if path := filepath.Join(r.dir, key); exists(path) {
			target, err := r.within(key)
			switch {
			case err != nil:
				r.reportFile(path, "cannot use it: "+reason(err))
			case !isDir(target):
				r.reportFile(path, "expected a folder, found a file")
			default:
				out = append(out, path)
			}
		}
	}
	for _, e := range named {
		path, ok := r.named(key, e)
		if !ok || slices.Contains(out, path) {
			continue
		}
		if skills && !isDir(path) {
			r.report(e.value, "%s: expected a folder, found the file %q", key, shorten(e.path))
			continue
		}
		out = append(out, path)
	}
	return out
}

// named returns the path of the file or folder that the manifest names.
func (r *reader) named(key string, e entry) (string, bool) {
	rest, ok := strings.CutPrefix(e.path, "./")
	if !ok {
		r.report(e.value, "%s: a path must start with ./ and stay in the plugin's folder, found %q", key, shorten(e.path))
		return "", false
	}
	target, err := r.within(cmp.Or(rest, "."))
	if err != nil && missing(err) {
		r.report(e.value, "%s: there is no %q in the plugin", key, shorten(e.path))
		return "", false
	}
	if err != nil {
		r.report(e.value, "%s: cannot use %q: %s", key, shorten(e.path), reason(err))
		return "", false
	}
	if info, err := os.Stat(target); err != nil || !info.IsDir() && !info.Mode().IsRegular() {
		r.report(e.value, "%s: %q is neither a file nor a folder", key, shorten(e.path))
		return "", false
	}
	return filepath.Join(r.dir, rest), true
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// unused warns of parts that the plugin has for other programs.
func (r *reader) unused() {
	var names []string
	for _, name := range []string{"workflows", "output-styles", "themes", "monitors", "bin", ".lsp.json", "settings.json"} {
		if exists(filepath.Join(r.dir, name)) {
			names = append(names, name)
		}
	}
	for _, key := range []string{"workflows", "outputStyles", "lspServers", "channels", "dependencies"} {
		if v := r.tree.At(key); v != nil && (kindOf(v) == aString || len(v.Keys()) > 0) {
			names = append(names, key)
		}
	}
	for _, key := range []string{"themes", "monitors"} {
		if r.tree.At("experimental", key) != nil {
			names = append(names, "experimental."+key)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	r.warn(config.Origin{Layer: r.layer, File: r.file}, "the plugin has parts that heddle does not use: %s", strings.Join(slices.Compact(names), ", "))
}
