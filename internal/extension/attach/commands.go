package attach

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"heddle/internal/config"
	"heddle/internal/hook"
	"heddle/internal/message"
	"heddle/internal/permission"
	"heddle/internal/session"
	"heddle/internal/skill"
	"heddle/internal/tool"
)

// CommandOptions are what skills and commands work with.
type CommandOptions struct {
	Catalog *skill.Catalog
	Vars    func() skill.Vars
	// Pool returns the tools as the agent has them: what a text runs or reads needs the
	// same permissions as if the model had asked for it.
	Pool   func() *tool.Pool
	Scope  *tool.Scope
	Gate   *permission.Gate
	Runner *hook.Runner // nil: there are no hooks
	// Rules says what paths in the rules of a skill are relative to.
	Rules func(s *skill.Skill) permission.Source
	// Trusted says that also skills of the project may widen what is permitted.
	Trusted bool
	Servers *Servers // nil: there are none
	Tell    func(text string)
}

// Commands are what a person may call with a slash, and skills that the model may load.
type Commands struct {
	o CommandOptions

	mu     sync.Mutex
	active []func() // take back the hooks of skills in use
}

// NewCommands returns the commands of an agent.
func NewCommands(o CommandOptions) *Commands { return &Commands{o: o} }

// Begin takes back the hooks of the skills that the turn before used.
func (c *Commands) Begin() {
	c.mu.Lock()
	active := c.active
	c.active = nil
	c.mu.Unlock()
	for _, remove := range active {
		remove()
	}
}

// List returns what a person may call.
func (c *Commands) List() []session.Command {
	var list []session.Command
	for _, s := range c.o.Catalog.List() {
		if s.UserMayCall {
			list = append(list, session.Command{Name: s.Name, Description: s.Description, ArgumentHint: s.ArgumentHint, Skill: !s.Command})
		}
	}
	if c.o.Servers == nil {
		return list
	}
	list = append(list, session.Command{Name: "mcp", Description: "Show the MCP servers, or connect one anew", ArgumentHint: "[reconnect NAME]"})
	for _, p := range c.o.Servers.o.Set.Prompts() {
		list = append(list, session.Command{Name: p.Full, Description: p.Description, ArgumentHint: hint(p)})
	}
	return list
}

// Expand returns what a command stands for.
func (c *Commands) Expand(ctx context.Context, name, args string) (x session.Expansion, ok bool, err error) {
	if c.o.Servers == nil && (name == "mcp" || strings.HasPrefix(name, "mcp__")) {
		return session.Expansion{Answer: "No MCP server is started here: heddle mcp list shows those that are configured, heddle mcp add sets one up."}, true, nil
	}
	if c.o.Servers != nil {
		if name == "mcp" {
			x.Answer, err = c.o.Servers.command(args)
			return x, true, err
		}
		if strings.HasPrefix(name, "mcp__") {
			x, err = c.prompt(ctx, name, args)
			return x, true, err
		}
	}
	s, known := c.o.Catalog.Get(name)
	switch {
	case known && !s.UserMayCall:
		return x, true, fmt.Errorf("/%s is for the model, not for people (user-invocable: false in %s)", name, s.Path)
	case !known:
		if near := c.o.Catalog.Suggest(name); near != "" {
			return x, false, fmt.Errorf("there is no command /%s; did you mean /%s? A text that is no command may begin with a space", name, near)
		}
		return x, false, nil
	}
	add, err := c.asked(ctx, s, args)
	if err != nil {
		return x, true, err
	}
	content, err := c.load(ctx, tool.Call{ID: "command", Scope: c.o.Scope}, s, args)
	if err != nil {
		return x, true, c.forPerson(err)
	}
	called := "The user calls /" + name
	if args != "" {
		called += " " + args
	}
	x.Content = append([]message.Block{message.Text{Text: called + "\n" + add}}, content...)
	x.Model, x.Effort = s.Model, s.Effort
	return x, true, nil
}

// asked puts a command before the hooks. What they have to say is for the model.
func (c *Commands) asked(ctx context.Context, s *skill.Skill, args string) (add string, err error) {
	return c.expansion(ctx, s.Name, map[string]any{
		"expansion_type": "slash_command", "command_name": s.Name, "command_args": args, "command_source": s.Source,
		"prompt": strings.TrimSpace("/" + s.Name + " " + args),
	})
}

