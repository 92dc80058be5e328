package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/config"
	"heddle/internal/extension"
	"heddle/internal/model"
	"heddle/internal/permission"
)

// settings is what the settings files may say.
type settings struct {
	Model       string                    `json:"model"`
	Effort      string                    `json:"effortLevel"`
	Permissions permissionSettings        `json:"permissions"`
	Env         map[string]string         `json:"env"`
	Providers   map[string]providerConfig `json:"providers"`
	model.Settings
	Web   webSettings  `json:"web"`
	Tasks taskSettings `json:"tasks"`
	// Trusted are the projects, or folders of projects, whose own settings may allow,
	// run and send. It does not count in a project's own files.
	Trusted    []string      `json:"trustedProjects"`
	SmallModel string        `json:"smallModel"` // for agents whose work needs no large one
	Agents     agentSettings `json:"agents"`
	broughtSettings
}

// broughtSettings are about what people bring along.
type broughtSettings = extension.Settings

type permissionSettings struct {
	Allow         []string `json:"allow"`
	Ask           []string `json:"ask"`
	Deny          []string `json:"deny"`
	Mode          string   `json:"defaultMode"`
	Directories   []string `json:"additionalDirectories"`
	DisableBypass string   `json:"disableBypassPermissionsMode"`
}

// providerConfig is a server that models are asked at.
type providerConfig struct {
	Type    string   `json:"type"` // anthropic or openai: the wire protocol
	BaseURL string   `json:"baseUrl"`
	KeyEnv  string   `json:"apiKeyEnv"` // the variable that holds the key; the key itself never stands in a file
	Version string   `json:"version"`   // of the Anthropic API
	Betas   []string `json:"betas"`     // of the Anthropic API
	Limit   int      `json:"maxConcurrent"`
}

// taskSettings bound what runs in the background. What is 0 has its default.
type taskSettings struct {
	Foreground     bool    `json:"disableBackground"`     // a timeout ends a command
	LifeHours      float64 `json:"shellLifeHours"`        // of a command in the background; 24
	OutputLimit    int64   `json:"outputLimitMB"`         // of one task; 5000
	SessionLimit   int64   `json:"sessionOutputLimitMB"`  // of all tasks of a session; 20000
	KeepDays       float64 `json:"keepOutputDays"`        // of sessions that are over; 30
	BlockingBudget float64 `json:"blockingBudgetSeconds"` // as --blocking-budget
}

type webSettings struct {
	AllowPrivate bool `json:"allowPrivateAddresses"`
}

// place is where a conversation happens.
type place struct {
	dir  string // the working directory: absolute, symlinks resolved
	home string // where state is kept
}

