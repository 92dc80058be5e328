package permission

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"heddle/internal/tool"
)

// Gate lets calls run or not. It is safe for use by several goroutines.
type Gate struct {
	home   string
	bypass error // why bypassPermissions may not be switched on, or nil
	advice func(context.Context) Advice

	patience time.Duration // for questions of agents

	state atomic.Pointer[state]

	mu               sync.Mutex // for what follows, and for replacing state
	allow, ask, deny []Rule
	asker            Asker
	waiting          map[*waiting]struct{}
	denied           map[string]*record
	members          map[string]member // agents, and "" for the main conversation
}

// NewGate returns a gate. A nil asker means that nobody is there to ask. If s
// asks for bypassPermissions but may not have it, the mode is default; see
// [Settings.Check].
func NewGate(s Settings, asker Asker) *Gate {
	g := &Gate{
		home: s.Home, bypass: s.bypass(), advice: s.Advice, patience: s.Patience,
		allow: slices.Clone(s.Allow), ask: slices.Clone(s.Ask), deny: slices.Clone(s.Deny),
		asker:   asker,
		waiting: map[*waiting]struct{}{},
		denied:  map[string]*record{},
		members: map[string]member{},
	}
	if g.home == "" {
		g.home, _ = os.UserHomeDir() // without a home, ~ in a rule means nothing
	}
	mode := s.Mode
	if s.Check() != nil || mode == "" {
		mode = Default
	}
	g.state.Store(g.compile(g.allow, g.ask, g.deny, mode, slices.Clone(s.Directories)))
	return g
}

// Check says why the mode of s is not possible, if it is not.
func (s Settings) Check() error {
	if s.Mode == Bypass {
		return s.bypass()
	}
	if s.Mode == "" {
		return nil
	}
	_, err := ParseMode(string(s.Mode))
	return err
}

func (s Settings) bypass() error {
	switch {
	case s.DisableBypass:
		return errors.New("bypassPermissions is switched off by a setting (disableBypassPermissionsMode)")
	case s.Root:
		return errors.New("bypassPermissions is refused for root outside a sandbox; run as another user")
	case !s.AllowBypass && s.Mode != Bypass:
		return errors.New("bypassPermissions was not made available when this session started; start with --allow-dangerously-skip-permissions")
	}
	return nil
}

// Mode returns the mode.
func (g *Gate) Mode() Mode { return g.state.Load().mode }

// SetMode changes the mode, and settles the questions that this answers.
func (g *Gate) SetMode(m Mode) error {
	return g.Apply([]Update{{Type: SetMode, Mode: m, Destination: ToSession}})
}

// SetAsker says whom to ask from now on; nil is nobody. Questions that are
// already asked stay where they are.
func (g *Gate) SetAsker(a Asker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asker = a
}

// Directories returns the further working directories.
func (g *Gate) Directories() []string { return slices.Clone(g.state.Load().given) }

// Apply makes all the updates or, if one of them is not possible, none. Questions
// that are waiting are judged again: "always allow" answers those it fits.
func (g *Gate) Apply(updates []Update) error {
	g.mu.Lock()
	s := g.state.Load()
	next := change{g: g, allow: g.allow, ask: g.ask, deny: g.deny, mode: s.mode, dirs: s.given}
	for _, u := range updates {
		if err := next.apply(u); err != nil {
			g.mu.Unlock()
			return err
		}
	}
	g.allow, g.ask, g.deny = next.allow, next.ask, next.deny
	g.state.Store(g.compile(next.allow, next.ask, next.deny, next.mode, next.dirs))
	g.mu.Unlock()
	g.settle()
	return nil
}

// change is a state in the making.
type change struct {
	g                *Gate
	allow, ask, deny []Rule
	mode             Mode
	dirs             []string
}

func (c *change) apply(u Update) error {
	if u.Destination == "" {
		u.Destination = ToSession
	}
	if err := u.check(); err != nil {
		return err
	}
	switch u.Type {
	case SetMode:
		if u.Mode == Bypass && c.g.bypass != nil {
			return c.g.bypass
		}
		c.mode = u.Mode
	case AddDirectories:
		for _, d := range u.Directories {
			if !filepath.IsAbs(d) {
				return fmt.Errorf("permission update addDirectories: %q is not an absolute path", d)
			}
		}
		c.dirs = slices.Concat(without(c.dirs, u.Directories), u.Directories)
	case RemoveDirectories:
		c.dirs = without(c.dirs, u.Directories)
	default:
		return c.applyRules(u)
	}
	return nil
}

