package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"heddle/internal/agent"
	"heddle/internal/config"
	"heddle/internal/extension"
	"heddle/internal/extension/attach"
	"heddle/internal/hook"
	"heddle/internal/mcp"
	"heddle/internal/message"
	"heddle/internal/permission"
	"heddle/internal/process"
	"heddle/internal/roster"
	"heddle/internal/session"
	"heddle/internal/skill"
	"heddle/internal/task"
	"heddle/internal/task/call"
	"heddle/internal/tool"
	"heddle/internal/tool/builtin"
)

// withExtensions are tools that are only there with something that people brought along.
func withExtensions() []tool.Tool {
	return []tool.Tool{{Name: "Skill"}, {Name: "ListMcpResources"}, {Name: "ReadMcpResource"}, {Name: "ToolSearch"}, {Name: "CallTool"}}
}

// attachment is what people brought along, on its way into a session.
type attachment struct {
	place
	options *options
	set     settings
	found   *extension.Found
	models  *models
	log     logChoice
	env     func() []string // of commands
	stderr  io.Writer

	runner   *hook.Runner
	hooks    *attach.Hooks
	servers  *mcp.Set        // nil: none
	offers   *attach.Servers // of servers
	commands *attach.Commands
	loads    bool                      // the model has the tool that loads skills
	pool     atomic.Pointer[tool.Pool] // the tools as they are now
}

// attachTo puts everything into the parts of a session: base are the tools without any
// middleware. Nothing is started before start is called; the end of the session ends it.
func (a *attachment) attachTo(parts *session.Parts, base *tool.Pool) (start func() error, err error) {
	a.runner = hook.NewRunner(a.hookOptions(parts), a.found.Hooks)
	a.hooks = attach.NewHooks(a.runner, attach.HookOptions{
		Scope: parts.Scope, Model: func() string { return parts.Model }, Tasks: func() []task.Snapshot { return running(parts.Tasks) },
		Gate: parts.Gate, Tool: func(name string) (tool.Tool, bool) { return a.pool.Load().Get(name) },
	})
	parts.Hooks = a.hooks
	parts.Dialog.Around(a.hooks.Asker)
	wrap := func(p *tool.Pool) *tool.Pool { return p.Wrap(a.runner.Middleware, parts.Gate.Middleware) }
	if a.startsServers() {
		a.serve(parts)
	}
	pool := wrap(base)
	o := attach.CommandOptions{
		Catalog: a.found.Skills, Vars: func() skill.Vars { return skill.Vars{Session: parts.ID, Project: a.project(), Effort: parts.Effort} },
		Pool: func() *tool.Pool { return pool }, Scope: parts.Scope, Gate: parts.Gate, Runner: a.runner, Rules: a.rulesOf, Trusted: a.found.Trusted,
		Servers: a.offers, Tell: a.tell,
	}
	if a.found.NoHooks {
		o.Runner = nil // skills have hooks, too
	}
	a.commands = attach.NewCommands(o)
	parts.Commands = a.commands
	if base, err = base.Add(a.tools(parts)...); err != nil {
		return nil, err
	}
	if !a.options.bare && a.options.offers("Agent") {
		first := parts.Brief
		agents := a.agentTool(parts, func(d *roster.Agent) string {
			if d.NoMemoryFiles {
				return ""
			}
			return first()
		})
		if !parts.Gate.Hidden(agents) {
			if base, err = base.Add(agents); err != nil {
				return nil, err
			}
		}
	}
	parts.Tools = wrap(base)
	a.pool.Store(parts.Tools)
	if a.offers != nil {
		parts.Gather = func(ctx context.Context) *tool.Pool {
			all := wrap(a.offers.Gather(ctx, base))
			a.tellServers()
			a.pool.Store(all)
			return all
		}
		parts.News, parts.Servers = a.offers.News, a.offers.Status
	}
	brief := parts.Brief
	parts.Brief = func() string { return brief() + a.brief() }
	parts.OnClose = append(parts.OnClose, a.close)
	return a.start, nil
}

// tellServers tells the person which servers are not there.
func (a *attachment) tellServers() {
	for _, s := range a.servers.Status() {
		switch s.State {
		case mcp.Failed, mcp.NeedsAuth:
			a.tell(fmt.Sprintf("the MCP server %q is not connected: %s", s.Name, s.Error))
		}
	}
}

// start starts what runs beside the conversation.
func (a *attachment) start() error {
	for _, p := range a.found.Plugins.Plugins {
		if dir := p.Vars["CLAUDE_PLUGIN_DATA"]; dir != "" && len(p.Hooks)+len(p.Servers) > 0 {
			if err := os.MkdirAll(dir, 0o700); err != nil { // it can do without
				fmt.Fprintf(a.stderr, "heddle: the plugin %s has no folder for its data: %v\n", p.Name, err)
			}
		}
	}
	if a.servers == nil {
		return nil
	}
	return a.servers.Open(a.found.Servers...)
}

func (a *attachment) startsServers() bool {
	for _, c := range a.found.Servers {
		if !c.Disabled {
			return true
		}
	}
	return false
}

