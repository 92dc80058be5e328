package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"heddle/internal/config"
	"heddle/internal/extension"
)

// serverFile is a file that servers stand in, as it is now. What a change does not touch
// stays byte for byte: people write comments into such files.
type serverFile struct {
	path   string
	layer  config.Layer
	text   []byte
	absent bool
	values *config.Layers // what the text means
}

// serverKey is the name of the object with the servers.
const serverKey = "mcpServers"

// projectServers is the name of the file in which a project keeps its servers.
const projectServers = ".mcp.json"

// openServers reads a file that need not be there. A broken one is an error that says where.
func openServers(layer config.Layer, path string) (*serverFile, error) {
	f := &serverFile{path: path, layer: layer}
	values, err := config.File(layer, path)
	if errors.Is(err, fs.ErrNotExist) {
		f.absent = true
		values, err = config.Text(layer, path, nil)
	}
	if err != nil {
		return nil, usageError{joined(err)}
	}
	f.values = values
	if !f.absent {
		if f.text, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("read the servers: %w", err)
		}
	}
	if text := values.JSON(); text[0] != '{' {
		return nil, usagef("%v: want an object", values.Here())
	}
	if all := f.all(); all != nil && all.JSON()[0] != '{' {
		return nil, usagef("%v: %s: want an object with a server under each name", all.Here(), serverKey)
	}
	return f, nil
}

// bare reports whether the servers stand in the file without an object around them, as
// some programs write .mcp.json.
func (f *serverFile) bare() bool {
	if filepath.Base(f.path) != projectServers || f.values.At(serverKey) != nil || len(f.values.Keys()) == 0 {
		return false
	}
	for _, k := range f.values.Keys() {
		if f.values.At(k).JSON()[0] != '{' {
			return false
		}
	}
	return true
}

// all is the object with the servers, nil if there is none.
func (f *serverFile) all() *config.Layers {
	if f.bare() {
		return f.values
	}
	return f.values.At(serverKey)
}

// get returns the entry of a server, nil if there is none.
func (f *serverFile) get(name string) *config.Layers { return f.all().At(name) }

// with returns the file with one more server. The caller knows that its name is free.
func (f *serverFile) with(name string, entry any) (*serverFile, error) {
	d, err := parseDocument(f.text)
	if err != nil {
		return nil, err
	}
	root, _ := d.root.Value.(*hujson.Object)
	inner := member(root, serverKey)
	switch {
	case f.bare():
		err = d.insert(d.root, name, entry)
	case inner == nil:
		err = d.insert(d.root, serverKey, map[string]any{name: entry})
	case inner.Value.Value.Kind() == 'n':
		err = d.replace(inner.Value, map[string]any{name: entry})
	default:
		if old := member(inner.Value.Value.(*hujson.Object), name); old != nil { // null: it is not there
			err = d.replace(old.Value, entry)
		} else {
			err = d.insert(inner.Value, name, entry)
		}
	}
	if err != nil {
		return nil, err
	}
	return f.changed(d)
}

// without returns the file without a server that is in it.
func (f *serverFile) without(name string) (*serverFile, error) {
	d, err := parseDocument(f.text)
	if err != nil {
		return nil, err
	}
	object := d.root
	if !f.bare() {
		object = member(d.root.Value.(*hujson.Object), serverKey).Value
	}
	d.remove(object, name)
	return f.changed(d)
}

// changed reads the text of d, which a bug in an edit would have left broken.
func (f *serverFile) changed(d *document) (*serverFile, error) {
	n := &serverFile{path: f.path, layer: f.layer, text: d.bytes()}
	var err error
	if n.values, err = config.Text(f.layer, f.path, n.text); err != nil {
		return nil, fmt.Errorf("the changed file would be broken: %w", err)
	}
	return n, nil
}

// write puts the file in its place.
func (f *serverFile) write() error {
	mode := fs.FileMode(0o600)
	if filepath.Base(f.path) == projectServers {
		mode = 0o644
	}
	if err := replaceFile(f.path, f.text, mode); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	return nil
}

// serverFiles are the files that servers of people may stand in. Of two servers with one
// name that of the earlier file counts.
func (p place) serverFiles() (list []serverFile) {
	add := func(layer config.Layer, path string) { list = append(list, serverFile{layer: layer, path: path}) }
	project := p.project()
	user, _ := os.UserHomeDir() // without one nothing is the user's
	find := extension.Options{Dir: p.dir, Project: project, UserHome: user}
	for _, dir := range slices.Backward(find.ProjectDirs()) {
		add(config.Project, filepath.Join(dir, projectServers))
	}
	add(config.Local, filepath.Join(project, ".heddle", "settings.local.json"))
	if own := filepath.Join(project, ".heddle"); !sameFile(own, p.home) {
		add(config.Project, filepath.Join(own, "settings.json"))
	}
	add(config.User, filepath.Join(p.home, "settings.json"))
	return list
}

// encode writes a value as JSON of several lines, the first without an indent.
func encode(value any, prefix, unit string) (string, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if unit != "" {
		enc.SetIndent(prefix, unit)
	}
	if err := enc.Encode(value); err != nil {
		return "", err
	}
	return strings.TrimSuffix(out.String(), "\n"), nil
}
