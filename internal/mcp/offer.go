package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"heddle/internal/tool"
)

const (
	maxName        = tool.MaxName
	maxTools       = 512      // of one server
	maxPrompts     = 256      // of one server
	maxDescription = 2048     // characters of a description, and of instructions
	maxSchema      = 64 << 10 // bytes of a schema
	callsUser      = "anthropic/requiresUserInteraction"
)

// Tool is a tool of a server.
type Tool struct {
	Server      string // [Config.Name]
	Name        string // as the server calls it
	Full        string // as models call it: mcp__server__tool
	Description string
	Schema      json.RawMessage // compact, an object; its bytes only depend on its meaning
	ReadOnly    bool            // as the server says; nothing that permission could rely on
	NeedsUser   bool            // a person must always be asked
}

// Prompt is a text that a server offers to people.
type Prompt struct {
	Server, Name, Full string
	Description        string
	Arguments          []Argument
}

// Argument is a value that a prompt wants.
type Argument struct {
	Name, Description string
	Required          bool
}

// look asks the server what it offers.
func (v *server) look(ctx context.Context, conn *connection) (offer, error) {
	ctx, cancel := context.WithTimeout(ctx, v.opts.StartLimit)
	defer cancel()
	var o offer
	init := conn.InitializeResult()
	o.instructions = plain(init.Instructions, maxDescription)
	if i := init.ServerInfo; i != nil {
		o.version = plain(strings.TrimSpace(i.Name+" "+i.Version), maxName)
	}
	has := init.Capabilities
	if has == nil {
		has = &sdk.ServerCapabilities{}
	}
	if has.Tools != nil {
		if err := v.lookAtTools(ctx, conn, &o); err != nil {
			return o, err
		}
	}
	if has.Prompts != nil {
		if err := v.lookAtPrompts(ctx, conn, &o); err != nil { // its tools are of use all the same
			o.warn("its prompts cannot be listed: %s", v.redact(err.Error()))
		}
	}
	o.resources = has.Resources != nil
	return o, nil
}

// warn notes something that cannot be used. After the first ones it is enough.
func (o *offer) warn(format string, args ...any) {
	if len(o.warnings) < 20 {
		o.warnings = append(o.warnings, plain(fmt.Sprintf(format, args...), maxDescription))
	}
}

func (v *server) lookAtTools(ctx context.Context, conn *connection, o *offer) error {
	all, err := pages(func(cursor string) ([]*sdk.Tool, string, error) {
		r, err := conn.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Tools, r.NextCursor, nil
	})
	if errors.Is(err, errEndless) {
		o.warn("its list of tools has no end; what came after %d is left out", len(all))
	} else if err != nil {
		return fmt.Errorf("list its tools: %w", err)
	}
	seen := map[string]bool{}
	for _, t := range all {
		if len(o.tools) == maxTools {
			o.warn("it has more than %d tools; the rest is left out", maxTools)
			break
		}
		if t == nil || t.Name == "" || len(t.Name) > maxDescription || seen[t.Name] {
			o.warn("a tool that has no name of its own is left out")
			continue
		}
		seen[t.Name] = true
		schema, note, err := cleanSchema(t.InputSchema)
		if err != nil {
			o.warn("the tool %q is left out: its schema %v", t.Name, err)
			continue
		}
		if note != "" {
			o.warn("the tool %q: %s", t.Name, note)
		}
		one := Tool{
			Server: v.Name, Name: t.Name, Full: tool.ServerTool(v.shown, t.Name), Schema: schema,
			Description: plain(cmp.Or(t.Description, t.Title), maxDescription),
		}
		one.ReadOnly = t.Annotations != nil && t.Annotations.ReadOnlyHint
		one.NeedsUser, _ = t.Meta[callsUser].(bool)
		o.tools = append(o.tools, one)
	}
	slices.SortFunc(o.tools, func(a, b Tool) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

func (v *server) lookAtPrompts(ctx context.Context, conn *connection, o *offer) error {
	all, err := pages(func(cursor string) ([]*sdk.Prompt, string, error) {
		r, err := conn.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Prompts, r.NextCursor, nil
	})
	if errors.Is(err, errEndless) {
		o.warn("its list of prompts has no end; what came after %d is left out", len(all))
	} else if err != nil {
		return err
	}
	for _, p := range all {
		if len(o.prompts) == maxPrompts {
			o.warn("it has more than %d prompts; the rest is left out", maxPrompts)
			break
		}
		if p == nil || p.Name == "" {
			continue
		}
		one := Prompt{
			Server: v.Name, Name: p.Name, Full: tool.ServerTool(v.shown, p.Name),
			Description: plain(cmp.Or(p.Description, p.Title), maxDescription),
		}
		for _, a := range p.Arguments {
			if a != nil {
				one.Arguments = append(one.Arguments, Argument{a.Name, plain(a.Description, maxDescription), a.Required})
			}
		}
		o.prompts = append(o.prompts, one)
	}
	slices.SortFunc(o.prompts, func(a, b Prompt) int { return cmp.Compare(a.Name, b.Name) })
	return nil
}

// plain makes a text of a server fit to be shown: no terminal controls, not too long.
func plain(text string, limit int) string {
	text = strings.TrimSpace(tool.Plain([]byte(text)))
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}
