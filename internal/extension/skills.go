package extension

import (
	"embed"
	"path/filepath"

	"heddle/internal/config"
	"heddle/internal/skill"
)

//go:embed bundled
var bundled embed.FS

// folders are those that skills may lie in: a later one beats an earlier one.
var folders = []string{".agents", ".claude", ".heddle"}

// skills finds the skills and commands: of the program, of plugins, of the user and of
// the project; each beats those before it.
func (f *finder) skills() {
	var sources []skill.Source
	if !f.Bare {
		sources = append(sources, skill.Source{Name: "heddle", Skills: []string{"bundled/skills"}, Trusted: true, FS: bundled})
	}
	for _, p := range f.found.Plugins.Plugins {
		if p.Enabled {
			sources = append(sources, skill.Source{
				Layer: p.Layer, Name: "plugin " + p.Name, Plugin: p.Name, Skills: p.Skills, Commands: p.Commands, Vars: p.Vars, Trusted: true,
			})
		}
	}
	if f.wants(config.User) {
		user := skill.Source{Layer: config.User, Name: "user", Trusted: true}
		if f.UserHome != "" {
			add(&user, filepath.Join(f.UserHome, ".agents"))
			add(&user, filepath.Join(f.UserHome, ".claude"))
		}
		add(&user, f.Home)
		sources = append(sources, user)
	}
	if f.wants(config.Project) {
		project := skill.Source{Layer: config.Project, Name: "project", Trusted: f.Trusted}
		dirs := f.ProjectDirs()
		if !f.Trusted && len(dirs) > 0 {
			project.Within = dirs[0]
		}
		for _, dir := range dirs {
			for _, name := range folders {
				if sub := filepath.Join(dir, name); !same(sub, f.Home) {
					add(&project, sub)
				}
			}
		}
		sources = append(sources, project)
	}
	f.found.Skills = skill.Find(sources...)
	f.problem(f.found.Skills.Problems()...)
	f.warning(f.found.Skills.Warnings()...)
}

// add lets a source have what lies in a folder.
func add(s *skill.Source, dir string) {
	s.Skills = append(s.Skills, filepath.Join(dir, "skills"))
	s.Commands = append(s.Commands, filepath.Join(dir, "commands"))
}
