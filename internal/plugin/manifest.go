package plugin

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"heddle/internal/config"
)

// maxName is the longest name of a plugin: it is part of the names of tools.
const maxName = 64

// manifest is what a plugin may say of itself. Fields that name paths are read by
// [entries], since they have several shapes.
type manifest struct {
	Schema         string             `json:"$schema"`
	Name           string             `json:"name"`
	DisplayName    string             `json:"displayName"`
	Version        string             `json:"version"`
	Description    string             `json:"description"`
	Author         person             `json:"author"`
	Homepage       string             `json:"homepage"`
	Repository     string             `json:"repository"`
	License        string             `json:"license"`
	Keywords       []string           `json:"keywords"`
	Metadata       any                `json:"metadata"`
	DefaultEnabled *bool              `json:"defaultEnabled"`
	Skills         any                `json:"skills"`
	Commands       any                `json:"commands"`
	Agents         any                `json:"agents"`
	Workflows      any                `json:"workflows"`
	OutputStyles   any                `json:"outputStyles"`
	Hooks          any                `json:"hooks"`
	MCPServers     any                `json:"mcpServers"`
	LSPServers     any                `json:"lspServers"`
	Experimental   any                `json:"experimental"`
	UserConfig     map[string]setting `json:"userConfig"`
	Channels       []any              `json:"channels"`
	Dependencies   []any              `json:"dependencies"`
}

type person struct {
	Name  string `json:"name"`
	Email string `json:"email"`
	URL   string `json:"url"`
}

// identify reads who a plugin is, and whether it can be used and is switched on.
func identify(o Options, f Folder, path string) *reader {
	r := &reader{dir: path, layer: f.Layer, file: path}
	dir, err := realDir(path)
	if err != nil {
		r.reportFile(path, "cannot read it: "+reason(err))
		return r
	}
	r.dir, r.file = dir, dir
	if !isPlugin(dir) {
		r.reportFile(path, "is not a plugin: it has none of "+strings.Join(slices.Concat(manifests, contents), ", "))
		return r
	}
	name, ok := r.name(path)
	if !ok {
		return r
	}
	p := &Plugin{Name: name, Dir: dir, Layer: f.Layer, Source: f.Source}
	enabled, said := o.enabled(r.names)
	if said && !enabled {
		// Who has switched a plugin off need not hear what is wrong with it.
		r.check()
		r.problems, r.warnings = nil, nil
	} else if !r.check() {
		return r
	}
	p.Version, p.Description = oneLine(r.manifest.Version), oneLine(r.manifest.Description)
	p.Enabled = enabled
	if !said {
		p.Enabled = r.manifest.DefaultEnabled == nil || *r.manifest.DefaultEnabled
	}
	r.plugin = p
	return r
}

// name reads the manifest, if there is one, and returns the plugin's name.
func (r *reader) name(path string) (string, bool) {
	for _, m := range manifests {
		if exists(filepath.Join(r.dir, m)) {
			r.file = filepath.Join(r.dir, m)
			return r.manifestName(m)
		}
	}
	// A link is named as the user likes; what it leads to may be anything.
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	name := filepath.Base(path)
	return r.take(name, config.Origin{Layer: r.layer, File: r.dir}, "the folder's name")
}

// manifestName reads the manifest and returns the name in it.
func (r *reader) manifestName(path string) (string, bool) {
	if _, err := r.within(path); err != nil {
		r.reportFile(r.file, "cannot use the manifest: "+reason(err))
		return "", false
	}
	if r.tree = r.read(r.file); r.tree == nil {
		return "", false
	}
	if kind := kindOf(r.tree); kind != anObject {
		r.report(r.tree, "expected %s, found %s", anObject, kind)
		return "", false
	}
	at := r.tree.At("name")
	if at == nil {
		r.report(r.tree, `name: is missing; a manifest needs at least {"name": %q}`, kebab(filepath.Base(r.dir)))
		return "", false
	}
	name, err := config.Section[string](at, "")
	if err != nil {
		r.report(at, "name: expected %s, found %s", aString, kindOf(at))
		return "", false
	}
	return r.take(name, at.Here(), "name")
}

// take makes a name of what is written. Names that others accept are accepted in
// kebab-case: as written, they could not be part of the names of commands and tools.
func (r *reader) take(written string, at config.Origin, what string) (string, bool) {
	name := kebab(written)
	if name == "" || len(name) > maxName {
		r.problems = append(r.problems, &config.Problem{Origin: at, Text: fmt.Sprintf("%s: expected 1 to %d lower-case letters, digits and hyphens, found %q", what, maxName, shorten(written))})
		return "", false
	}
	r.names = []string{name}
	if name != written {
		r.names = append(r.names, written)
		r.warn(at, "%s: %q is not in kebab-case; the plugin is called %q", what, shorten(written), name)
	}
	return name, true
}

// check decodes the manifest, and reports whether all in it has the right type.
func (r *reader) check() bool {
	if r.tree == nil {
		return true
	}
	m, err := config.Section[manifest](r.tree, "")
	wrong := r.problemsIn(r.file, err)
	for _, f := range pathFields {
		_, problems := f.entries(r.tree)
		wrong = append(wrong, problems...)
	}
	r.problems = append(r.problems, wrong...)
	r.warnings = append(r.warnings, config.Unknown[manifest](r.tree, "")...)
	r.manifest = m
	return len(wrong) == 0
}

// kebab writes a name in lower-case letters and digits, with hyphens between.
func kebab(name string) string {
	words := strings.FieldsFunc(strings.ToLower(name), func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9')
	})
	return strings.Join(words, "-")
}

// oneLine makes one line of a text, with nothing in it that a terminal would obey.
func oneLine(text string) string {
	visible := strings.Map(func(c rune) rune {
		if unicode.IsSpace(c) {
			return ' '
		}
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, text)
	return strings.Join(strings.Fields(visible), " ")
}

// shorten cuts what is quoted in a message.
func shorten(text string) string {
	const limit = 80
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
