package attach

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"heddle/internal/message"
	"heddle/internal/tool"
)

//go:embed list_resources.md
var listPrompt string

//go:embed read_resource.md
var readPrompt string

const (
	listSchema = `{"type":"object","properties":{"server":{"type":"string","description":"The name of one server; all if not given"}},"additionalProperties":false}`
	readSchema = `{"type":"object","properties":{"server":{"type":"string","description":"The name of the server"},` +
		`"uri":{"type":"string","description":"The URI of the resource"}},"required":["server","uri"],"additionalProperties":false}`
)

// Tools are those that every agent with servers has, whatever the servers offer.
func (s *Servers) Tools() []tool.Tool { return []tool.Tool{s.listResources(), s.readResource()} }

// listResources lists what can be read from servers. Lists change nothing and name nothing
// that the user has not set up, so they need no permission.
func (s *Servers) listResources() tool.Tool {
	const name = "ListMcpResources"
	return tool.Tool{
		Name: name, Description: strings.TrimSpace(listPrompt), Schema: json.RawMessage(listSchema), Parallel: true,
		Run: s.o.Calls.Of("all", name, func(ctx context.Context, c tool.Call, _ func(string)) tool.Result {
			in, err := tool.Decode[struct {
				Server string `json:"server"`
			}](c)
			if err != nil {
				return tool.Failf("%v. Call again with the name of a server, or without.", err)
			}
			list, err := s.o.Set.Resources(ctx, in.Server)
			var w strings.Builder
			enc := json.NewEncoder(&w)
			enc.SetEscapeHTML(false)
			for _, r := range list {
				line := map[string]string{"server": r.Server, "uri": r.URI, "name": r.Name, "description": r.Description, "mimeType": r.MIMEType}
				if r.Template {
					line["uriTemplate"] = r.URI
					delete(line, "uri")
				}
				_ = enc.Encode(line) // of strings, into memory
			}
			if err != nil {
				fmt.Fprintf(&w, "%v.\n", err)
			}
			if w.Len() == 0 {
				w.WriteString("There are no resources.")
			}
			res := tool.Text(w.String())
			res.IsError = err != nil && len(list) == 0
			return res
		}),
	}
}

func (s *Servers) readResource() tool.Tool {
	const name = "ReadMcpResource"
	type input struct{ Server, URI string }
	return tool.Tool{
		Name: name, Description: strings.TrimSpace(readPrompt), Schema: json.RawMessage(readSchema), Parallel: true,
		Effects: func(tool.Call) ([]tool.Effect, error) { return []tool.Effect{{Action: tool.Use}}, nil },
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := tool.Decode[input](c)
			switch {
			case err != nil:
				return tool.Failf("%v. Call again with server and uri.", err)
			case in.Server == "" || in.URI == "":
				return tool.Failf("ReadMcpResource needs server and uri. ListMcpResources lists them.")
			}
			run := s.o.Calls.Of(in.Server, name, func(ctx context.Context, _ tool.Call, _ func(string)) tool.Result {
				content, err := s.o.Set.Read(ctx, in.Server, in.URI)
				if err != nil {
					return tool.Failf("%v. ListMcpResources lists what there is.", err)
				}
				return tool.Result{Content: content}
			})
			return run(ctx, c)
		},
	}
}

// textOf joins the texts of content.
func textOf(content []message.Block) string { return message.Message{Content: content}.Text() }
