package builtin

import (
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"

	"heddle/internal/message"
	"heddle/internal/tool"
)

const (
	outputLimit    = 10_000 // characters of one output of a cell
	notebookImages = 10     // pictures of one call
)

// notebook is the part of a Jupyter notebook that is shown.
type notebook struct {
	Cells []cell `json:"cells"`
}

type cell struct {
	ID      string   `json:"id"`
	Type    string   `json:"cell_type"`
	Source  lines    `json:"source"`
	Outputs []output `json:"outputs"`
}

type output struct {
	Type      string                     `json:"output_type"`
	Text      lines                      `json:"text"`
	Data      map[string]json.RawMessage `json:"data"`
	Name      string                     `json:"ename"`
	Value     string                     `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// lines is text that a notebook stores as one string or as a list of lines.
type lines string

func (l *lines) UnmarshalJSON(data []byte) error {
	var many []string
	if json.Unmarshal(data, &many) == nil {
		*l = lines(strings.Join(many, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(l))
}

// readNotebook shows the cells of a notebook with their outputs. offset and
// limit count cells.
func readNotebook(s *tool.Scope, in readInput, r io.Reader) (tool.Result, error) {
	data, err := readAll(in.path, r, editLimit)
	if err != nil {
		return tool.Result{}, err
	}
	var nb notebook
	if err := json.Unmarshal([]byte(strings.TrimPrefix(string(data), bom)), &nb); err != nil {
		return tool.Result{}, refuse("%s is not a valid notebook: %v. To see it as text, print it with a command.", show(in.path), err)
	}
	seen(s, in.path, tool.VersionOf(data))
	first := max(int(in.Offset), 1)
	if first > max(len(nb.Cells), 1) {
		return tool.Result{}, refuse("%s has only %s.", show(in.path), plural(len(nb.Cells), "cell"))
	}
	last := len(nb.Cells)
	if in.Limit > 0 {
		last = min(last, first-1+int(in.Limit))
	}
	var p pageOfCells
	for i := first - 1; i < last; i++ {
		if p.text.Len() > textLimit {
			last = i
			break
		}
		p.cell(i, nb.Cells[i])
	}
	if len(nb.Cells) == 0 {
		p.text.WriteString("(The notebook has no cells.)")
	}
	if last < len(nb.Cells) {
		fmt.Fprintf(&p.text, "\n[Cells %d to %d of %d. To go on, read with offset %d.]\n", first, last, len(nb.Cells), last+1)
	}
	return tool.Result{Content: append([]message.Block{message.Text{Text: p.text.String()}}, p.images...)}, nil
}

// pageOfCells collects what is shown of a notebook.
type pageOfCells struct {
	text   strings.Builder
	images []message.Block
}

func (p *pageOfCells) cell(i int, c cell) {
	fmt.Fprintf(&p.text, "--- cell %d (%s", i, c.Type)
	if c.ID != "" {
		fmt.Fprintf(&p.text, ", id %s", c.ID)
	}
	p.text.WriteString(")\n")
	p.put(string(c.Source), textLimit)
	for _, o := range c.Outputs {
		p.output(o)
	}
}

func (p *pageOfCells) output(o output) {
	p.text.WriteString("--- output\n")
	switch o.Type {
	case "stream":
		p.put(string(o.Text), outputLimit)
	case "error":
		colours := regexp.MustCompile(`\x1b\[[0-9;]*m`)
		p.put(colours.ReplaceAllString(strings.Join(o.Traceback, "\n"), ""), outputLimit)
		p.put(o.Name+": "+o.Value, outputLimit)
	default:
		p.data(o.Data)
	}
}

// data shows a rich output: its picture, or else its plain text.
func (p *pageOfCells) data(data map[string]json.RawMessage) {
	for _, kind := range []string{"image/png", "image/jpeg"} {
		raw, ok := data[kind]
		if !ok {
			continue
		}
		var encoded lines
		if json.Unmarshal(raw, &encoded) != nil {
			continue
		}
		picture := strings.Join(strings.Fields(string(encoded)), "")
		if len(p.images) == notebookImages || !showable(kind, picture) {
			p.text.WriteString("[a picture that is not shown]\n")
		} else {
			p.images = append(p.images, message.Image{MediaType: kind, Data: picture})
			fmt.Fprintf(&p.text, "[picture %d below]\n", len(p.images))
		}
		return
	}
	var plain lines
	if json.Unmarshal(data["text/plain"], &plain) == nil {
		p.put(string(plain), outputLimit)
	}
}

// put writes text as whole lines, at most limit bytes of it.
func (p *pageOfCells) put(text string, limit int) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + fmt.Sprintf("\n[cut: %d bytes in all]", len(text))
	}
	p.text.WriteString(text)
	if text != "" && !strings.HasSuffix(text, "\n") {
		p.text.WriteByte('\n')
	}
}
