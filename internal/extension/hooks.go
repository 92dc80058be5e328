package extension

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"heddle/internal/config"
	"heddle/internal/hook"
)

// hooks reads the hooks of settings, of the settings of other programs, and of plugins.
// A project's own run only if it is trusted: they are commands.
func (f *finder) hooks() {
	f.found.NoHooks = f.hooksOff()
	f.read(f.Granted.At("hooks"), "settings", nil)
	if f.found.NoHooks { // who runs the machine is not to be switched off by those who use it
		origin, _ := f.Granted.Origin("disableAllHooks")
		f.found.Hooks = slices.DeleteFunc(f.found.Hooks, func(h hook.Hook) bool {
			return h.Origin.Layer != config.Managed || origin.Layer == config.Managed
		})
		return
	}
	if f.UserHome != "" && f.wants(config.User) {
		f.claude(config.Options{Home: filepath.Join(f.UserHome, ".claude"), Sources: []config.Layer{config.User}})
	}
	for _, layer := range []config.Layer{config.Project, config.Local} {
		if !f.wants(layer) || f.UserHome != "" && same(f.Project, f.UserHome) {
			continue
		}
		f.claude(config.Options{Dir: f.Project, Folder: ".claude", Sources: []config.Layer{layer}})
	}
	for _, p := range f.found.Plugins.Plugins {
		for _, l := range p.Hooks {
			f.read(l, "plugin "+p.Name, p.Vars)
		}
	}
	f.found.Hooks = hook.Dedupe(f.found.Hooks)
}

// hooksOff reports whether hooks are switched off. A project that is not trusted cannot do
// that: the user's own may be what keeps watch over it.
func (f *finder) hooksOff() bool {
	said := f.Granted.At("disableAllHooks")
	off := said != nil && string(said.JSON()) == "true"
	if f.Chosen.NoHooks && !off {
		f.found.Withheld = append(f.found.Withheld, "its disableAllHooks")
	}
	return off
}

// claude reads the hooks, and nothing else, of settings that another program keeps.
func (f *finder) claude(o config.Options) {
	l, err := config.Find(o)
	if err != nil {
		f.problem(problemsOf(err)...)
		return
	}
	if off := l.At("disableAllHooks"); off != nil && string(off.JSON()) == "true" {
		return
	}
	f.read(l.At("hooks"), "settings", nil)
}

// read adds hooks. What a project that is not trusted says is checked all the same, so
// that its people see what is wrong.
func (f *finder) read(l *config.Layers, source string, vars map[string]string) {
	if l == nil {
		return
	}
	hooks, problems, warnings := hook.Read(l, source, vars)
	f.problem(problems...)
	f.warning(warnings...)
	if len(hooks) > 0 && ofProject(l.Here().Layer) && !f.Trusted {
		what := "the hook of "
		if len(hooks) > 1 {
			what = fmt.Sprintf("%d hooks of ", len(hooks))
		}
		f.found.Withheld = append(f.found.Withheld, what+l.Here().File)
		return
	}
	f.found.Hooks = append(f.found.Hooks, hooks...)
}

func ofProject(l config.Layer) bool { return l == config.Project || l == config.Local }

// problemsOf takes apart what the config package joined.
func problemsOf(err error) []*config.Problem {
	if many, ok := err.(interface{ Unwrap() []error }); ok {
		var list []*config.Problem
		for _, e := range many.Unwrap() {
			list = append(list, problemsOf(e)...)
		}
		return list
	}
	var p *config.Problem
	if errors.As(err, &p) {
		return []*config.Problem{p}
	}
	return []*config.Problem{{Text: err.Error()}}
}
