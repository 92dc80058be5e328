package plugin

import (
	"path/filepath"
	"strings"

	"heddle/internal/config"
	"heddle/internal/spelling"
)

// declaration is a kind of parts that are declared in JSON, in files of their own or in
// the manifest.
type declaration struct {
	key    string // of the manifest, and of a file around all else
	file   string // the usual one
	inside string // what each entry is
}

var (
	hooks   = declaration{key: "hooks", file: "hooks/hooks.json", inside: aList}
	servers = declaration{key: "mcpServers", file: ".mcp.json", inside: anObject}
)

// declared returns all objects of a kind: first that of the usual file.
func (r *reader) declared(d declaration) []*config.Layers {
	var out []*config.Layers
	seen := map[string]bool{} // a manifest may name the usual file
	add := func(value *config.Layers) {
		if v := r.unwrap(d, value); v != nil {
			out = append(out, v)
		}
	}
	if path := filepath.Join(r.dir, d.file); exists(path) {
		target, err := r.within(d.file)
		if err != nil {
			r.reportFile(path, "cannot use it: "+reason(err))
		} else {
			seen[target] = true
			add(r.read(path))
		}
	}
	named, _ := pathField{key: d.key, inline: true}.entries(r.tree)
	for _, e := range named {
		if e.inline {
			add(e.value)
			continue
		}
		path, ok := r.named(d.key, e)
		if !ok {
			continue
		}
		if target, err := filepath.EvalSymlinks(path); err == nil && !seen[target] {
			seen[target] = true
			add(r.read(path))
		}
	}
	return out
}

// unwrap returns the object with the entries: under the key, or the value itself. It is
// nil if there are none.
func (r *reader) unwrap(d declaration, value *config.Layers) *config.Layers {
	if value == nil {
		return nil
	}
	if kind := kindOf(value); kind != anObject {
		r.report(value, "expected {%q: {…}}, found %s", d.key, kind)
		return nil
	}
	if inner := value.At(d.key); inner != nil {
		if kind := kindOf(inner); kind != anObject {
			r.report(inner, "%s: expected %s, found %s", d.key, anObject, kind)
			return nil
		}
		value = inner
	} else if !r.bare(d, value) {
		return nil
	}
	if len(value.Keys()) == 0 {
		return nil
	}
	return value
}

// bare reports whether an object without the key is to be taken for what should stand
// under it: not if the key is only misspelled, or if nothing in it could be an entry.
func (r *reader) bare(d declaration, value *config.Layers) bool {
	likely := false
	for _, key := range value.Keys() {
		inner := value.At(key)
		if kindOf(inner) == anObject && spelling.Distance(strings.ToLower(shorten(key)), strings.ToLower(d.key)) <= 2 {
			r.report(inner, "%q: unknown; did you mean %q?", shorten(key), d.key)
			return false
		}
		likely = likely || kindOf(inner) == d.inside
	}
	if !likely && len(value.Keys()) > 0 {
		r.report(value, "expected {%q: {…}}, found none of it", d.key)
	}
	return likely
}
