package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"heddle/internal/tool"
)

//go:embed write.md
var writePrompt string

const writeSchema = `{"type":"object","properties":{` +
	`"file_path":{"type":"string","description":"Absolute path of the file"},` +
	`"content":{"type":"string","description":"The whole new content"}},` +
	`"required":["file_path","content"],"additionalProperties":false}`

// Write returns the tool that creates and replaces whole files.
func Write(locks *Locks) tool.Tool {
	return tool.Tool{
		Name:        "Write",
		Description: strings.TrimSpace(writePrompt),
		Schema:      json.RawMessage(writeSchema),
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			in, err := decodeWrite(c)
			if err != nil {
				return nil, err
			}
			return []tool.Effect{{Action: tool.Write, Target: in.path}}, nil
		},
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decodeWrite(c)
			if err != nil {
				return failed(err)
			}
			done, err := locks.change(ctx, c.Scope, in.path, func(string, bool) (string, error) { return *in.Content, nil })
			if err != nil {
				return failed(err)
			}
			return written(done)
		},
	}
}

type writeInput struct {
	FilePath string  `json:"file_path"`
	Path     string  `json:"path"`
	Content  *string `json:"content"`

	path string // absolute
}

func decodeWrite(c tool.Call) (writeInput, error) {
	in, err := decode[writeInput](c)
	if err != nil {
		return in, err
	}
	if in.path, err = pathOf(c, in.FilePath, in.Path); err != nil {
		return in, err
	}
	if in.Content == nil {
		return in, refuse("Write: content is missing. Call again with the whole content of the file.")
	}
	return in, nil
}

// fileChange is the structured result of the tools that change files.
type fileChange struct {
	Type     string `json:"type"` // create or update
	FilePath string `json:"filePath"`
	Patch    []hunk `json:"structuredPatch"` // empty if the file is very large
}

// patchLimit is the size of contents whose difference anyone would look at.
const patchLimit = 1 << 20

func (c change) data() fileChange {
	kind := "update"
	if c.created {
		kind = "create"
	}
	patch := []hunk{}
	if len(c.old)+len(c.new) <= patchLimit {
		patch = diff(c.old, c.new)
	}
	return fileChange{Type: kind, FilePath: c.path, Patch: patch}
}

func written(c change) tool.Result {
	deed := "Replaced the content of"
	if c.created {
		deed = "Created"
	}
	r := tool.Text(fmt.Sprintf("%s %s: %s, %d bytes.", deed, show(c.path), plural(countLines(c.new), "line"), len(c.new)))
	r.Data = c.data()
	return r
}

// countLines counts lines; the last need not end with a line break.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