// serve makes the set of servers, and what an agent has of them.
func (a *attachment) serve(parts *session.Parts) {
	m := a.set.MCP
	a.servers = mcp.NewSet(mcp.Options{
		Dir: a.dir, Version: version(), Env: a.env, Within: markOf(parts.ID), StartLimit: seconds(m.StartLimit, 0),
		Elicit: attach.Elicitor(a.hooks, parts.Dialog),
	})
	background := seconds(m.CallBackground, 120)
	if a.set.Tasks.Foreground || background < 0 {
		background = 0
	}
	const kilo = 1000
	a.offers = attach.NewServers(attach.ServerOptions{
		Set:   a.servers,
		Calls: call.Options{Tasks: parts.Tasks, Budget: background, Limit: cmp.Or(m.ResultLimit, 100) * kilo},
		Wait:  seconds(m.StartWait, 2), ShowLimit: cmp.Or(m.ShowLimit, 40) * kilo,
		Hidden: parts.Gate.Hidden, Resumed: a.options.resume != "" || a.options.last,
	})
}

// seconds is a duration of the settings; 0 there has its default.
func seconds(s, otherwise float64) time.Duration {
	return time.Duration(cmp.Or(s, otherwise) * float64(time.Second))
}

// tools are those that come with what people brought along. Those about servers are there
// whatever --tools says: they are part of the servers.
func (a *attachment) tools(parts *session.Parts) []tool.Tool {
	var list []tool.Tool
	add := func(t tool.Tool) {
		if !parts.Gate.Hidden(t) {
			list = append(list, t)
		}
	}
	if a.commands.HasSkills() && a.options.offers("Skill") {
		skill := builtin.Skill(a.commands)
		a.loads = !parts.Gate.Hidden(skill)
		add(skill)
	}
	if a.offers != nil {
		for _, t := range a.offers.Tools() {
			add(t)
		}
		add(builtin.ToolSearch(a.offers.Shelf, a.offers.Coming))
		add(builtin.CallTool())
	}
	return list
}

func (a *attachment) brief() string {
	text := ""
	if a.loads {
		text = a.commands.Brief()
	}
	if a.offers != nil {
		text += a.offers.Brief()
	}
	return text
}

func (a *attachment) hookOptions(parts *session.Parts) hook.Options {
	o := hook.Options{
		Session: parts.ID, Transcript: a.log.path, Dir: a.dir, Place: parts.Scope.Dir, Project: a.project(), Env: a.env, Within: markOf(parts.ID), Spill: parts.Scope.Spill,
		Mode: func() string { return string(parts.Gate.Mode()) }, Tell: a.tell,
		Ask: func(ctx context.Context, model, prompt string) (string, error) {
			return a.models.ask(ctx, cmp.Or(model, parts.Model), prompt)
		},
		CallTool: func(ctx context.Context, server, name string, input json.RawMessage) (string, error) {
			if a.offers == nil {
				return "", fmt.Errorf("there is no MCP server %q", server)
			}
			return a.offers.CallText(ctx, server, name, input)
		},
		Matches: func(rule string, c tool.Call) (bool, error) {
			r, err := permission.ParseRule(permission.Source{Name: "a hook", Anchor: a.project()}, rule)
			if err != nil {
				return false, err
			}
			t, ok := a.pool.Load().Get(c.Name)
			if !ok {
				return false, fmt.Errorf("there is no tool %s", c.Name)
			}
			return permission.About(r, t, c)
		},
		Wake: func() {
			if text := a.hooks.Context(); text != "" {
				parts.Inbox.Post(agent.Input{Content: message.FromUser(text).Content, Origin: agent.System})
			}
		},
	}
	return o
}

// rulesOf says where the rules of a skill belong.
func (a *attachment) rulesOf(s *skill.Skill) permission.Source {
	return a.source(config.Origin{Layer: s.Layer, File: s.Path})
}

// tell tells the person a line that hooks or skills have to say.
func (a *attachment) tell(text string) { fmt.Fprintf(a.stderr, "heddle: %s\n", plainLine(text)) }

// close ends servers and hooks.
func (a *attachment) close(ctx context.Context) error {
	a.runner.Close(ctx)
	if a.servers == nil {
		return nil
	}
	return a.servers.Close(ctx)
}

// running are the tasks in the background that have not ended.
func running(tasks *task.Runtime) []task.Snapshot {
	var list []task.Snapshot
	for _, t := range tasks.List() {
		if !t.Status.Terminal() && t.Backgrounded {
			list = append(list, t)
		}
	}
	return list
}

// markOf is what all servers and hooks of a session carry, so that they are found if it
// dies.
func markOf(session string) string { return "heddle-with-" + session }

// endExtensions ends the servers and hooks of a session that died.
func endExtensions(session string) error {
	if strings.ContainsAny(session, "/=\x00") || session == "" {
		return nil
	}
	_, err := process.EndIdentity(context.Background(), process.Identity{}, markOf(session), time.Second)
	return err
}
