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

// ToolSearch returns the tool that finds others on the shelf. coming, which may be nil, waits
// for a while for tools that are on their way, and names what they still come from.
func ToolSearch(shelf tool.Shelf, coming func(ctx context.Context) []string) tool.Tool {
	return tool.Tool{
		Name: "ToolSearch", Description: strings.TrimSpace(toolSearchPrompt), Schema: json.RawMessage(toolSearchSchema), Parallel: true,
		Run: func(ctx context.Context, c tool.Call) tool.Result {
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
			var late []string
			if coming != nil {
				late = coming(ctx)
			}
			best, found := shelf.Search(in.Query, min(int(in.Most), mostFound))
			text := definitions(best, found)
			if len(best) == 0 {
				text = nothingFound(in.Query, shelf())
			}
			if len(late) > 0 {
				text += fmt.Sprintf("\nNot there yet: %s. Search again later for what you miss.", strings.Join(late, ", "))
			}
			return tool.Text(text)
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
