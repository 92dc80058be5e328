package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"heddle/internal/tool"
)

//go:embed todo_write.md
var todoPrompt string

const todoSchema = `{"type":"object","properties":{"todos":{"type":"array","description":"The whole new list","items":{"type":"object","properties":{` +
	`"content":{"type":"string","description":"What to do"},` +
	`"status":{"type":"string","enum":["pending","in_progress","completed"]},` +
	`"activeForm":{"type":"string","description":"What is being done, as shown while it is in progress"}},` +
	`"required":["content","status","activeForm"],"additionalProperties":false}}},` +
	`"required":["todos"],"additionalProperties":false}`

// TodoWrite returns the tool that replaces the agent's own list of things to do.
func TodoWrite() tool.Tool {
	return tool.Tool{
		Name:        "TodoWrite",
		Description: strings.TrimSpace(todoPrompt),
		Schema:      json.RawMessage(todoSchema),
		Run: func(_ context.Context, c tool.Call) tool.Result {
			todos, err := decodeTodos(c)
			if err != nil {
				return failed(err)
			}
			old := c.Scope.SetTodos(todos)
			r := tool.Text(progress(todos))
			r.Data = struct {
				Old []tool.Todo `json:"oldTodos"`
				New []tool.Todo `json:"newTodos"`
			}{append([]tool.Todo{}, old...), todos}
			return r
		},
	}
}

func decodeTodos(c tool.Call) ([]tool.Todo, error) {
	type item struct {
		tool.Todo
		Slip string `json:"active_form"`
	}
	in, err := decode[struct {
		Todos *list[item] `json:"todos"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Todos == nil {
		return nil, refuse("TodoWrite: todos is missing. Call again with the whole list; an empty one clears it.")
	}
	todos := make([]tool.Todo, 0, len(*in.Todos))
	for i, t := range *in.Todos {
		if strings.TrimSpace(t.Content) == "" {
			return nil, refuse("TodoWrite: item %d has no content. The list was not changed.", i+1)
		}
		switch t.Status {
		case "pending", "in_progress", "completed":
		default:
			return nil, refuse("TodoWrite: item %d has the status %q. Use pending, in_progress or completed. The list was not changed.", i+1, t.Status)
		}
		if t.ActiveForm == "" {
			t.ActiveForm = t.Slip
		}
		todos = append(todos, t.Todo)
	}
	return todos, nil
}

func progress(todos []tool.Todo) string {
	count := map[string]int{}
	for _, t := range todos {
		count[t.Status]++
	}
	if len(todos) == 0 {
		return "The list is empty now."
	}
	return fmt.Sprintf("The list has %s now: %d completed, %d in progress, %d pending. Go on with the item in progress.",
		plural(len(todos), "item"), count["completed"], count["in_progress"], count["pending"])
}
