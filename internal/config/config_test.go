package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// place holds the directories of all layers.
type place struct {
	t *testing.T
	Options
}

func newPlace(t *testing.T) place {
	dir := t.TempDir()
	return place{t, Options{
		Home:    filepath.Join(dir, "home"),
		Dir:     filepath.Join(dir, "project"),
		Managed: filepath.Join(dir, "managed"),
	}}
}

func (p place) write(layer Layer, text string) string {
	p.t.Helper()
	name := map[Layer]string{
		Managed: filepath.Join(p.Managed, "managed-settings.json"),
		Local:   filepath.Join(p.Dir, ".heddle", "settings.local.json"),
		Project: filepath.Join(p.Dir, ".heddle", "settings.json"),
		User:    filepath.Join(p.Home, "settings.json"),
	}[layer]
	writeFile(p.t, name, text)
	return name
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (p place) find() *Layers {
	p.t.Helper()
	l, err := Find(p.Options)
	if err != nil {
		p.t.Fatalf("Find: %v", err)
	}
	return l
}

func (p place) findError() string {
	p.t.Helper()
	_, err := Find(p.Options)
	if err == nil {
		p.t.Fatal("Find found nothing wrong")
	}
	return err.Error()
}

func section[T any](t *testing.T, l *Layers, key string) T {
	t.Helper()
	v, err := Section[T](l, key)
	if err != nil {
		t.Fatalf("Section(%q): %v", key, err)
	}
	return v
}

type rules struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
	Mode  string   `json:"defaultMode"`
}

func TestNoFilesAreNoSettings(t *testing.T) {
	l := newPlace(t).find()
	if got := l.Entries(); len(got) != 0 {
		t.Errorf("Entries = %v, want none", got)
	}
	if got := section[rules](t, l, "permissions"); !cmp.Equal(got, rules{}) {
		t.Errorf("Section = %v, want nothing", got)
	}
	if got := section[rules](t, l, ""); !cmp.Equal(got, rules{}) {
		t.Errorf("Section of everything = %v, want nothing", got)
	}
}

func TestHighestLayerWins(t *testing.T) {
	p := newPlace(t)
	steps := []struct {
		layer Layer
		add   func(value string)
	}{
		{User, func(v string) { p.write(User, v) }},
		{Project, func(v string) { p.write(Project, v) }},
		{Local, func(v string) { p.write(Local, v) }},
		{Flags, func(v string) { p.Settings = []string{v} }},
		{Managed, func(v string) { p.write(Managed, v) }},
	}
	for _, s := range steps {
		s.add(`{"model": "` + string(s.layer) + `"}`)
		l := p.find()
		if got := section[string](t, l, "model"); got != string(s.layer) {
			t.Errorf("model = %q, want %q", got, s.layer)
		}
		if o, ok := l.Origin("model"); !ok || o.Layer != s.layer || o.Line != 1 || o.Column != 11 {
			t.Errorf("origin of model = %+v, want layer %s at 1:11", o, s.layer)
		}
	}
}

func TestObjectsMergeAndListsJoin(t *testing.T) {
	p := newPlace(t)
	user := p.write(User, "{\n\t\"permissions\": {\n\t\t\"allow\": [\"c\"],\n\t\t\"defaultMode\": \"plan\"}}")
	p.write(Project, `{"permissions": {"allow": ["b"], "deny": ["x"]}}`)
	local := p.write(Local, "// mine\n{\"permissions\": {\"allow\": [\n\"a\",\n],}}")
	l := p.find()
	want := rules{Allow: []string{"a", "b", "c"}, Deny: []string{"x"}, Mode: "plan"}
	if diff := cmp.Diff(want, section[rules](t, l, "permissions")); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if o, _ := l.Origin("permissions", "allow", "0"); o != (Origin{Local, local, 3, 1}) {
		t.Errorf("origin of a = %+v", o)
	}
	if o, _ := l.Origin("permissions", "allow", "2"); o != (Origin{User, user, 3, 13}) {
		t.Errorf("origin of c = %+v", o)
	}
	for _, path := range [][]string{{}, {"nothing"}, {"permissions", "allow", "3"}, {"permissions", "allow", "-1"},
		{"permissions", "allow", "x"}, {"permissions", "defaultMode", "x"}} {
		if o, ok := l.Origin(path...); ok {
			t.Errorf("Origin(%q) = %v, want nothing", path, o)
		}
	}
}

