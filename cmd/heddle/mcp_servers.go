package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/internal/config"
	"heddle/internal/extension"
	"heddle/internal/mcp"
	"heddle/internal/process"
	"heddle/internal/task/shell"
	"heddle/internal/transcript"
)

// brought is what people brought along, for commands that look at it.
type brought struct {
	place
	set     settings
	trusted bool
	hidden  []string // variables that servers do not get to see
	found   *extension.Found
}

// lookAtBrought finds it as a conversation would that starts here without flags.
func lookAtBrought(stderr io.Writer) (b brought, err error) {
	if b.place, err = findPlace(); err != nil {
		return b, err
	}
	o := &options{}
	layers, err := layersOf(b.place, o)
	if err != nil {
		return b, err
	}
	if b.set, err = readSettings(layers, stderr); err != nil {
		return b, err
	}
	granted, err := distrust(b.place, o, layers, &b.set, stderr)
	if err != nil {
		return b, err
	}
	models, err := newModels(b.set)
	if err != nil {
		return b, err
	}
	b.hidden, b.trusted = models.keyVariables(), granted == layers
	b.found, err = bring(b.place, o, layers, granted, b.set)
	return b, err
}

// The states of a server that is not started, besides those of [mcp.State].
const (
	unapproved mcp.State = "unapproved"
	unchecked  mcp.State = "unchecked"
)

// seenServer is a server as commands print it. The JSON is what programs read.
type seenServer struct {
	Name      string          `json:"name"`
	Type      string          `json:"type"`
	State     mcp.State       `json:"state"`
	Error     string          `json:"error,omitempty"`
	Where     string          `json:"where"`
	Source    string          `json:"source"`
	Origin    config.Origin   `json:"origin"`
	Overrides []config.Origin `json:"overrides,omitempty"`

	Version      string       `json:"version,omitempty"`
	Instructions string       `json:"instructions,omitempty"`
	ToolCount    int          `json:"toolCount"`
	Tools        []seenTool   `json:"tools,omitempty"`
	Prompts      []seenPrompt `json:"prompts,omitempty"`
	Resources    bool         `json:"resources"`
	Warnings     []string     `json:"warnings,omitempty"`

	config mcp.Config
}

type seenTool struct {
	Name        string `json:"name"`
	FullName    string `json:"fullName"`
	Description string `json:"description,omitempty"`
	ReadOnly    bool   `json:"readOnly"`
}

type seenPrompt struct {
	Name        string `json:"name"`
	Command     string `json:"command"`
	Description string `json:"description,omitempty"`
}

// servers returns the servers by name, none of which has been started.
func (b brought) servers() []seenServer {
	list := []seenServer{}
	add := func(c mcp.Config, state mcp.State) {
		s := seenServer{Name: c.Name, Type: c.Type, State: state, Where: c.Where(), Source: c.Source, Origin: c.Origin, config: c}
		if c.Source == "settings" {
			s.Source = string(c.Origin.Layer) + " settings"
		}
		for _, o := range b.found.Overridden {
			if o.Name == c.Name {
				s.Overrides = append(s.Overrides, o.Where)
			}
		}
		list = append(list, s)
	}
	for _, c := range b.found.Servers {
		if c.Disabled {
			add(c, mcp.Disabled)
		} else {
			add(c, unchecked)
		}
	}
	for _, c := range b.found.Unapproved {
		add(c, unapproved)
	}
	slices.SortFunc(list, func(a, b seenServer) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// serverFarewell is how long servers may take to end before what is left of them is told.
const serverFarewell = 20 * time.Second

// check starts the servers that may start, all at once, puts down what they are like, and
// ends them. When ctx is done it gives up; they are ended all the same.
func (b brought) check(ctx context.Context, servers []seenServer, stderr io.Writer) (err error) {
	if err := process.Scrub(b.hidden...); err != nil {
		fmt.Fprintf(stderr, "heddle: servers may be able to read the keys of providers: %v\n", err)
	}
	release, err := process.Adopt()
	if err != nil {
		return err
	}
	defer release()
	id := transcript.NewID()
	leave, err := present(b.place, id) // should this be killed, the next start of heddle ends the servers
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	set := mcp.NewSet(mcp.Options{
		Dir: b.dir, Version: version(), StartLimit: seconds(b.set.MCP.StartLimit, 0), Within: markOf(id),
		Env: func() []string { return shell.Environment(os.Environ(), b.hidden, environ(b.set.Env)) },
	})
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), serverFarewell)
		defer cancel()
		if e := set.Close(ctx); e != nil { // what they offer is known all the same
			fmt.Fprintf(stderr, "heddle: %v\n", e)
		}
	}()
	for _, s := range servers {
		if s.State == unchecked {
			if err := set.Open(s.config); err != nil {
				return err
			}
		}
	}
	set.Settled(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	status, tools, prompts := set.Status(), set.Tools(), set.Prompts()
	for i := range servers {
		if servers[i].State == unchecked { // another of its name may be unapproved
			servers[i].take(status, tools, prompts)
		}
	}
	return nil
}

// take puts down what is known of the server now.
func (s *seenServer) take(status []mcp.Status, tools []mcp.Tool, prompts []mcp.Prompt) {
	for _, now := range status {
		if now.Name == s.Name {
			s.State, s.Error, s.Version, s.Instructions = now.State, now.Error, now.Version, now.Instructions
			s.ToolCount, s.Resources, s.Warnings = now.Tools, now.Resources, now.Warnings
		}
	}
	for _, t := range tools {
		if t.Server == s.Name {
			s.Tools = append(s.Tools, seenTool{t.Name, t.Full, t.Description, t.ReadOnly})
		}
	}
	for _, p := range prompts {
		if p.Server == s.Name {
			s.Prompts = append(s.Prompts, seenPrompt{p.Name, "/" + p.Full, p.Description})
		}
	}
}

// down reports whether the server was to come up and is not.
func (s *seenServer) down() bool {
	return s.State == mcp.Failed || s.State == mcp.NeedsAuth || s.State == mcp.Pending
}

// word is the state for people.
func (s *seenServer) word() string {
	switch s.State {
	case unapproved:
		return "not approved"
	case unchecked:
		return "not checked"
	case mcp.NeedsAuth:
		return "needs a token"
	case mcp.Pending:
		return "not up yet"
	}
	return string(s.State)
}

// advice says why the server is not up and what to do, or nothing.
func (s *seenServer) advice() string {
	switch {
	case s.State == unapproved:
		return "not approved; if you want to let it run: heddle mcp approve " + shellWord(s.Name)
	case s.down():
		return plainLine(s.Error)
	}
	return ""
}

// problems are what is wrong with the entries of servers. What else was found is for
// heddle doctor, and only counted.
func (b brought) problems() (ofServers []*config.Problem, others int) {
	for _, p := range b.found.Problems {
		if filepath.Base(p.File) == ".mcp.json" || strings.Contains(p.Text, "MCP server") || strings.Contains(p.Text, "mcpServers") {
			ofServers = append(ofServers, p)
		} else {
			others++
		}
	}
	return ofServers, others
}
