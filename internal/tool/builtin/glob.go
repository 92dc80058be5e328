package builtin

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"heddle/internal/search"
	"heddle/internal/tool"
)

//go:embed glob.md
var globPrompt string

const globSchema = `{"type":"object","properties":{` +
	`"pattern":{"type":"string","description":"Glob pattern, for example \"**/*.go\""},` +
	`"path":{"type":"string","description":"Folder to search; the working directory if not given"}},` +
	`"required":["pattern"],"additionalProperties":false}`

// globLimit is how many files one call lists.
const globLimit = 100

// Glob returns the tool that finds files by name.
func Glob() tool.Tool {
	return tool.Tool{
		Name:        "Glob",
		Description: strings.TrimSpace(globPrompt),
		Schema:      json.RawMessage(globSchema),
		Parallel:    true,
		Effects: func(c tool.Call) ([]tool.Effect, error) {
			in, err := decodeGlob(c)
			if err != nil {
				return nil, err
			}
			return []tool.Effect{{Action: tool.Read, Target: in.dir}}, nil
		},
		Run: func(ctx context.Context, c tool.Call) tool.Result {
			in, err := decodeGlob(c)
			if err != nil {
				return failed(err)
			}
			found, err := search.Glob(ctx, in.dir, in.rest)
			if err != nil {
				return failed(unsearchable(c, in.dir, err))
			}
			found, kept := readable(c.Scope, found)
			return listFiles(c.Scope, in, found, kept)
		},
	}
}

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`

	dir  string // absolute: path, and the folders that pattern begins with
	rest string // of pattern
}

func decodeGlob(c tool.Call) (globInput, error) {
	in, err := decode[globInput](c)
	if err != nil {
		return in, err
	}
	if in.Pattern == "" {
		return in, refuse("Glob: pattern is missing. Call again with a pattern such as \"**/*.go\".")
	}
	base, rest := doublestar.SplitPattern(in.Pattern)
	in.rest = rest
	in.dir = absolute(c.Scope, in.Path)
	switch {
	case filepath.IsAbs(base):
		in.dir = filepath.Clean(base)
	case base != ".":
		in.dir = filepath.Join(in.dir, base)
	}
	return in, nil
}

// unsearchable says why a search did not happen.
func unsearchable(c tool.Call, path string, err error) error {
	if _, there := os.Stat(path); there == nil && errors.Is(err, errNotDir) {
		return refuse("%s is a file, not a folder. Use Read to see it.", show(path))
	}
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) || errors.Is(err, errNotDir) {
		return inaccessible(c.Scope, path, err)
	}
	return refuse("%s: %v.", c.Name, err)
}

// readable leaves out the files that may not be read.
func readable(s *tool.Scope, found []search.Match) (may []search.Match, kept int) {
	if s.MayRead == nil {
		return found, 0
	}
	may = slices.DeleteFunc(slices.Clone(found), func(m search.Match) bool { return !s.MayRead(s, m.Path) })
	return may, len(found) - len(may)
}

func listFiles(s *tool.Scope, in globInput, found []search.Match, kept int) tool.Result {
	if len(found) == 0 {
		hint := ""
		if !strings.Contains(in.Pattern, "/") {
			hint = fmt.Sprintf(" %q only matches in the folder itself; try \"**/%s\".", in.Pattern, in.Pattern)
		}
		return tool.Text(fmt.Sprintf("No files in %s match %q.%s\n", show(in.dir), in.rest, hint) + keptBack(kept))
	}
	names := []string{}
	var b strings.Builder
	for _, m := range found[:min(len(found), globLimit)] {
		name := relative(s, m.Path)
		names = append(names, name)
		b.WriteString(show(name) + "\n")
	}
	if more := len(found) - globLimit; more > 0 {
		fmt.Fprintf(&b, "[%d more are not listed; these are the newest. Use a narrower pattern or path.]\n", more)
	}
	b.WriteString(keptBack(kept))
	r := tool.Text(b.String())
	r.Data = struct {
		Filenames []string `json:"filenames"`
		NumFiles  int      `json:"numFiles"`
		Truncated bool     `json:"truncated"`
	}{names, len(found), len(found) > globLimit}
	return r
}
