package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"heddle/internal/config"
	"heddle/internal/hook"
	"heddle/internal/permission"
	"heddle/internal/tool"
)

// newGate builds the permissions of a session. Each rule keeps where it came from,
// since a path in it is relative to that.
func newGate(p place, o *options, layers, granted *config.Layers, set settings) (*permission.Gate, error) {
	s := permission.Settings{
		Directories: absolute(p.dir, set.Permissions.Directories),
		Root:        os.Geteuid() == 0 && os.Getenv("HEDDLE_SANDBOX") == "",
		Advice:      advice,
		Patience:    set.Agents.patience(),
	}
	mode, err := permission.ParseMode(set.Permissions.Mode)
	if err != nil {
		return nil, usagef("permission mode: %v", err)
	}
	s.Mode = mode
	s.DisableBypass = set.Permissions.DisableBypass == "disable"
	s.AllowBypass = o.allowSkip || o.skipPermissions || mode == permission.Bypass
	for _, l := range []struct {
		key    string
		rules  []string
		layers *config.Layers
		into   *[]permission.Rule
	}{
		{"allow", set.Permissions.Allow, granted, &s.Allow},
		{"ask", set.Permissions.Ask, layers, &s.Ask},
		{"deny", set.Permissions.Deny, layers, &s.Deny},
	} {
		for i, text := range l.rules {
			origin, _ := l.layers.Origin("permissions", l.key, fmt.Sprint(i))
			rule, err := permission.ParseRule(p.source(origin), text)
			if err != nil {
				return nil, usagef("%v: %v", origin, err)
			}
			*l.into = append(*l.into, rule)
		}
	}
	if err := s.Check(); err != nil {
		return nil, usagef("%v", err)
	}
	return permission.NewGate(s, nil), nil
}

// advice is what hooks said of the call that runs with ctx.
func advice(ctx context.Context) permission.Advice {
	a, ok := hook.AdviceOf(ctx)
	switch {
	case !ok:
		return permission.Advice{}
	case a.Decision == hook.Allow:
		return permission.Advice{Behavior: permission.Allow, Reason: cmp.Or(a.Reason, "a hook allows it")}
	}
	return permission.Advice{Behavior: permission.Ask, Reason: cmp.Or(a.Reason, "a hook wants it to be asked")}
}

// source says what paths in a rule from origin are relative to.
func (p place) source(origin config.Origin) permission.Source {
	s := permission.Source{Name: origin.String(), Anchor: p.project()}
	switch origin.Layer {
	case config.User:
		s.Anchor, s.Destination = p.home, permission.ToUser
	case config.Project:
		s.Destination = permission.ToProject
	case config.Local:
		s.Destination = permission.ToLocal
	case config.Flags:
		s.Destination = permission.ToFlags
	case config.Managed:
		s.Anchor = filepath.Dir(origin.File) // and no update reaches it
	}
	return s
}

// warn tells which rules do nothing.
func warn(w io.Writer, g *permission.Gate, tools []tool.Tool) {
	for _, text := range append(g.Warnings(), g.Unknown(tools)...) {
		fmt.Fprintf(w, "heddle: %s\n", text)
	}
}
