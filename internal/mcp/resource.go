package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"heddle/internal/message"
)

// Resource is something that can be read from a server.
type Resource struct {
	Server, URI, Name, Description, MIMEType string
	Template                                 bool // the URI has places to be filled in
}

// maxResources is how many of one server are listed.
const maxResources = 500

// Resources lists what can be read from a server, or from all that are up if the name is
// empty. With an error, there is what the others have.
func (s *Set) Resources(ctx context.Context, server string) ([]Resource, error) {
	var list []Resource
	var failed []string
	for _, v := range s.all() {
		if server != "" && server != v.Name && server != v.shown || server == "" && !v.offer().resources {
			continue
		}
		conn, err := v.connected()
		if err == nil {
			err = v.resources(ctx, conn, &list)
		}
		if err != nil {
			failed = append(failed, err.Error())
		}
	}
	if server != "" {
		if _, err := s.get(server); err != nil {
			return nil, err
		}
	}
	if len(failed) > 0 {
		return list, fmt.Errorf("%s", strings.Join(failed, "; "))
	}
	return list, nil
}

func (v *server) resources(ctx context.Context, conn *connection, list *[]Resource) error {
	if !v.offer().resources {
		return fmt.Errorf("the MCP server %q has no resources", v.Name)
	}
	room := len(*list) + maxResources
	for r, err := range conn.Resources(ctx, nil) {
		if err != nil {
			return fmt.Errorf("list the resources of %q: %w", v.Name, v.explain(conn, err))
		}
		if len(*list) >= room {
			return fmt.Errorf("the MCP server %q has more than %d resources; the rest is not listed", v.Name, maxResources)
		}
		*list = append(*list, Resource{
			Server: v.Name, URI: plain(r.URI, maxDescription), Name: plain(cmp.Or(r.Title, r.Name), 200), Description: plain(r.Description, 500), MIMEType: plain(r.MIMEType, 100),
		})
	}
	for r, err := range conn.ResourceTemplates(ctx, nil) {
		if err != nil || len(*list) >= room { // few servers know them
			break
		}
		*list = append(*list, Resource{
			Server: v.Name, URI: plain(r.URITemplate, maxDescription), Name: plain(cmp.Or(r.Title, r.Name), 200), Description: plain(r.Description, 500), MIMEType: plain(r.MIMEType, 100), Template: true,
		})
	}
	return nil
}

// Read reads a resource.
func (s *Set) Read(ctx context.Context, server, uri string) ([]message.Block, error) {
	v, err := s.get(server)
	if err != nil {
		return nil, err
	}
	conn, err := v.connected()
	if err != nil {
		return nil, err
	}
	res, err := conn.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, fmt.Errorf("the MCP server %q cannot give %s: %w", v.Name, uri, v.explain(conn, err))
	}
	var list []message.Block
	for _, c := range res.Contents {
		if c != nil {
			list = append(list, resource(c))
		}
	}
	return list, nil
}

// Prompts lists the prompts of all servers that are up.
func (s *Set) Prompts() []Prompt {
	var list []Prompt
	for _, v := range s.all() {
		list = append(list, v.offer().prompts...)
	}
	return list
}

// Prompt fetches a prompt. The texts of all its messages come one after the other.
func (s *Set) Prompt(ctx context.Context, p Prompt, args map[string]string) ([]message.Block, error) {
	v, err := s.get(p.Server)
	if err != nil {
		return nil, err
	}
	conn, err := v.connected()
	if err != nil {
		return nil, err
	}
	res, err := conn.GetPrompt(ctx, &sdk.GetPromptParams{Name: p.Name, Arguments: args})
	if err != nil {
		return nil, fmt.Errorf("the MCP server %q refused the prompt %s: %w", v.Name, p.Name, v.explain(conn, err))
	}
	var list []message.Block
	for _, m := range res.Messages {
		if m == nil || m.Content == nil {
			continue
		}
		b := block(m.Content)
		if t, isText := b.(message.Text); isText && m.Role == "assistant" {
			b = message.Text{Text: "(An answer that the prompt puts in front:)\n" + t.Text}
		}
		list = append(list, b)
	}
	return list, nil
}