func findPlace() (place, error) {
	dir, err := os.Getwd()
	if err != nil {
		return place{}, fmt.Errorf("find the working directory: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return place{}, fmt.Errorf("find the working directory: %w", err)
	}
	home, err := config.Home()
	if err != nil {
		return place{}, err
	}
	return place{dir, home}, nil
}

// project is the folder whose settings count: the nearest one with settings from the working
// directory up to the top of its git checkout, or else the working directory.
func (p place) project() string {
	for dir := p.dir; ; dir = filepath.Dir(dir) {
		for _, name := range []string{"settings.json", "settings.local.json"} {
			if _, err := os.Lstat(filepath.Join(dir, ".heddle", name)); err == nil && !sameFile(filepath.Join(dir, ".heddle"), p.home) {
				return dir
			}
		}
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil || dir == filepath.Dir(dir) {
			return p.dir
		}
	}
}

// sameFile reports whether two names are of one file: a home directory may be a checkout.
func sameFile(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// projectDir is where the transcripts of this directory's sessions lie.
func (p place) projectDir() string {
	return filepath.Join(p.home, "projects", config.ProjectKey(p.dir))
}

// taskDir is where the tasks of a session keep their output and their journal.
func (p place) taskDir(session string) string {
	return filepath.Join(p.projectDir(), session, "tasks")
}

// layersOf reads the settings that the flags let in. The flags that are settings
// themselves count as the command line's layer.
func layersOf(p place, o *options) (*config.Layers, error) {
	c := config.Options{Home: p.home, Dir: p.project(), Managed: config.ManagedDir(), Whole: []string{"mcpServers"}}
	if o.settings != "" {
		c.Settings = []string{o.settings}
	}
	if o.bare {
		c.Sources = []config.Layer{}
	} else if o.sourcesSet {
		c.Sources = []config.Layer{}
		for _, s := range o.sources {
			c.Sources = append(c.Sources, config.Layer(s))
		}
	}
	key := func(name string, value any, path ...string) {
		c.Keys = append(c.Keys, config.Flag{Name: name, Path: path, Value: value})
	}
	if o.model != "" {
		key("--model", o.model, "model")
	}
	if o.effort != "" {
		key("--effort", o.effort, "effortLevel")
	}
	if mode := o.startMode(); mode != "" {
		key("--permission-mode", mode, "permissions", "defaultMode")
	}
	if len(o.addDirs) > 0 {
		key("--add-dir", []string(o.addDirs), "permissions", "additionalDirectories")
	}
	if len(o.allowed) > 0 {
		key("--allowedTools", []string(o.allowed), "permissions", "allow")
	}
	if len(o.disallowed) > 0 {
		key("--disallowedTools", []string(o.disallowed), "permissions", "deny")
	}
	layers, err := config.Find(c)
	if err != nil {
		return nil, usageError{joined(err)}
	}
	return layers, nil
}

func (o *options) startMode() string {
	if o.skipPermissions {
		return string(permission.Bypass)
	}
	return o.mode
}

// settled is what a command that only looks at settings needs.
type settled struct {
	place
	layers *config.Layers
	settings
}

// lookAtSettings parses the flags of a command that shows something of the settings.
// Help was asked for and printed when done is true.
func lookAtSettings(name string, args []string, std stdio) (s settled, asJSON, done bool, err error) {
	var o options
	fs := newFlags(name)
	fs.BoolVar(&asJSON, "json", false, "print JSON")
	fs.StringVar(&o.settings, "settings", "", "take settings from `FILE`, or from JSON given here")
	if done, err = parseAll(fs, args, std, name+" [--json]"); done || err != nil {
		return s, asJSON, done, err
	}
	if s.place, err = findPlace(); err != nil {
		return s, asJSON, false, err
	}
	if s.layers, err = layersOf(s.place, &o); err != nil {
		return s, asJSON, false, err
	}
	s.settings, err = readSettings(s.layers, std.err)
	return s, asJSON, false, err
}

// readSettings decodes all settings. What no part of heddle knows is told and
// otherwise ignored: the files are shared with other versions.
func readSettings(layers *config.Layers, stderr io.Writer) (settings, error) {
	s, err := config.Section[settings](layers, "")
	if err != nil {
		return s, usageError{joined(err)}
	}
	if err := s.check(layers); err != nil {
		return s, err
	}
	for _, p := range config.Unknown[settings](layers, "") {
		fmt.Fprintf(stderr, "heddle: %v\n", p)
	}
	return s, nil
}

// check refuses values of the right type that mean nothing, and says where they stand.
func (s settings) check(layers *config.Layers) error {
	wrong := func(text string, path ...string) error {
		origin, _ := layers.Origin(path...)
		return usagef("%v: %s: %s", origin, strings.Join(path, "."), text)
	}
	if s.Effort != "" && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, s.Effort) {
		return wrong(fmt.Sprintf("%q: want low, medium, high, xhigh or max", s.Effort), "effortLevel")
	}
	if _, err := permission.ParseMode(s.Permissions.Mode); err != nil {
		return wrong(err.Error(), "permissions", "defaultMode")
	}
	for name, c := range s.Providers {
		if c.Type != "" && c.Type != "anthropic" && c.Type != "openai" {
			return wrong(fmt.Sprintf("%q: want anthropic or openai", c.Type), "providers", name, "type")
		}
		if c.BaseURL != "" {
			if err := checkBaseURL(c.BaseURL); err != nil {
				return wrong(err.Error(), "providers", name, "baseUrl")
			}
		}
	}
	for name := range s.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return wrong("a variable cannot have this name", "env", name)
		}
	}
	for i, dir := range s.Trusted {
		if !filepath.IsAbs(dir) {
			return wrong(fmt.Sprintf("%q: want an absolute path", dir), "trustedProjects", fmt.Sprint(i))
		}
	}
	return nil
}

// checkBaseURL reports what is wrong with the address of a provider.
func checkBaseURL(base string) error {
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q: want http:// or https:// and a host", base)
	}
	return nil
}

// joined words several errors as one text of a line each.
func joined(err error) string {
	var many interface{ Unwrap() []error }
	if !errors.As(err, &many) {
		return err.Error()
	}
	var lines []string
	for _, e := range many.Unwrap() {
		lines = append(lines, e.Error())
	}
	return strings.Join(lines, "\nheddle: ")
}
