// Package plugin finds plugins: folders that bring skills, commands, agents, hooks and
// servers under one name. It says where their parts lie, and reads what is declared in
// JSON into trees that know their places; what is in the parts is for others to read.
//
// A plugin without a readable manifest is left out, a bad part costs only itself, and
// nothing of a plugin is read from outside its folder.
package plugin

import "heddle/internal/config"

// Plugin is one folder that brings skills, commands, agents, hooks and servers.
type Plugin struct {
	Name        string // in kebab-case, at most 64 bytes
	Version     string // one line, or nothing, like Description
	Description string
	Dir         string // absolute, without symbolic links
	Layer       config.Layer
	Source      string // as its [Folder] says
	// Enabled is false of a plugin that is switched off. Nothing below is set then.
	Enabled bool

	// Skills, Commands and Agents are folders of Dir with files of these kinds. Commands
	// and Agents may also be single files; one of Skills may be a skill itself.
	Skills, Commands, Agents []string
	// Hooks are objects of lists by the name of an event. What is in them is not checked.
	Hooks []*config.Layers
	// Servers are objects of servers by name. Of one name in two of them, the later counts.
	// What is in them is not checked.
	Servers []*config.Layers

	// Vars are what ${…} stands for in the plugin's texts, by name; those that are names
	// of variables are also for the environment of what it runs. The folder that
	// CLAUDE_PLUGIN_DATA names need not be there.
	Vars map[string]string
	// Secret are the names in Vars whose values must not be shown to anybody.
	Secret map[string]bool
}

// Folder is a place to look for plugins.
type Folder struct {
	Dir    string
	Layer  config.Layer
	Source string // in words, for people: user, project, --plugin-dir
	// Many says that each folder in Dir is a plugin; Dir need not be there. Otherwise it
	// must be, and is a plugin itself or, if it looks like none, has plugins in it.
	Many bool
}

// Options say where to look and what to make of it.
type Options struct {
	// Folders are the places, the one that counts least first.
	Folders []Folder
	// Enabled switches plugins on and off, by name or by name@marketplace.
	Enabled map[string]bool
	// Data is the folder in which each plugin has one of its own to write to; empty: none.
	Data string
	// Config are the values of what plugins let the user set, by plugin (named as in
	// Enabled) and key.
	Config map[string]map[string]string
}

// Shadow is a plugin that does not count because a later one has its name.
type Shadow struct {
	Name string
	Dir  string
	By   string // the folder of the later one
}

// Found is all that there is.
type Found struct {
	// Plugins have different names. They stand in the order of the folders.
	Plugins  []*Plugin
	Problems []*config.Problem // what was left out, and why
	Warnings []*config.Problem // what works otherwise than its author may think
	Shadowed []Shadow
}

// Find reads all plugins. The same folder counts once, as the last place says that has
// it; but what is the user's own does not become the project's.
func Find(o Options) *Found {
	found := &Found{}
	var readers []*reader
	for _, f := range o.Folders {
		dirs, problems := f.plugins()
		found.Problems = append(found.Problems, problems...)
		for _, dir := range dirs {
			readers = append(readers, identify(o, f, dir))
		}
	}
	for i, r := range readers {
		if r.plugin != nil {
			r.by = r.plugin.successor(readers[i+1:])
		}
	}
	for _, r := range readers {
		r.finish(o, found)
	}
	return found
}

// finish reads the parts of a plugin that counts, and puts down what came of it.
func (r *reader) finish(o Options, found *Found) {
	p := r.plugin
	if p != nil && r.by != nil {
		if p.Dir != r.by.Dir {
			found.Shadowed = append(found.Shadowed, Shadow{Name: p.Name, Dir: p.Dir, By: r.by.Dir})
		}
		return
	}
	if p != nil {
		if p.Enabled {
			r.parts()
			r.settings(o)
		}
		found.Plugins = append(found.Plugins, p)
	}
	found.Problems = append(found.Problems, r.problems...)
	found.Warnings = append(found.Warnings, r.warnings...)
}

// successor returns the last of the others that has p's name, or nil.
func (p *Plugin) successor(others []*reader) *Plugin {
	var last *Plugin
	for _, other := range others {
		if other.plugin != nil && other.plugin.Name == p.Name {
			last = other.plugin
		}
	}
	if last != nil && last.Dir == p.Dir && last.Layer == config.Project && p.Layer == config.User {
		last.Layer, last.Source = p.Layer, p.Source
	}
	return last
}