func (c *change) applyRules(u Update) error {
	rules := make([]Rule, 0, len(u.Rules))
	for _, text := range u.Rules {
		r, err := ParseRule(Source{Name: string(u.Destination), Anchor: c.g.anchor(u.Destination), Destination: u.Destination}, text.String())
		if err != nil {
			return err
		}
		rules = append(rules, r)
	}
	list := &c.allow
	switch u.Behavior {
	case Ask:
		list = &c.ask
	case Deny:
		list = &c.deny
	}
	*list = slices.DeleteFunc(slices.Clone(*list), func(old Rule) bool {
		if old.Source.Destination != u.Destination {
			return false
		}
		return u.Type == ReplaceRules || slices.ContainsFunc(rules, func(r Rule) bool { return r.String() == old.String() })
	})
	if u.Type != RemoveRules {
		*list = append(*list, rules...)
	}
	return nil
}

// anchor is the directory that "/path" starts from in the rules of a destination,
// as far as the rules that are there tell.
func (g *Gate) anchor(d Destination) string {
	for _, r := range slices.Concat(g.allow, g.ask, g.deny) {
		if r.Source.Destination == d {
			return r.Source.Anchor
		}
	}
	return ""
}

// MayRead reports whether no deny or ask rule is about reading a file, for tools that
// look into many.
func (g *Gate) MayRead(s *tool.Scope, path string) bool {
	st := g.state.Load().of(s.Agent)
	if !st.readGuard {
		return true
	}
	j := &judge{state: st, call: tool.Call{Scope: s}, root: s.Root, dir: s.Dir()}
	_, ruled := j.fileRule(j.locate(path), "Read")
	return !ruled
}

// MayConsent reports whether a program that answers by rules, such as a hook, may consent
// to a call: its consent lifts what would be asked by default, and nothing else.
func (g *Gate) MayConsent(t tool.Tool, c tool.Call) bool {
	return g.judge(t, c, Advice{Behavior: Allow}).Behavior == Allow
}

// About reports whether a rule is about a call of t, also if only about a part of it. The
// error says why that cannot be told: the rule is about nothing, or the call runs a
// command that does not show what it runs.
func About(r Rule, t tool.Tool, c tool.Call) (bool, error) {
	if why := r.Useless(); why != "" {
		return false, fmt.Errorf("the rule %s is about nothing: %s", r, why)
	}
	// In this mode only what hides from the rule is asked, and what always is.
	v := NewGate(Settings{Deny: []Rule{r}, Mode: Bypass}, nil).Judge(t, c)
	if v.Rule == nil && v.Behavior == Ask && !v.firm {
		return false, errors.New(v.Reason)
	}
	return v.Rule != nil, nil
}

// Hidden reports whether every call of the tool would be refused by a deny rule,
// so that a model need not see it.
func (g *Gate) Hidden(t tool.Tool) bool {
	return slices.ContainsFunc(g.state.Load().deny, func(r *compiled) bool {
		return r.kind == everyCall && r.forbids(t.Name)
	})
}

// Warnings says which rules have no effect, and why.
func (g *Gate) Warnings() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []string
	for b, rules := range map[Behavior][]Rule{Allow: g.allow, Ask: g.ask, Deny: g.deny} {
		for _, r := range rules {
			if w := r.warning(b); w != "" {
				list = append(list, w)
			}
		}
	}
	slices.Sort(list)
	return list
}

// Unknown says which ask and deny rules name a tool that is not among tools.
// Names with _ or * may be of tools that come later.
func (g *Gate) Unknown(tools []tool.Tool) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var list []string
	for _, r := range slices.Concat(g.ask, g.deny) {
		known := slices.ContainsFunc(tools, func(t tool.Tool) bool { return canonical(t.Name) == r.tool })
		if !known && !strings.ContainsAny(r.tool, "_*") {
			list = append(list, fmt.Sprintf("permission rule %s (%s): there is no tool named %s", r, r.Source.Name, r.tool))
		}
	}
	return list
}
