// Package extension finds what people bring along: MCP servers, hooks, skills, commands
// and plugins, wherever they lie, and decides what of it counts. Nothing is started here.
//
//	settings, .mcp.json, skills/, commands/, plugins/ ──Find──▶ Found ──▶ internal/extension/attach
//
// What comes with a clone may instruct, but not run and not permit, until the project is
// trusted. What a file has wrong costs only itself, and is told with its place.
package extension

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"heddle/internal/config"
	"heddle/internal/hook"
	"heddle/internal/mcp"
	"heddle/internal/plugin"
	"heddle/internal/roster"
	"heddle/internal/skill"
)

// Settings are those about what people bring along. What hooks and servers are, their
// packages read.
type Settings struct {
	Hooks   json.RawMessage `json:"hooks"`
	NoHooks bool            `json:"disableAllHooks"`
	Servers json.RawMessage `json:"mcpServers"`
	Plugins map[string]bool `json:"enabledPlugins"` // by name; what is not named is on
	// Config are what plugins let the user set, by plugin and key.
	Config map[string]pluginConfig `json:"pluginConfigs"`
	// Servers of a project's .mcp.json that count as approved, by name, or all of them, and
	// those that are not started.
	AllServers bool           `json:"enableAllProjectMcpServers"`
	Enabled    []string       `json:"enabledMcpjsonServers"`
	Disabled   []string       `json:"disabledMcpjsonServers"`
	MCP        ServerSettings `json:"mcp"`
}

// ServerSettings bound what MCP servers cost. What is 0 has its default.
type ServerSettings struct {
	StartWait      float64 `json:"startWaitSeconds"`  // that the first request waits for servers; 2
	StartLimit     float64 `json:"startLimitSeconds"` // after which a server that does not come up is given up; 30
	CallBackground float64 `json:"backgroundSeconds"` // after which a call goes on in the background; 120, -1 is never
	ResultLimit    int     `json:"resultLimitKB"`     // of text in a result; the rest is in a file; 100
	ShowLimit      int     `json:"definitionLimitKB"` // of definitions in the prompt; above, tools are found by ToolSearch; 40, -1 is always
}

// pluginConfig is one entry of pluginConfigs.
type pluginConfig struct {
	Options map[string]any `json:"options"`
}

// Options say where to look.
type Options struct {
	Dir      string // the working directory: absolute, symlinks resolved
	Project  string // the folder whose settings count
	Home     string // the state directory of heddle
	Managed  string // the folder of whoever runs the machine; empty: there is none
	UserHome string // the home directory of the user; empty: there is none
	// Granted are the settings that may make something run. Chosen is what settings say
	// about what people bring along.
	Granted *config.Layers
	Chosen  Settings
	// Trusted says that the project's own files may make something run.
	Trusted bool
	// Sources are the layers among Local, Project and User to look at; nil: all.
	Sources []config.Layer
	Flags
	// Approved reports whether a server of one of the project's own files may start, as its
	// entry stands.
	Approved func(file, name string, entry []byte) bool
	Getenv   func(string) (string, bool)
}

// Flags are what was named on the command line.
type Flags struct {
	Bare    bool     // nothing else counts
	Servers []string // files with servers, or objects as JSON
	Strict  bool     // no other servers count
	Plugins []string // folders
	Agents  string   // agents by name, as JSON
}

// Found is all that there is.
type Found struct {
	Servers []mcp.Config // by name; those that are disabled, too
	// Unapproved are servers of the project's .mcp.json that do not start before a person
	// has approved them.
	Unapproved []mcp.Config
	Hooks      []hook.Hook
	NoHooks    bool // hooks are switched off, also those of skills
	// Trusted says that the project's own files count in all that they say.
	Trusted bool
	// Withheld is what the project has and does not count because it is not trusted, in words.
	Withheld []string
	Skills   *skill.Catalog
	Agents   *roster.Roster
	Plugins  *plugin.Found
	// Overridden are the servers that another one of their name has replaced.
	Overridden []Overridden
	Problems   []*config.Problem // what was left out, and why
	Warnings   []*config.Problem // what works otherwise than it is written
}

// Overridden is a server that does not count.
type Overridden struct {
	Name     string
	Where    config.Origin
	By       config.Origin
	BySource string
}

// Find looks everywhere. The error is about what flags name; all else that is wrong is in
// what it returns.
func Find(o Options) (*Found, error) {
	f := &finder{Options: o, found: &Found{Trusted: o.Trusted}}
	if err := f.plugins(); err != nil {
		return nil, err
	}
	f.skills()
	if err := f.agents(); err != nil {
		return nil, err
	}
	f.hooks()
	if err := f.servers(); err != nil {
		return nil, err
	}
	order := func(a, b *config.Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	}
	slices.SortStableFunc(f.found.Problems, order)
	slices.SortStableFunc(f.found.Warnings, order)
	return f.found, nil
}

// finder fills in what was found.
type finder struct {
	Options
	found *Found
}

func (f *finder) problem(list ...*config.Problem) {
	f.found.Problems = append(f.found.Problems, list...)
}

func (f *finder) warning(list ...*config.Problem) {
	f.found.Warnings = append(f.found.Warnings, list...)
}

// wants reports whether a layer is looked at.
func (f *finder) wants(l config.Layer) bool {
	return !f.Bare && (f.Sources == nil || slices.Contains(f.Sources, l))
}

// ProjectDirs are the folders that the project's own files may lie in: from the top of the
// checkout, or from the project, to the working directory. What is nearer to that counts.
func (o *Options) ProjectDirs() []string {
	dirs := []string{o.Dir}
	top := o.Dir
	for dir := o.Dir; ; dir = filepath.Dir(dir) {
		if dir == o.Project || exists(filepath.Join(dir, ".git")) {
			top = dir
		}
		if exists(filepath.Join(dir, ".git")) || dir == filepath.Dir(dir) {
			break
		}
	}
	for dir := o.Dir; dir != top; {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	// In the home directory, what lies there is the user's.
	return slices.DeleteFunc(dirs, func(dir string) bool { return o.UserHome != "" && same(dir, o.UserHome) })
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// same reports whether two names are of one file.
func same(a, b string) bool {
	if a == b {
		return true
	}
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