func (c *Commands) expansion(ctx context.Context, name string, fields map[string]any) (add string, err error) {
	if c.o.Runner == nil || !c.o.Runner.Has(hook.UserPromptExpansion) {
		return "", nil
	}
	o := c.o.Runner.Fire(ctx, hook.UserPromptExpansion, name, fields, nil)
	return wrapped(hook.UserPromptExpansion, o.Context), held(o, "/"+name)
}

// Use loads a skill for the model. It implements the Skills of the Skill tool.
func (c *Commands) Use(ctx context.Context, call tool.Call, name, args string) tool.Result {
	s, ok := c.o.Catalog.Get(name)
	switch {
	case !ok:
		text := fmt.Sprintf("There is no skill %q.", name)
		if near := c.o.Catalog.Suggest(name); near != "" {
			text += fmt.Sprintf(" Did you mean %q?", near)
		}
		return tool.Failf("%s The first message lists those that there are.", text)
	case !s.ModelMayCall:
		return tool.Failf("Only the user may call %q. Ask for it, if it would help.", name)
	}
	content, err := c.load(ctx, call, s, args)
	if err != nil {
		return tool.Failf("The skill %q cannot be used: %v", name, err)
	}
	return tool.Result{Content: content}
}

// load grants what a skill allows itself, and returns its text with all that it brings in.
func (c *Commands) load(ctx context.Context, call tool.Call, s *skill.Skill, args string) ([]message.Block, error) {
	parts, err := s.Expand(args, c.o.Vars())
	if err != nil {
		return nil, err
	}
	if err := c.grant(call.Scope.Agent, s); err != nil {
		return nil, err
	}
	return c.fill(ctx, call, s, parts)
}

// grant lets the rules and hooks of a skill hold for the turn.
func (c *Commands) grant(agent string, s *skill.Skill) error {
	var rules [2][]permission.Rule
	for i, list := range [][]string{s.Allowed, s.Disallowed} {
		for _, text := range list {
			r, err := permission.ParseRule(c.o.Rules(s), text)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Path, err)
			}
			rules[i] = append(rules[i], r)
		}
	}
	if own, ok, err := c.ownFiles(s); err != nil {
		return err
	} else if ok {
		rules[0] = append(rules[0], own)
	}
	if len(rules[0])+len(rules[1]) > 0 {
		c.o.Gate.Grant(agent, rules[0], rules[1])
	}
	if s.Hooks == nil || c.o.Runner == nil {
		return nil
	}
	l, err := config.Text(s.Layer, s.Path, s.Hooks)
	if err != nil {
		return err
	}
	hooks, problems, _ := hook.Read(l, "skill "+s.Name, map[string]string{"CLAUDE_SKILL_DIR": s.Dir})
	for _, p := range problems {
		c.o.Tell(p.Error())
	}
	remove := c.o.Runner.Add(hooks)
	c.mu.Lock()
	c.active = append(c.active, remove)
	c.mu.Unlock()
	return nil
}

// ownFiles is the rule that lets a skill's own files be read: it refers to them, and those of
// the user lie outside of every project. A project that is not trusted could have a link
// there, to anything.
func (c *Commands) ownFiles(s *skill.Skill) (r permission.Rule, ok bool, err error) {
	if s.Command || !filepath.IsAbs(s.Dir) || s.Layer == config.Project && !c.o.Trusted {
		return r, false, nil
	}
	r, err = permission.ParseRule(permission.Source{Name: s.Path, Anchor: s.Dir}, "Read(/**)")
	return r, err == nil, err
}

// Brief lists the skills for a model that knows nothing yet; empty: there are none.
func (c *Commands) Brief() string {
	list := c.o.Catalog.Listing(listing)
	if list == "" {
		return ""
	}
	return "<skills note=\"Instructions that you can load with the Skill tool, when a task fits.\">\n" + list + "</skills>\n"
}

// listing is how many bytes the list of skills has at most.
const listing = 8000

// HasSkills reports whether there is something for the model to load.
func (c *Commands) HasSkills() bool {
	return slices.ContainsFunc(c.o.Catalog.List(), func(s *skill.Skill) bool { return s.ModelMayCall })
}
