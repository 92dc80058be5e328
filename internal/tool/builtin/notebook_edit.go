package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"heddle/internal/tool"
)

//go:embed notebook_edit.md
var notebookEditPrompt string

const notebookEditSchema = `{"type":"object","properties":{` +
	`"notebook_path":{"type":"string","description":"Absolute path of the notebook"},` +
	`"cell_id":{"type":"string","description":"Id of the cell, or its number counted from 0"},` +
	`"new_source":{"type":"string","description":"The new source of the cell"},` +
	`"cell_type":{"type":"string","enum":["code","markdown","raw"],"description":"Type of the cell; needed to insert"},` +
	`"edit_mode":{"type":"string","enum":["replace","insert","delete"],"description":"What to do; replace if not given"}},` +
	`"required":["notebook_path","new_source"],"additionalProperties":false}`

// NotebookEdit returns the tool that changes cells of Jupyter notebooks.
func NotebookEdit(locks *Locks) tool.Tool {
	return tool.Tool{
		Name:        "NotebookEdit",
		Description: strings.TrimSpace(notebookEditPrompt),
		Schema:      json.RawMessage(notebookEditSchema),
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			in, err := decodeNotebookEdit(c)
			if err != nil {
				return nil, err
			}
			return []tool.Effect{{Action: tool.Write, Target: in.path}}, nil
		},
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decodeNotebookEdit(c)
			if err != nil {
				return failed(err)
			}
			var at int // the cell that was changed
			done, err := locks.change(ctx, c.Scope, in.path, func(old string, exists bool) (text string, err error) {
				if !exists {
					return "", refuse("There is no file %s.%s", show(in.path), suggest(c.Scope, in.path))
				}
				text, at, err = editNotebook(old, in.edit)
				return text, err
			})
			if err != nil {
				return failed(err)
			}
			deeds := map[string]string{"replace": "Replaced the source of", "insert": "Inserted", "delete": "Deleted"}
			r := tool.Text(fmt.Sprintf("%s cell %d of %s.", deeds[in.edit.mode], at, show(in.path)))
			r.Data = done.data()
			return r
		},
	}
}

type notebookEditInput struct {
	NotebookPath string          `json:"notebook_path"`
	FilePath     string          `json:"file_path"`
	Path         string          `json:"path"`
	CellID       json.RawMessage `json:"cell_id"`
	CellNumber   json.RawMessage `json:"cell_number"`
	NewSource    *string         `json:"new_source"`
	CellType     string          `json:"cell_type"`
	EditMode     string          `json:"edit_mode"`

	path string // absolute
	edit cellEdit
}

func decodeNotebookEdit(c tool.Call) (notebookEditInput, error) {
	in, err := decode[notebookEditInput](c)
	if err != nil {
		return in, err
	}
	if in.path, err = pathOf(c, in.NotebookPath, in.FilePath, in.Path); err != nil {
		return in, err
	}
	in.edit = cellEdit{mode: in.EditMode, kind: in.CellType, cell: scalar(in.CellID)}
	if in.edit.cell == "" {
		in.edit.cell = scalar(in.CellNumber)
	}
	if in.edit.mode == "" {
		in.edit.mode = "replace"
	}
	if in.NewSource != nil {
		in.edit.source = *in.NewSource
	}
	switch in.edit.mode {
	case "replace", "insert":
		if in.NewSource == nil {
			return in, refuse("NotebookEdit: new_source is missing. Call again with the source of the cell.")
		}
	case "delete":
	default:
		return in, refuse("NotebookEdit: edit_mode %q is not known. Use replace, insert or delete.", in.EditMode)
	}
	switch in.edit.kind {
	case "code", "markdown", "raw", "":
	default:
		return in, refuse("NotebookEdit: cell_type %q is not known. Use code, markdown or raw.", in.CellType)
	}
	if in.edit.mode != "insert" && in.edit.cell == "" {
		return in, refuse("NotebookEdit: cell_id is missing. Call again with the id or the number of the cell.")
	}
	if in.edit.mode == "insert" && in.edit.kind == "" {
		return in, refuse("NotebookEdit: cell_type is missing. Say whether the new cell is code, markdown or raw.")
	}
	return in, nil
}

// scalar returns a JSON string or number as text.
func scalar(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}
