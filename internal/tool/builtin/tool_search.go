package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"heddle/internal/tool"
)

//go:embed tool_search.md
var toolSearchPrompt string

const toolSearchSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"Words, or select:NAME,NAME"},` +
	`"max_results":{"type":"integer","minimum":1,"maximum":20,"description":"5 if not given"}},` +
	`"required":["query"],"additionalProperties":false}`

// Bounds of one answer of ToolSearch.
const (
	usualFound  = 5
	mostFound   = 20
	foundLength = 60_000 // bytes of definitions
)

// definition is how a found tool is written, as models know definitions of tools.
type definition struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"input_schema"`
}

// ToolSearch returns the tool that finds others on the shelf.
func ToolSearch(shelf *tool.Shelf) tool.Tool {
	return tool.Tool{
		Name: "ToolSearch", Description: strings.TrimSpace(toolSearchPrompt), Schema: json.RawMessage(toolSearchSchema), Parallel: true,
		Run: func(_ context.Context, c tool.Call) tool.Result {
			in, err := decode[struct {
				Query string `json:"query"`
				Most  number `json:"max_results"`
			}](c)
			if err != nil {
				return failed(err)
			}
			if in.Most <= 0 {
				in.Most = usualFound
			}
			best, found := shelf.Search(in.Query, min(int(in.Most), mostFound))
			if len(best) == 0 {
				return tool.Text(nothingFound(in.Query, shelf.List()))
			}
			return tool.Text(definitions(best, found))
		},
	}
}

// definitions writes tools, as many as have room.
func definitions(best []tool.Tool, found int) string {
	var w strings.Builder
	shown := 0
	for _, t := range best {
		text, err := json.Marshal(definition{t.Name, t.Description, t.Schema})
		if err != nil { // of a schema that is no JSON
			continue
		}
		if shown > 0 && w.Len()+len(text) > foundLength {
			break
		}
		w.Write(text)
		w.WriteByte('\n')
		shown++
	}
	if left := found - shown; left > 0 {
		fmt.Fprintf(&w, "(%d more fit: search with other words, or select:NAME.)\n", left)
	}
	w.WriteString("Call one of them with CallTool.")
	return w.String()
}

// nothingFound says what there is instead, as far as it is not too much.
func nothingFound(query string, all []tool.Tool) string {
	const most = 50
	if len(all) == 0 {
		return "There are no further tools at the moment."
	}
	var names []string
	for _, t := range all[:min(len(all), most)] {
		names = append(names, t.Name)
	}
	text := fmt.Sprintf("No tool fits %q. There are: %s", query, strings.Join(names, ", "))
	if len(all) > most {
		text += fmt.Sprintf(" and %d more", len(all)-most)
	}
	return text + "."
}
