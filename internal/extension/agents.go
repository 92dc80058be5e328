package extension

import (
	"fmt"
	"path/filepath"

	"heddle/internal/config"
	"heddle/internal/roster"
)

// agents finds the agents that can be called: of the program, of plugins, of the user, of
// the project, of a flag and of whoever runs the machine; each beats those before it.
func (f *finder) agents() error {
	sources := []roster.Source{roster.Builtin()}
	for _, p := range f.found.Plugins.Plugins {
		if !p.Enabled {
			continue
		}
		one := roster.Source{Layer: p.Layer, Name: "plugin " + p.Name, Plugin: p.Name}
		for _, path := range p.Agents {
			if filepath.Ext(path) == ".md" {
				one.Files = append(one.Files, path)
			} else {
				one.Folders = append(one.Folders, path)
			}
		}
		sources = append(sources, one)
	}
	if f.wants(config.User) {
		user := roster.Source{Layer: config.User, Name: "user", Trusted: true}
		if f.UserHome != "" {
			user.Folders = append(user.Folders,
				filepath.Join(f.UserHome, ".config", "opencode", "agent"), filepath.Join(f.UserHome, ".config", "opencode", "agents"),
				filepath.Join(f.UserHome, ".claude", "agents"))
		}
		user.Folders = append(user.Folders, filepath.Join(f.Home, "agents"))
		sources = append(sources, user)
	}
	if f.wants(config.Project) {
		project := roster.Source{Layer: config.Project, Name: "project", Trusted: f.Trusted}
		for _, dir := range f.ProjectDirs() {
			for _, sub := range []string{".opencode/agent", ".opencode/agents", ".claude/agents", ".heddle/agents"} {
				if path := filepath.Join(dir, sub); !same(filepath.Dir(path), f.Home) {
					project.Folders = append(project.Folders, path)
				}
			}
		}
		sources = append(sources, project)
	}
	if f.Flags.Agents != "" {
		l, err := config.Text(config.Flags, "--agents", []byte(f.Flags.Agents))
		if err != nil {
			return fmt.Errorf("--agents: %w", err)
		}
		sources = append(sources, roster.Source{Layer: config.Flags, Name: "--agents", JSON: l, Trusted: true})
	}
	if f.Managed != "" && !f.Bare {
		sources = append(sources, roster.Source{Layer: config.Managed, Name: "managed", Folders: []string{filepath.Join(f.Managed, "agents")}, Trusted: true})
	}
	f.found.Agents = roster.Find(sources...)
	f.problem(f.found.Agents.Problems()...)
	f.warning(f.found.Agents.Warnings()...)
	return nil
}
