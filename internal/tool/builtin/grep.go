package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"heddle/internal/search"
	"heddle/internal/tool"
)

//go:embed grep.md
var grepPrompt string

const grepSchema = `{"type":"object","properties":{` +
	`"pattern":{"type":"string","description":"Regular expression"},` +
	`"path":{"type":"string","description":"File or folder to search; the working directory if not given"},` +
	`"glob":{"type":"string","description":"Which names to search, for example \"*.js\" or \"*.{ts,tsx}\""},` +
	`"type":{"type":"string","description":"Which kind of file to search, for example \"go\" or \"py\""},` +
	`"output_mode":{"type":"string","enum":["content","files_with_matches","count"],"description":"What to show; files_with_matches if not given"},` +
	`"-i":{"type":"boolean","description":"Ignore case"},` +
	`"-n":{"type":"boolean","description":"Show line numbers (content only); true if not given"},` +
	`"-o":{"type":"boolean","description":"Show only what matches (content only)"},` +
	`"-A":{"type":"integer","minimum":0,"description":"Lines to show after each match (content only)"},` +
	`"-B":{"type":"integer","minimum":0,"description":"Lines to show before each match (content only)"},` +
	`"-C":{"type":"integer","minimum":0,"description":"Lines to show before and after each match (content only)"},` +
	`"context":{"type":"integer","minimum":0,"description":"The same as -C"},` +
	`"head_limit":{"type":"integer","minimum":0,"description":"How many lines or files to show; 250 if not given"},` +
	`"offset":{"type":"integer","minimum":0,"description":"How many lines or files to pass over first"},` +
	`"multiline":{"type":"boolean","description":"Let matches span lines, and the dot match line breaks"}},` +
	`"required":["pattern"],"additionalProperties":false}`

const (
	grepDefault = 250   // entries of one call
	grepMost    = 10000 // entries, however many are asked for
	grepBytes   = 40000 // bytes of one result
	grepContext = 100   // lines of context around a match
	grepTime    = time.Minute
)

// Grep returns the tool that searches the content of files, with ripgrep if it
// is there.
func Grep() tool.Tool {
	ripgrep := sync.OnceValue(func() string {
		path, err := exec.LookPath("rg")
		if err != nil {
			return ""
		}
		return path
	})
	return tool.Tool{
		Name:        "Grep",
		Description: strings.TrimSpace(grepPrompt),
		Schema:      json.RawMessage(grepSchema),
		Parallel:    true,
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			in, err := decodeGrep(c)
			if err != nil {
				return nil, err
			}
			return []tool.Effect{{Action: tool.Read, Target: in.query.Root}}, nil
		},
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decodeGrep(c)
			if err != nil {
				return failed(err)
			}
			ctx, cancel := context.WithTimeoutCause(ctx, grepTime, errGrepSlow)
			defer cancel()
			if may := c.Scope.MayRead; may != nil {
				in.query.Skip = func(path string) bool { return !may(c.Scope, path) }
			}
			found, err := search.Grep(ctx, in.query, ripgrep())
			if err != nil {
				return failed(unsearchable(c, in.query.Root, err))
			}
			return in.show(c.Scope, found)
		},
	}
}

var errGrepSlow = errors.New("the search took more than a minute; narrow it with path, glob or type")

type grepInput struct {
	Pattern    string      `json:"pattern"`
	Path       string      `json:"path"`
	Glob       string      `json:"glob"`
	Type       string      `json:"type"`
	Mode       search.Mode `json:"output_mode"`
	IgnoreCase flag        `json:"-i"`
	Numbers    *flag       `json:"-n"`
	OnlyMatch  flag        `json:"-o"`
	After      number      `json:"-A"`
	Before     number      `json:"-B"`
	Around     number      `json:"-C"`
	Context    number      `json:"context"`
	HeadLimit  number      `json:"head_limit"`
	Offset     number      `json:"offset"`
	Multiline  flag        `json:"multiline"`

	query search.Query
}

