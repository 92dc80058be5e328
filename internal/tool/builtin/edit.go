package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"heddle/internal/tool"
)

//go:embed edit.md
var editPrompt string

const editSchema = `{"type":"object","properties":{` +
	`"file_path":{"type":"string","description":"Absolute path of the file"},` +
	`"old_string":{"type":"string","description":"The text to replace"},` +
	`"new_string":{"type":"string","description":"The text to put in its place"},` +
	`"replace_all":{"type":"boolean","description":"Replace every occurrence; false if not given"}},` +
	`"required":["file_path","old_string","new_string"],"additionalProperties":false}`

// Edit returns the tool that replaces text in a file.
func Edit(locks *Locks) tool.Tool {
	return tool.Tool{
		Name:        "Edit",
		Description: strings.TrimSpace(editPrompt),
		Schema:      json.RawMessage(editSchema),
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			in, err := decodeEdit(c)
			if err != nil {
				return nil, err
			}
			return []tool.Effect{{Action: tool.Write, Target: in.path}}, nil
		},
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decodeEdit(c)
			if err != nil {
				return failed(err)
			}
			var first span // where the first replacement stands
			var times int
			done, err := locks.change(ctx, c.Scope, in.path, func(old string, exists bool) (text string, err error) {
				text, first, times, err = in.apply(c.Scope, old, exists)
				return text, err
			})
			if err != nil {
				return failed(err)
			}
			return edited(done, first, times)
		},
	}
}

type editInput struct {
	FilePath   string  `json:"file_path"`
	Path       string  `json:"path"`
	Old        *string `json:"old_string"`
	New        *string `json:"new_string"`
	ReplaceAll flag    `json:"replace_all"`

	path string // absolute
}

func decodeEdit(c tool.Call) (editInput, error) {
	in, err := decode[editInput](c)
	if err != nil {
		return in, err
	}
	if in.path, err = pathOf(c, in.FilePath, in.Path); err != nil {
		return in, err
	}
	switch {
	case in.Old == nil:
		return in, refuse("Edit: old_string is missing. Call again with the text to replace.")
	case in.New == nil:
		return in, refuse("Edit: new_string is missing. Call again with the text to put in place (empty to delete).")
	case *in.Old == *in.New:
		return in, refuse("Edit: old_string and new_string are the same, so there is nothing to change.")
	}
	return in, nil
}

// apply returns old with the replacements made, where the first of them stands
// in the result, and how many they are.
func (in editInput) apply(s *tool.Scope, old string, exists bool) (text string, first span, times int, err error) {
	switch {
	case !exists && *in.Old == "":
		return *in.New, span{0, len(*in.New)}, 1, nil
	case !exists:
		return "", span{}, 0, refuse("There is no file %s.%s", show(in.path), suggest(s, in.path))
	case *in.Old == "" && old != "":
		return "", span{}, 0, refuse("%s exists and is not empty. An empty old_string only creates a new file; "+
			"say which text to replace, or use Write to replace all of it.", show(in.path))
	case *in.Old == "":
		return *in.New, span{0, len(*in.New)}, 1, nil
	}
	found := find(old, *in.Old)
	if len(found) == 0 {
		return "", span{}, 0, refuse("old_string was not found in %s. %s", show(in.path), whyNotFound(old, *in.Old))
	}
	if len(found) > 1 && !in.ReplaceAll {
		return "", span{}, 0, refuse("old_string was found %d times in %s, in lines %s. "+
			"Add lines around it until it is unique, or set replace_all.", len(found), show(in.path), lineList(old, found))
	}
	text, first = substitute(old, found, *in.Old, *in.New)
	if text == old {
		return "", span{}, 0, refuse("This edit changes nothing in %s.", show(in.path))
	}
	return text, first, len(found), nil
}

// lineList names the lines in which spans begin.
func lineList(text string, spans []span) string {
	const most = 10
	var b strings.Builder
	line, at := 1, 0
	for i, sp := range spans {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(spans)-most)
			break
		}
		line += strings.Count(text[at:sp.start], "\n")
		at = sp.start
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, line)
	}
	return b.String()
}

// edited shows the changed region, so that the model need not read it again.
func edited(c change, first span, times int) tool.Result {
	var b strings.Builder
	switch {
	case c.created:
		fmt.Fprintf(&b, "Created %s.", show(c.path))
	case times > 1:
		fmt.Fprintf(&b, "Edited %s in %d places. The first of them now reads:\n", show(c.path), times)
	default:
		fmt.Fprintf(&b, "Edited %s. The region now reads:\n", show(c.path))
	}
	if !c.created {
		excerpt(&b, c.new, first)
	}
	r := tool.Text(b.String())
	r.Data = c.data()
	return r
}

// excerpt writes the lines of a span and a few around it, numbered as Read does.
func excerpt(b *strings.Builder, text string, sp span) {
	const around, most = 3, 60
	lines := splitLines(text)
	from := strings.Count(text[:sp.start], "\n")
	to := from + strings.Count(text[sp.start:sp.end], "\n") + around + 1
	from = max(from-around, 0)
	to = min(to, len(lines))
	for i := from; i < to; i++ {
		if i-from == most {
			fmt.Fprintf(b, "       … %s more\n", plural(to-i, "line"))
			return
		}
		line, cut := cutLine(strings.ToValidUTF8(strings.TrimSuffix(lines[i], "\r"), "\uFFFD"))
		if cut {
			line += "…"
		}
		fmt.Fprintf(b, "%6d\t%s\n", i+1, line)
	}
}
