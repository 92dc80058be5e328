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
	add := func(r Resource, name, title, description, kind string) bool {
		if len(*list) >= room {
			return false
		}
		r.Server, r.Name, r.Description, r.MIMEType = v.Name, plain(cmp.Or(title, name), 200), plain(description, 500), plain(kind, 100)
		r.URI = plain(r.URI, maxDescription)
		*list = append(*list, r)
		return true
	}
	all, err := pages(func(cursor string) ([]*sdk.Resource, string, error) {
		r, err := conn.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.Resources, r.NextCursor, nil
	})
	for _, r := range all {
		if r != nil && !add(Resource{URI: r.URI}, r.Name, r.Title, r.Description, r.MIMEType) {
			return fmt.Errorf("the MCP server %q has more than %d resources; the rest is not listed", v.Name, maxResources)
		}
	}
	if err != nil {
		return fmt.Errorf("list the resources of %q: %w", v.Name, v.explain(conn, err))
	}
	templates, _ := pages(func(cursor string) ([]*sdk.ResourceTemplate, string, error) { // few servers know them
		r, err := conn.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
		if err != nil {
			return nil, "", err
		}
		return r.ResourceTemplates, r.NextCursor, nil
	})
	for _, r := range templates {
		if r != nil && !add(Resource{URI: r.URITemplate, Template: true}, r.Name, r.Title, r.Description, r.MIMEType) {
			break
		}
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
	defer v.use()()
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

func lengthOf(b message.Block) int {
	switch b := b.(type) {
	case message.Text:
		return len(b.Text)
	case message.Image:
		return len(b.Data) * maxPrompt / maxPictures // they have a measure of their own
	}
	return 0
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
	defer v.use()()
	res, err := conn.GetPrompt(ctx, &sdk.GetPromptParams{Name: p.Name, Arguments: args})
	if err != nil {
		return nil, fmt.Errorf("the MCP server %q refused the prompt %s: %w", v.Name, p.Name, v.explain(conn, err))
	}
	var list []message.Block
	size := 0
	for _, m := range res.Messages {
		if m == nil || m.Content == nil {
			continue
		}
		b := block(m.Content)
		if size += lengthOf(b); size > maxPrompt {
			return nil, fmt.Errorf("the prompt %s of the MCP server %q is too long for a conversation: more than %d kB", p.Name, p.Server, maxPrompt/1000)
		}
		if t, isText := b.(message.Text); isText && m.Role == "assistant" {
			b = message.Text{Text: "(An answer that the prompt puts in front:)\n" + t.Text}
		}
		list = append(list, b)
	}
	return list, nil
}
