package extension

import (
	"fmt"
	"os"
	"path/filepath"

	"heddle/internal/config"
	"heddle/internal/plugin"
)

// plugins finds the plugins. Those of a project that is not trusted are left alone.
func (f *finder) plugins() error {
	o := plugin.Options{Enabled: f.Chosen.Plugins, Data: filepath.Join(f.Home, "plugin-data"), Config: f.pluginConfig()}
	if f.wants(config.User) {
		o.Folders = append(o.Folders, plugin.Folder{Dir: filepath.Join(f.Home, "plugins"), Layer: config.User, Source: "user", Many: true})
	}
	if f.wants(config.Project) {
		for _, dir := range f.projectPlugins() {
			if f.Trusted {
				o.Folders = append(o.Folders, plugin.Folder{Dir: dir, Layer: config.Project, Source: "project", Many: true})
			} else if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
				f.found.Withheld = append(f.found.Withheld, "the plugins in "+dir)
			}
		}
	}
	for _, dir := range f.Flags.Plugins {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("--plugin-dir: there is no folder %s", dir)
		}
		abs, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		o.Folders = append(o.Folders, plugin.Folder{Dir: abs, Layer: config.Flags, Source: "--plugin-dir"})
	}
	f.found.Plugins = plugin.Find(o)
	f.problem(f.found.Plugins.Problems...)
	f.warning(f.found.Plugins.Warnings...)
	return nil
}

// projectPlugins are the folders in which the project may have plugins.
func (f *finder) projectPlugins() []string {
	var dirs []string
	for _, dir := range f.ProjectDirs() {
		if dir = filepath.Join(dir, ".heddle"); !same(dir, f.Home) {
			dirs = append(dirs, filepath.Join(dir, "plugins"))
		}
	}
	return dirs
}

// pluginConfig returns the values that settings give to plugins, as texts.
func (f *finder) pluginConfig() map[string]map[string]string {
	all := map[string]map[string]string{}
	for name, c := range f.Chosen.Config {
		all[name] = map[string]string{}
		for key, value := range c.Options {
			all[name][key] = fmt.Sprint(value)
		}
	}
	return all
}
