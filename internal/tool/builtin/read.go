// Package builtin holds the tools that come with heddle, one file and one
// prompt each. A tool decodes its input, calls one package, formats the answer.
package builtin

import (
	"bytes"
	"context"
	_ "embed" // the prompts
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"

	"heddle/internal/tool"
)

//go:embed read.md
var readPrompt string

const readSchema = `{"type":"object","properties":{` +
	`"file_path":{"type":"string","description":"Absolute path of the file"},` +
	`"offset":{"type":"integer","minimum":1,"description":"First line to read, counted from 1"},` +
	`"limit":{"type":"integer","minimum":1,"description":"How many lines to read; 2000 if not given"},` +
	`"pages":{"type":"string","description":"Pages of a PDF file, for example \"3\" or \"1-5\""}},` +
	`"required":["file_path"],"additionalProperties":false}`

// Read returns the tool that reads text, images, notebooks and PDF files. It
// remembers which version of a file the agent has seen.
func Read() tool.Tool {
	return tool.Tool{
		Name:        "Read",
		Description: strings.TrimSpace(readPrompt),
		Schema:      json.RawMessage(readSchema),
		Parallel:    true,
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			in, err := decodeRead(c)
			if err != nil {
				return nil, err
			}
			return []tool.Effect{{Action: tool.Read, Target: in.path}}, nil
		},
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decodeRead(c)
			if err != nil {
				return failed(err)
			}
			r, err := read(ctx, c.Scope, in)
			if err != nil {
				return failed(err)
			}
			return r
		},
	}
}

type readInput struct {
	FilePath string `json:"file_path"`
	Path     string `json:"path"` // models write this, too
	Offset   number `json:"offset"`
	Limit    number `json:"limit"`
	Pages    string `json:"pages"`

	path string // absolute
}

func decodeRead(c tool.Call) (readInput, error) {
	in, err := decode[readInput](c)
	if err != nil {
		return in, err
	}
	if in.path, err = pathOf(c, in.FilePath, in.Path); err != nil {
		return in, err
	}
	if in.Offset < 0 || in.Limit < 0 {
		return in, refuse("Read: offset and limit count lines from 1; they cannot be negative.")
	}
	return in, nil
}

// pathOf returns the absolute form of the first name that is given.
func pathOf(c tool.Call, names ...string) (string, error) {
	for _, n := range names {
		if n != "" {
			return absolute(c.Scope, n), nil
		}
	}
	return "", refuse("%s: file_path is missing. Call again with the absolute path of the file.", c.Name)
}

// sniff is how much of a file decides what it is.
const sniff = 8 << 10

func read(ctx context.Context, s *tool.Scope, in readInput) (tool.Result, error) {
	f, info, err := openRegular(ctx, s, in.path)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	head := make([]byte, sniff)
	n, err := io.ReadFull(f, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return tool.Result{}, inaccessible(s, in.path, err)
	}
	head = head[:n]
	whole := io.MultiReader(bytes.NewReader(head), f)

	kind := http.DetectContentType(head)
	switch {
	case n == 0:
		seen(s, in.path, tool.VersionOf(nil))
		return tool.Text("(The file " + show(in.path) + " exists and is empty.)"), nil
	case strings.HasPrefix(kind, "image/") && imageTypes[kind]:
		return readImage(s, in.path, kind, whole, info.Size())
	case kind == "application/pdf":
		return readPDF(ctx, f.Name(), in)
	case strings.EqualFold(filepath.Ext(in.path), ".ipynb"):
		return readNotebook(s, in, whole)
	case strings.Contains(kind, "utf-16"):
		return tool.Result{}, refuse("%s is UTF-16 text. Convert it first: iconv -f UTF-16 -t UTF-8.", show(in.path))
	case bytes.IndexByte(head, 0) >= 0:
		return tool.Result{}, refuse("%s is a binary file (%s, %d bytes), not text. Use a command that understands it.",
			show(in.path), kind, info.Size())
	}
	return readText(ctx, s, in, whole, info.Size())
}

// seen remembers that the agent knows this version of path.
func seen(s *tool.Scope, path string, v tool.Version) {
	if p, err := real(path); err == nil {
		s.Files.Seen(p, v)
	}
}

// readAll reads at most limit bytes, and refuses a file that has more.
func readAll(path string, r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, refuse("%s: %v.", show(path), err)
	}
	if int64(len(data)) > limit {
		return nil, refuse("%s is larger than %d MB, the most this tool takes of such a file.", show(path), limit>>20)
	}
	return data, nil
}
