package plugin

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"heddle/internal/config"
)

// manifests are where a plugin may describe itself. The first that is there counts.
var manifests = []string{".heddle-plugin/plugin.json", ".claude-plugin/plugin.json"}

// contents are what makes a folder a plugin, beside a manifest.
var contents = []string{"skills", "commands", "agents", "hooks/hooks.json", ".mcp.json", "SKILL.md"}

// plugins returns the folders of plugins that there are in a place, by name.
func (f Folder) plugins() ([]string, []*config.Problem) {
	info, err := os.Stat(f.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.Many && !exists(f.Dir):
		return nil, nil
	case errors.Is(err, fs.ErrNotExist):
		return nil, f.problem(f.Dir, "there is no such folder")
	case err != nil:
		return nil, f.problem(f.Dir, "cannot read it: "+reason(err))
	case !info.IsDir():
		return nil, f.problem(f.Dir, "expected a folder with plugins, found a file; if it is an archive, unpack it")
	}
	if !f.Many && isPlugin(f.Dir) {
		return []string{f.Dir}, nil
	}
	inner, problems := f.inner()
	if f.Many {
		return inner, problems
	}
	var dirs []string
	for _, dir := range inner {
		if isPlugin(dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		return []string{f.Dir}, nil // to be told what it lacks
	}
	return dirs, problems
}

// inner returns the folders in a folder. Hidden ones and files are nobody's plugins.
func (f Folder) inner() (dirs []string, problems []*config.Problem) {
	entries, err := os.ReadDir(f.Dir)
	if err != nil {
		problems = f.problem(f.Dir, "cannot read all of it: "+reason(err))
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		path := filepath.Join(f.Dir, e.Name())
		info, err := os.Stat(path)
		switch {
		case err != nil:
			problems = append(problems, f.problem(path, "cannot follow it to a plugin: "+reason(err))...)
		case info.IsDir():
			dirs = append(dirs, path)
		}
	}
	return dirs, problems
}

func (f Folder) problem(file, text string) []*config.Problem {
	return []*config.Problem{{Origin: config.Origin{Layer: f.Layer, File: file}, Text: text}}
}

func isPlugin(dir string) bool {
	for _, list := range [][]string{manifests, contents} {
		for _, name := range list {
			if exists(filepath.Join(dir, name)) {
				return true
			}
		}
	}
	return false
}

// exists reports whether anything is there, if only a link that leads nowhere or a file
// that cannot be looked at: those are to be reported, not to be overlooked.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil || !missing(err)
}
