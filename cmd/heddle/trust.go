package main

import (
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"heddle/internal/config"
	"heddle/internal/permission"
)

// A project's own settings come with whatever was cloned. Until a person trusts the
// project, they may forbid and name, but not allow, run or send: each key below
// could be used to take keys or to run programs as soon as heddle starts.

// distrust puts the person's own values in the place of those that an untrusted project
// may not set, and tells which were left out. granted are the layers that allow
// rules and directories come from.
func distrust(p place, o *options, layers *config.Layers, set *settings, stderr io.Writer) (granted *config.Layers, err error) {
	own, err := personal(p, o)
	if err != nil {
		return nil, err
	}
	mine, err := config.Section[settings](own, "")
	if err != nil {
		return nil, usageError{joined(err)}
	}
	if slices.ContainsFunc(mine.Trusted, func(dir string) bool { return trusts(p, dir) }) {
		return layers, nil
	}
	var left []string
	replace := func(name string, theirs, ours any) {
		a, b := reflect.ValueOf(theirs).Elem(), reflect.ValueOf(ours).Elem()
		if (a.Len() > 0 || b.Len() > 0) && !reflect.DeepEqual(a.Interface(), b.Interface()) {
			left = append(left, name)
			a.Set(b)
		}
	}
	replace("permissions.allow", &set.Permissions.Allow, &mine.Permissions.Allow)
	replace("permissions.additionalDirectories", &set.Permissions.Directories, &mine.Permissions.Directories)
	replace("env", &set.Env, &mine.Env)
	replace("providers", &set.Providers, &mine.Providers)
	if set.Permissions.Mode != mine.Permissions.Mode && !stricter(set.Permissions.Mode, mine.Permissions.Mode) {
		left = append(left, "permissions.defaultMode")
		set.Permissions.Mode = mine.Permissions.Mode
	}
	if set.Web != mine.Web {
		left = append(left, "web")
		set.Web = mine.Web
	}
	if set.Tasks != mine.Tasks {
		left = append(left, "tasks")
		set.Tasks = mine.Tasks
	}
	replace("hooks", &set.Hooks, &mine.Hooks)
	replace("mcpServers", &set.Servers, &mine.Servers)
	replace("enabledPlugins", &set.Plugins, &mine.Plugins)
	replace("pluginConfigs", &set.Config, &mine.Config)
	replace("enabledMcpjsonServers", &set.Enabled, &mine.Enabled)
	if set.AllServers != mine.AllServers {
		left = append(left, "enableAllProjectMcpServers")
		set.AllServers = mine.AllServers
	}
	if set.MCP != mine.MCP {
		left = append(left, "mcp")
		set.MCP = mine.MCP
	}
	if !reflect.DeepEqual(set.Agents, mine.Agents) {
		left = append(left, "agents")
		set.Agents = mine.Agents
	}
	set.Trusted = mine.Trusted
	if len(left) > 0 {
		fmt.Fprintf(stderr, "heddle: this project is not trusted, so its settings of %s do not count. If you trust it, add %q to trustedProjects in %s\n",
			strings.Join(left, ", "), p.project(), filepath.Join(p.home, "settings.json"))
	}
	return own, nil
}

// personal are the layers that no project can write.
func personal(p place, o *options) (*config.Layers, error) {
	c := *o
	c.sourcesSet = true
	if !o.sourcesSet || slices.Contains(o.sources, string(config.User)) {
		c.sources = list{string(config.User)}
	} else {
		c.sources = nil
	}
	return layersOf(p, &c)
}

// stricter reports whether a mode takes permissions away and gives none, compared with
// the person's own.
func stricter(theirs, ours string) bool {
	mode, err := permission.ParseMode(theirs)
	own, wrong := permission.ParseMode(ours)
	if err != nil || wrong != nil || own == permission.Plan || own == permission.DontAsk { // each forbids what the other does not
		return mode == own
	}
	return mode == permission.Plan || mode == permission.DontAsk || mode == permission.Default
}

// trusts reports whether dir, as it stands in trustedProjects, is or holds the project.
func trusts(p place, dir string) bool {
	dirs := absolute(p.dir, []string{dir})
	if !filepath.IsAbs(dir) {
		return false // relative to what?
	}
	rel, err := filepath.Rel(dirs[0], p.project())
	return err == nil && filepath.IsLocal(rel)
}
