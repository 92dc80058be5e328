package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"heddle/internal/tool"
)

//go:embed call_tool.md
var callToolPrompt string

const callToolSchema = `{"type":"object","properties":{` +
	`"name":{"type":"string","description":"The name of the tool, as ToolSearch gave it"},` +
	`"input":{"type":"object","description":"Its input, by its own input_schema"}},` +
	`"required":["name","input"],"additionalProperties":false}`

// CallTool returns the tool that calls a tool that the model is not shown. What runs, and
// what is judged, is a call of that tool.
func CallTool() tool.Tool {
	return tool.Tool{
		Name: "CallTool", Description: strings.TrimSpace(callToolPrompt), Schema: json.RawMessage(callToolSchema),
		Proxy: func(c tool.Call) (tool.Call, error) {
			in, err := decode[struct {
				Name  string          `json:"name"`
				Input json.RawMessage `json:"input"`
			}](c)
			switch {
			case err != nil:
				return c, err
			case in.Name == "":
				return c, refuse("CallTool: name is missing. Call again with the name of a tool that ToolSearch found.")
			}
			c.Name, c.Input = in.Name, object(in.Input)
			return c, nil
		},
		Run: func(context.Context, tool.Call) tool.Result {
			return tool.Failf("CallTool does nothing itself.") // the pool runs what it stands for
		},
	}
}

// object returns an input as the object that it should be: models write it as a string at
// times, or leave it out.
func object(input json.RawMessage) json.RawMessage {
	var text string
	if json.Unmarshal(input, &text) == nil && text != "" && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	if len(input) == 0 || string(input) == "null" {
		return json.RawMessage("{}")
	}
	return input
}