func decodeGrep(c tool.Call) (grepInput, error) {
	in, err := decode[grepInput](c)
	if err != nil {
		return in, err
	}
	if in.Pattern == "" {
		return in, refuse("Grep: pattern is missing. Call again with a regular expression.")
	}
	switch in.Mode {
	case "":
		in.Mode = search.Files
	case search.Lines, search.Files, search.Counts:
	default:
		return in, refuse("Grep: output_mode %q is not known. Use content, files_with_matches or count.", in.Mode)
	}
	if min(in.After, in.Before, in.Around, in.Context, in.HeadLimit, in.Offset) < 0 {
		return in, refuse("Grep: -A, -B, -C, context, head_limit and offset cannot be negative.")
	}
	if in.HeadLimit == 0 {
		in.HeadLimit = grepDefault
	}
	in.HeadLimit = min(in.HeadLimit, grepMost)
	in.Offset = min(in.Offset, 10*grepMost)
	around := max(in.Around, in.Context)
	in.query = search.Query{
		Pattern: in.Pattern, Root: absolute(c.Scope, in.Path), Globs: splitGlobs(in.Glob), Type: in.Type,
		IgnoreCase: bool(in.IgnoreCase), Multiline: bool(in.Multiline), OnlyMatch: bool(in.OnlyMatch),
		Before: int(min(max(in.Before, around), grepContext)),
		After:  int(min(max(in.After, around), grepContext)),
		Mode:   in.Mode, Limit: int(in.Offset + in.HeadLimit + 1),
	}
	return in, nil
}

// keptBack says that rules kept files out of a result.
func keptBack(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("[Left out: %s that may not be read.]\n", plural(n, "file"))
}

// splitGlobs separates patterns at spaces and commas, except inside braces.
func splitGlobs(s string) []string {
	depth := 0
	return strings.FieldsFunc(s, func(r rune) bool {
		switch r {
		case '{':
			depth++
		case '}':
			depth--
		case ',', ' ':
			return depth == 0
		}
		return false
	})
}

func (in grepInput) show(s *tool.Scope, found search.Found) tool.Result {
	kept := keptBack(found.Skipped)
	if found.Total == 0 {
		return tool.Text(strings.TrimSuffix("No matches.\n"+kept, "\n"))
	}
	entries := in.entries(s, found)
	from := min(int(in.Offset), len(entries))
	to := from
	var b strings.Builder
	for to < len(entries) && to-from < int(in.HeadLimit) && b.Len() < grepBytes {
		b.WriteString(entries[to] + "\n")
		to++
	}
	if from == to {
		fmt.Fprintf(&b, "[There is nothing after offset %d.]\n", in.Offset)
	}
	if in.Mode == search.Counts {
		fmt.Fprintf(&b, "[%d in %s]\n", found.Sum, plural(found.Total, "file"))
	}
	if found.More || to < len(entries) {
		fmt.Fprintf(&b, "[More follow. To see them, search with offset %d, or narrow the search.]\n", to)
	}
	b.WriteString(kept)
	r := tool.Text(b.String())
	r.Data = struct {
		Mode     search.Mode `json:"mode"`
		NumFiles int         `json:"numFiles"`
	}{in.Mode, found.Total}
	return r
}

// entries formats the answer as grep does: path:number:text for a line that
// matches, path-number-text for one of context, "--" where lines are left out.
func (in grepInput) entries(s *tool.Scope, found search.Found) []string {
	var out []string
	for i, f := range found.Files {
		name := show(relative(s, f.Path))
		switch in.Mode {
		case search.Files:
			out = append(out, name)
			continue
		case search.Counts:
			out = append(out, fmt.Sprintf("%s:%d", name, f.Count))
			continue
		}
		withContext := in.query.Before+in.query.After > 0 && !in.query.OnlyMatch
		if withContext && i > 0 {
			out = append(out, "--")
		}
		for _, l := range f.Lines {
			if withContext && l.Gap {
				out = append(out, "--")
			}
			mark := ":"
			if l.Context {
				mark = "-"
			}
			if in.Numbers == nil || *in.Numbers {
				mark = fmt.Sprintf("%s%d%s", mark, l.Number, mark)
			}
			out = append(out, name+mark+l.Text)
		}
	}
	return out
}