func TestWholeEntriesAreNotMerged(t *testing.T) {
	p := newPlace(t)
	p.Whole = []string{"servers", "none"}
	p.write(User, `{"servers": {"a": {"command": "mine", "env": {"KEY": "secret"}}, "b": {"command": "b"}}, "other": {"a": {"x": 1}}}`)
	p.write(Project, `{"servers": {"a": {"command": "theirs"}}, "other": {"a": {"y": 2}}}`)
	const want = `{"servers":{"a":{"command":"theirs"},"b":{"command":"b"}},"other":{"a":{"y":2,"x":1}}}`
	if got := string(p.find().JSON()); got != want {
		t.Errorf("Find = %s, want %s", got, want)
	}
}

func TestEntriesAreFlat(t *testing.T) {
	p := newPlace(t)
	user := p.write(User, `{"env": {"A.B": "1"}, "list": [], "n": 1.50, "deep": [[true]]}`)
	p.Keys = []Flag{{Name: "--allowedTools", Path: []string{"permissions", "allow"}, Value: []string{"Read"}}}
	want := []string{
		`permissions.allow[0]="Read" flags --allowedTools`,
		`env."A.B"="1" user ` + user + `:1:17`,
		`list=[] user ` + user + `:1:31`,
		`n=1.50 user ` + user + `:1:40`,
		`deep[0][0]=true user ` + user + `:1:56`,
	}
	var got []string
	for _, e := range p.find().Entries() {
		got = append(got, e.Key+"="+string(e.Value)+" "+string(e.Layer)+" "+e.Origin.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	text, err := json.Marshal(p.find().Entries()[1])
	if err != nil || !strings.Contains(string(text), `"layer":"user"`) || !strings.Contains(string(text), `"line":1`) {
		t.Errorf("entry as JSON = %s, %v", text, err)
	}
}

func TestFlagsOfTheirOwnBeatSettingsFlags(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(t.TempDir(), "extra.json")
	writeFile(t, file, `{"model": "file", "a": 1, "b": 1}`)
	p.Settings = []string{file, ` {"a": 2}`}
	p.Keys = []Flag{
		{Name: "--model", Path: []string{"model"}, Value: "first"},
		{Name: "--model", Path: []string{"model"}, Value: "flag"},
		{Name: "--unset", Path: []string{"b"}, Value: nil},
	}
	l := p.find()
	if got := section[string](t, l, "model"); got != "flag" {
		t.Errorf("model = %q, want the last flag's", got)
	}
	if a, b := section[int](t, l, "a"), section[int](t, l, "b"); a != 2 || b != 1 {
		t.Errorf("a, b = %d, %d, want 2, 1", a, b)
	}
	if o, _ := l.Origin("b"); o.File != file || o.Layer != Flags {
		t.Errorf("origin of b = %+v, want the file that was named", o)
	}
}

func TestManagedDirectoryIsReadInOrder(t *testing.T) {
	p := newPlace(t)
	p.write(Managed, `{"a": 0, "list": ["base"], "base": 0}`)
	writeFile(t, filepath.Join(p.Managed, "managed-settings.d", "10-x.json"), `{"a": 1, "list": ["ten"]}`)
	writeFile(t, filepath.Join(p.Managed, "managed-settings.d", "20-y.json"), `{"a": 2, "list": ["twenty"]}`)
	writeFile(t, filepath.Join(p.Managed, "managed-settings.d", "30-z.json.off"), `broken`)
	l := p.find()
	if got := section[int](t, l, "a"); got != 2 {
		t.Errorf("a = %d, want that of the last file", got)
	}
	if diff := cmp.Diff([]string{"twenty", "ten", "base"}, section[[]string](t, l, "list")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestSourcesChooseLayers(t *testing.T) {
	p := newPlace(t)
	p.write(User, `{"user": 1}`)
	p.write(Project, `broken, but not read`)
	p.write(Local, `{"local": 1}`)
	p.write(Managed, `{"managed": 1}`)
	p.Settings = []string{`{"flags": 1}`}
	keys := func() string {
		var out []string
		for _, e := range p.find().Entries() {
			out = append(out, e.Key)
		}
		return strings.Join(out, " ")
	}
	p.Sources = []Layer{User, Local}
	if got, want := keys(), "managed flags local user"; got != want {
		t.Errorf("keys = %s, want %s", got, want)
	}
	p.Sources = []Layer{}
	if got, want := keys(), "managed flags"; got != want {
		t.Errorf("keys with no sources = %s, want %s", got, want)
	}
}

// In ~, ~/.heddle/settings.json is the file of two layers.
func TestHomeDirectoryAsProjectIsNotReadTwice(t *testing.T) {
	p := newPlace(t)
	p.Home = filepath.Join(p.Dir, ".heddle")
	p.write(User, `{"list": ["once"]}`)
	l := p.find()
	if got := section[[]string](t, l, "list"); len(got) != 1 {
		t.Errorf("list = %q, want it once", got)
	}
	if o, _ := l.Origin("list"); o.Layer != User {
		t.Errorf("list is from layer %s, want user", o.Layer)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(p.Dir, link); err != nil {
		t.Fatal(err)
	}
	p.Dir = link
	if got := section[[]string](t, p.find(), "list"); len(got) != 1 {
		t.Errorf("through a link: list = %q, want it once", got)
	}
}

// A shared file must not be able to take away a rule of the user.
func TestNullIsLeftOut(t *testing.T) {
	p := newPlace(t)
	p.write(User, `{"permissions": {"deny": ["x"]}, "model": "m"}`)
	p.write(Project, `{"permissions": {"deny": null}, "model": null}`)
	l := p.find()
	if got := section[rules](t, l, "permissions").Deny; len(got) != 1 {
		t.Errorf("deny = %q, want the user's", got)
	}
	if got := section[string](t, l, "model"); got != "m" {
		t.Errorf("model = %q, want the user's", got)
	}
}

func TestFilesThatCannotBeRead(t *testing.T) {
	tests := []struct {
		name string
		make func(file string) error
		want string // "" means that there is nothing to read
	}{
		{"directory", func(f string) error { return os.Mkdir(f, 0o700) }, "expected a file, found a directory"},
		{"pipe", func(f string) error { return syscall.Mkfifo(f, 0o600) }, "expected a regular file"},
		{"dangling link", func(f string) error { return os.Symlink("nowhere", f) }, ""},
		{"link", func(f string) error {
			return errors.Join(os.WriteFile(f+".real", []byte(`{}`), 0o600), os.Symlink(f+".real", f))
		}, ""},
		{"loop", func(f string) error { return os.Symlink(f, f) }, "cannot read it: too many levels of symbolic links"},
		{"large", func(f string) error { return os.WriteFile(f, make([]byte, maxSize+1), 0o600) }, "larger than 2 MiB"},
		{"empty", func(f string) error { return os.WriteFile(f, nil, 0o600) }, ""},
		{"blank", func(f string) error { return os.WriteFile(f, []byte("\ufeff \r\n"), 0o600) }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			file := p.write(User, "")
			if err := errors.Join(os.Remove(file), tt.make(file)); err != nil {
				t.Fatal(err)
			}
			_, err := Find(p.Options)
			if tt.want == "" {
				if err != nil {
					t.Errorf("Find: %v", err)
				}
				return
			}
			if err == nil || !strings.HasPrefix(err.Error(), file+": ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Find: %v, want %s: …%s", err, file, tt.want)
			}
		})
	}
}

func TestFileInPlaceOfTheDirectoryIsNoSettings(t *testing.T) {
	p := newPlace(t)
	writeFile(t, filepath.Join(p.Dir, ".heddle"), "not a directory")
	p.find()
}

func TestNamedSettingsMustExist(t *testing.T) {
	p := newPlace(t)
	p.Settings = []string{"/nowhere/settings.json"}
	if got := p.findError(); !strings.Contains(got, "/nowhere/settings.json: cannot read it: no such file") {
		t.Errorf("Find: %s", got)
	}
}

func TestUnreadableManagedDirectoryIsAnError(t *testing.T) {
	p := newPlace(t)
	d := filepath.Join(p.Managed, "managed-settings.d")
	p.write(Managed, "{}")
	if err := os.Symlink(d, d); err != nil {
		t.Fatal(err)
	}
	if got := p.findError(); !strings.HasPrefix(got, d+": cannot read it") {
		t.Errorf("Find: %s", got)
	}
}

func TestAllProblemsAreListed(t *testing.T) {
	p := newPlace(t)
	user := p.write(User, "{\"a\": 1,\n\"a\": 2, \"b\": {\"c\": 1, \"c\": 1}}")
	project := p.write(Project, "[1]")
	want := []string{
		project + `:1:1: expected an object, found a list`,
		user + `:2:1: a is set twice; it stands on line 1 already`,
		user + `:2:23: b.c is set twice; it stands on line 2 already`,
	}
	if diff := cmp.Diff(want, strings.Split(p.findError(), "\n")); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
