// Package config reads layered settings and can say of every value where it
// came from. It knows no settings of its own: packages ask for their section
// with their own type.
//
// A setting that stands in several layers is taken from the highest. Objects
// are merged key by key, and lists are joined, the highest layer first. Null
// is the same as leaving the key out.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Layer is a place where settings come from.
type Layer string

// The layers, the highest first.
const (
	Managed Layer = "managed" // by the administrator of the machine
	Flags   Layer = "flags"   // on the command line
	Local   Layer = "local"   // a person's own, in the project
	Project Layer = "project" // shared with the project
	User    Layer = "user"    // a person's own, everywhere
)

// Options says where to look.
type Options struct {
	Home    string // the state directory, see [Home]; empty: no user layer
	Dir     string // the project's directory; empty: no project and local layers
	Managed string // the administrator's directory, see [ManagedDir]; empty: none
	// Folder is the name of the folder in Dir that holds settings; empty: .heddle.
	Folder string
	// Settings are values of --settings: the name of a file, or an object as
	// JSON. A later one is higher.
	Settings []string
	// Keys are settings with flags of their own. They are higher than Settings.
	Keys []Flag
	// Whole are keys of objects whose entries are not merged: of two with one name the
	// higher one stands, and nothing of the lower.
	Whole []string
	// Sources are the layers among Local, Project and User to read. Nil means all.
	Sources []Layer
}

// Flag is one setting that was given on the command line.
type Flag struct {
	Name  string   // as it was typed, for messages: --model
	Path  []string // the setting
	Value any      // what encoding/json can encode
}

// Layers are settings from all layers. They do not change.
type Layers struct {
	root *node
}

// Find reads all layers. If something is wrong with one of them, the error
// joins everything that is wrong with any, each a [*Problem] of one line.
func Find(o Options) (*Layers, error) {
	l := &Layers{root: &node{kind: anObject}}
	var problems []error
	for _, s := range o.sources() {
		n, wrong := s.parse()
		problems = append(problems, wrong...)
		if n != nil {
			n.forget(l.root, o.Whole)
			l.root.merge(n)
		}
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return l, nil
}

// sources lists what there is to read, the highest first.
func (o Options) sources() []source {
	var out []source
	if o.Managed != "" {
		out = append(out, dropIns(filepath.Join(o.Managed, "managed-settings.d"))...)
		out = append(out, source{layer: Managed, file: filepath.Join(o.Managed, "managed-settings.json")})
	}
	for _, k := range slices.Backward(o.Keys) {
		out = append(out, source{layer: Flags, file: k.Name, flag: &k})
	}
	for _, text := range slices.Backward(o.Settings) {
		out = append(out, settingsFlag(text))
	}
	wanted := func(l Layer) bool { return o.Sources == nil || slices.Contains(o.Sources, l) }
	if o.Dir != "" {
		state := filepath.Join(o.Dir, cmp.Or(o.Folder, ".heddle"))
		if wanted(Local) {
			out = append(out, source{layer: Local, file: filepath.Join(state, "settings.local.json")})
		}
		// In the home directory itself, the project's file is the user's.
		if wanted(Project) && !sameDir(state, o.Home) {
			out = append(out, source{layer: Project, file: filepath.Join(state, "settings.json")})
		}
	}
	if o.Home != "" && wanted(User) {
		out = append(out, source{layer: User, file: filepath.Join(o.Home, "settings.json")})
	}
	return out
}

// dropIns lists the files of a directory that several packages may share. A
// later name is higher. A directory that cannot be read is reported as a file
// that cannot be read: the administrator's settings must not go missing unseen.
func dropIns(dir string) []source {
	entries, err := os.ReadDir(dir)
	if err != nil && !missing(err) {
		return []source{{layer: Managed, file: dir}}
	}
	var out []source
	for _, e := range slices.Backward(entries) {
		if filepath.Ext(e.Name()) == ".json" {
			out = append(out, source{layer: Managed, file: filepath.Join(dir, e.Name())})
		}
	}
	return out
}

func sameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	ai, err := os.Stat(a)
	if err != nil {
		return false
	}
	bi, err := os.Stat(b)
	return err == nil && os.SameFile(ai, bi)
}

// ManagedDir is where the administrator of the machine puts settings.
func ManagedDir() string {
	if runtime.GOOS == "darwin" {
		return "/Library/Application Support/heddle"
	}
	return "/etc/heddle"
}

// Origin is the place of a value: a file, or a flag, which has no lines.
type Origin struct {
	Layer  Layer  `json:"layer"`
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String returns file:line:column.
func (o Origin) String() string {
	if o.Line == 0 {
		return o.File
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column)
}

// Problem is something wrong at one place.
type Problem struct {
	Origin
	Text string
}

func (p *Problem) Error() string { return p.Origin.String() + ": " + p.Text }
