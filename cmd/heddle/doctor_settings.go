package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/config"
	"heddle/internal/extension"
	"heddle/internal/plugin"
	"heddle/internal/skill"
)

// doctor looks at everything that a conversation would begin with. What would keep one
// from starting is a problem like others, and hides as little as possible of the rest.
type doctor struct {
	report
	brought
	good    list // the layers whose files can be used
	layers  *config.Layers
	granted *config.Layers
}

func newDoctor(p place) *doctor {
	return &doctor{
		report: report{
			Version: version(), Home: p.home, Dir: p.dir, Project: p.project(), Withheld: []string{},
			Settings: []settingsFile{}, Providers: []seenProvider{}, Servers: []seenServer{}, Hooks: []seenHook{},
			Skills: []seenSkill{}, Plugins: []seenPlugin{}, Overridden: []seenShadow{}, Problems: []finding{}, Warnings: []finding{},
		},
		brought: brought{place: p, found: &extension.Found{Skills: skill.Find(), Plugins: &plugin.Found{}}},
	}
}

// lookAround fills in the report.
func (d *doctor) lookAround() {
	d.readSettings()
	d.lookAtProviders()
	found, err := bring(d.place, &options{}, d.layers, d.granted, d.set)
	if err != nil {
		d.problem(err)
	} else {
		d.found = found
	}
	d.lookAtFound()
}

// problem notes what an error says: an error of settings joins many.
func (d *doctor) problem(err error) {
	var many interface{ Unwrap() []error }
	var one *config.Problem
	switch {
	case errors.As(err, &one) && error(one) == err:
		d.Problems = append(d.Problems, finding(*one))
	case errors.As(err, &many):
		for _, e := range many.Unwrap() {
			d.problem(e)
		}
	default:
		d.Problems = append(d.Problems, d.placed(err.Error()))
	}
}

// placed takes the place that a text begins with for what it is.
func (d *doctor) placed(text string) finding {
	for _, f := range d.Settings {
		if rest, ok := strings.CutPrefix(text, f.File+":"); ok {
			at := config.Origin{Layer: f.Layer, File: f.File}
			if n, _ := fmt.Sscanf(rest, "%d:%d:", &at.Line, &at.Column); n == 2 {
				rest = strings.SplitN(rest, ":", 3)[2]
			}
			return finding{at, strings.TrimSpace(rest)}
		}
	}
	return finding{Text: text}
}

// readSettings reads each file by itself, so that a broken one costs only itself.
func (d *doctor) readSettings() {
	own := filepath.Join(d.Project, ".heddle")
	d.readFile(config.Managed, filepath.Join(config.ManagedDir(), "managed-settings.json"))
	d.readFile(config.Local, filepath.Join(own, "settings.local.json"))
	if !sameFile(own, d.home) {
		d.readFile(config.Project, filepath.Join(own, "settings.json"))
	}
	d.readFile(config.User, filepath.Join(d.home, "settings.json"))
	d.join()
}

// readFile checks one file as a conversation would check all of them together.
func (d *doctor) readFile(layer config.Layer, path string) {
	l, err := config.File(layer, path)
	if errors.Is(err, fs.ErrNotExist) {
		if layer != config.Managed {
			d.good = append(d.good, string(layer))
		}
		return
	}
	d.Settings = append(d.Settings, settingsFile{Layer: layer, File: path})
	var set settings
	if err == nil {
		set, err = config.Section[settings](l, "")
	}
	if err == nil {
		err = set.check(l)
	}
	if err != nil {
		d.problem(err)
		d.Settings[len(d.Settings)-1].Broken = true
		return
	}
	if layer != config.Managed {
		d.good = append(d.good, string(layer))
	}
	if _, err := newGate(d.place, &options{}, l, l, set); err != nil {
		d.problem(err)
	}
	for _, p := range config.Unknown[settings](l, "") {
		d.Warnings = append(d.Warnings, finding(*p))
	}
}

// join makes one of what the good files say.
func (d *doctor) join() {
	o := &options{sources: d.good, sourcesSet: true}
	var err error
	if d.layers, err = layersOf(d.place, o); err == nil {
		d.set, err = readSettings(d.layers, io.Discard)
	}
	if err != nil { // of the administrator's files, which nobody can leave out
		d.problem(err)
		d.layers, _ = config.Text(config.User, "", nil) // nothing can be wrong with nothing
		d.set = settings{}
	}
	var told bytes.Buffer
	if d.granted, err = distrust(d.place, o, d.layers, &d.set, &told); err != nil {
		d.granted = d.layers
	}
	d.trusted = d.granted == d.layers && err == nil
	d.Trusted = d.trusted
	if !d.trusted {
		d.Trust = cmp.Or(strings.TrimPrefix(strings.TrimSpace(told.String()), "heddle: "),
			fmt.Sprintf("to let this project run and allow things, add %q to trustedProjects in %s", d.Project, filepath.Join(d.home, "settings.json")))
	}
}

// lookAtProviders says where models can be asked.
func (d *doctor) lookAtProviders() {
	m, err := newModels(d.set)
	if err != nil {
		d.problem(err)
		return
	}
	d.hidden = m.keyVariables()
	for _, name := range slices.Sorted(maps.Keys(m.providers)) {
		c := m.providers[name]
		one := seenProvider{Name: name, Type: c.Type, URL: address(c.BaseURL), Key: c.KeyEnv, Usable: m.usable(name)}
		if source := m.KeySource(name); source != "none" {
			one.Key, one.KeySet = source, true
		}
		d.Providers = append(d.Providers, one)
	}
	d.Model = cmp.Or(d.set.Model, m.fallback())
	switch {
	case d.Model == "":
		d.Warnings = append(d.Warnings, finding{Text: "there is no key for a model: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or OPENAI_BASE_URL for a local server"})
	case strings.HasPrefix(d.Model, "scripted/"):
	default:
		d.lookAtModel(m)
	}
}

func (d *doctor) lookAtModel(m *models) {
	at, _ := d.layers.Origin("model")
	info, err := m.catalog.Resolve(d.Model)
	if err == nil && m.providers[info.Provider].Type == "" {
		err = fmt.Errorf("there is no provider %q; settings can add one under providers", info.Provider)
	}
	if err != nil {
		d.Problems = append(d.Problems, finding{at, "model: " + err.Error()})
		return
	}
	if key := m.providers[info.Provider].KeyEnv; !m.usable(info.Provider) {
		d.Warnings = append(d.Warnings, finding{at, fmt.Sprintf("model: there is no key for %s: set %s", info.Provider, cmp.Or(key, "the variable that apiKeyEnv names"))})
	}
}

// address is where something is, without what may be secret in it.
func address(text string) string {
	u, err := url.Parse(text)
	if err != nil || text == "" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
