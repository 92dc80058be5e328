package extension

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"heddle/internal/config"
	"heddle/internal/mcp"
)

// projectFile is where a project keeps its servers.
const projectFile = ".mcp.json"

// servers reads the servers: of plugins, of settings, of the project's own files and of
// flags; each beats those before it.
func (f *finder) servers() error {
	all := map[string]mcp.Config{}
	add := func(list []mcp.Config) {
		for _, c := range list {
			if old, ok := all[c.Name]; ok {
				f.found.Overridden = append(f.found.Overridden, Overridden{c.Name, old.Origin, c.Origin, c.Source})
			}
			all[c.Name] = c
		}
	}
	if !f.Strict {
		add(f.pluginServers())
		add(f.parse(f.Granted.At("mcpServers"), "settings", nil))
	}
	if !f.Strict && f.wants(config.Project) {
		for _, dir := range f.ProjectDirs() {
			free, held := f.projectServers(filepath.Join(dir, projectFile))
			add(slices.DeleteFunc(free, func(c mcp.Config) bool { // what does not start takes nothing else's place
				_, taken := all[c.Name]
				return c.Disabled && taken && !f.Trusted
			}))
			f.found.Unapproved = append(slices.DeleteFunc(f.found.Unapproved, func(c mcp.Config) bool {
				nearer := func(n mcp.Config) bool { return n.Name == c.Name }
				return slices.ContainsFunc(free, nearer) || slices.ContainsFunc(held, nearer)
			}), held...)
		}
	}
	for _, text := range f.Flags.Servers {
		l, err := flagServers(text)
		if err != nil {
			return fmt.Errorf("--mcp-config: %w", err)
		}
		add(f.parse(l, "--mcp-config", nil))
	}
	f.found.Servers = slices.Collect(maps.Values(all))
	byName := func(a, b mcp.Config) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(f.found.Servers, byName)
	slices.SortFunc(f.found.Unapproved, byName)
	return nil
}

// parse reads an object of servers. vars are known besides the environment.
func (f *finder) parse(l *config.Layers, source string, vars map[string]string) []mcp.Config {
	if l == nil {
		return nil
	}
	get := func(name string) (string, bool) {
		if v, ok := vars[name]; ok {
			return v, true
		}
		if name == "CLAUDE_PROJECT_DIR" || name == "HEDDLE_PROJECT_DIR" {
			return f.Project, true
		}
		return f.Getenv(name)
	}
	servers, problems, warnings := mcp.Parse(l, source, get)
	f.problem(problems...)
	f.warning(warnings...)
	return servers
}

// pluginServers names each after its plugin, so that none takes the place of another.
func (f *finder) pluginServers() []mcp.Config {
	var all []mcp.Config
	for _, p := range f.found.Plugins.Plugins {
		for _, l := range p.Servers {
			for _, c := range f.parse(l, "plugin "+p.Name, p.Vars) {
				c.Name = "plugin:" + p.Name + ":" + c.Name
				for name, value := range p.Vars {
					if _, set := c.Env[name]; c.Type == "stdio" && !set && !strings.HasPrefix(name, "user_config.") {
						if c.Env == nil {
							c.Env = map[string]string{}
						}
						c.Env[name] = value
					}
				}
				all = append(all, c)
			}
		}
	}
	return all
}

// projectServers reads a file that came with the project. Those that are held wait for a
// person's approval.
func (f *finder) projectServers(path string) (free, held []mcp.Config) {
	l, err := config.File(config.Project, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		f.problem(problemsOf(err)...)
	}
	if l == nil {
		return nil, nil
	}
	for _, c := range f.parse(inside(l), projectFile, nil) {
		c.Dir = filepath.Dir(path) // wherever in the project heddle is started
		c.Disabled = c.Disabled || slices.Contains(f.Chosen.Disabled, c.Name)
		if f.approved(path, c) {
			free = append(free, c)
		} else {
			held = append(held, c)
		}
	}
	return free, held
}

// inside returns the object with the servers: people leave the name around it out.
func inside(l *config.Layers) *config.Layers {
	if servers := l.At("mcpServers"); servers != nil {
		return servers
	}
	return l
}

// approved reports whether a server of a project's file may start, or never would.
func (f *finder) approved(file string, c mcp.Config) bool {
	return c.Disabled || f.Trusted || f.Chosen.AllServers || slices.Contains(f.Chosen.Enabled, c.Name) ||
		f.Approved != nil && f.Approved(file, c.Name, c.Raw)
}

// flagServers reads what --mcp-config names.
func flagServers(text string) (*config.Layers, error) {
	var l *config.Layers
	var err error
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		l, err = config.Text(config.Flags, "--mcp-config", []byte(text))
	} else {
		l, err = config.File(config.Flags, text)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s", text)
	}
	if err != nil {
		return nil, err
	}
	return inside(l), nil
}
