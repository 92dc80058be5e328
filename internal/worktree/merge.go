package worktree

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Conflict is a file that cannot be brought over as it is.
type Conflict struct {
	Path string
	Why  string
}

// merged is what a merge in memory makes of two states.
type merged struct {
	tree      string // with marks of conflicts in the files that have them
	conflicts []Conflict
}

// merge merges two commits that both have one parent: what they began with.
func merge(ctx context.Context, g git, ours, theirs string) (merged, error) {
	out, err := g.run(ctx, "", "-c", "merge.directoryRenames=false", "merge-tree", "--write-tree", "--messages", "-z", ours, theirs)
	if err != nil && exitCode(err) != 1 { // 1: there are conflicts
		return merged{}, err
	}
	m, parsed := parseMerge(out)
	if parsed != nil {
		return merged{}, parsed
	}
	if err != nil && len(m.conflicts) == 0 {
		return merged{}, err
	}
	return m, nil
}

var errMergeOutput = errors.New("cannot make sense of what git merge-tree says")

// parseMerge reads the output of git merge-tree. It holds, each ended by NUL: a tree;
// a list of the files with conflicts, ended by an empty entry; and messages, each a
// number of paths, the paths, a kind, and a text.
func parseMerge(out string) (merged, error) {
	rest := fields(out)
	if len(rest) == 0 || !isObject(rest[0]) {
		return merged{}, errMergeOutput
	}
	m := merged{tree: rest[0]}
	rest = rest[1:]
	var listed []string
	for len(rest) > 0 && rest[0] != "" {
		_, path, ok := strings.Cut(rest[0], "\t")
		if !ok {
			return merged{}, errMergeOutput
		}
		listed = append(listed, path)
		rest = rest[1:]
	}
	told := map[string]bool{}
	for rest = rest[min(1, len(rest)):]; len(rest) > 0; {
		n, err := strconv.Atoi(rest[0])
		if err != nil || n < 0 || n > len(rest)-3 {
			return merged{}, errMergeOutput
		}
		paths, kind := rest[1:1+n], rest[1+n]
		rest = rest[n+3:]
		if !strings.HasPrefix(kind, "CONFLICT") {
			continue
		}
		for i, p := range paths {
			if i == 0 && !told[p] {
				m.conflicts = append(m.conflicts, Conflict{p, conflictReason(kind)})
			}
			told[p] = true
		}
	}
	for _, p := range listed {
		if !told[p] {
			m.conflicts = append(m.conflicts, Conflict{p, "both sides changed it"})
			told[p] = true
		}
	}
	return m, nil
}

// conflictReason words a kind of conflict of git, as in "CONFLICT (contents)".
func conflictReason(kind string) string {
	inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(kind, "CONFLICT"), " ("), ")")
	switch inner {
	case "contents":
		return "both sides changed the same lines"
	case "binary":
		return "both sides changed it, and it is no text"
	case "modify/delete":
		return "one side deleted it and the other changed it"
	case "rename/delete":
		return "one side deleted it and the other moved it"
	case "rename/rename":
		return "both sides moved it, to different places"
	case "file/directory":
		return "it is a file on one side and a folder on the other"
	case "distinct modes", "distinct types":
		return "it is a file on one side and a link on the other"
	}
	return "the sides do not fit together: " + inner
}

// change is a file that differs between two trees of git.
type change struct {
	path             string
	oldMode, newMode string
	old, new         string // objects
}

const (
	noFile         = "000000"
	repositoryMode = "160000" // a submodule, or a repository in the tree
)

func (c change) removed() bool { return c.newMode == noFile }

func (c change) isRepository() bool {
	return c.oldMode == repositoryMode || c.newMode == repositoryMode
}

// compare lists the files that differ between two trees.
func compare(ctx context.Context, g git, from, to string) ([]change, error) {
	out, err := g.run(ctx, "", "diff-tree", "-r", "-z", "--no-renames", from, to)
	if err != nil {
		return nil, err
	}
	return parseChanges(out)
}

// parseChanges reads the output of git diff-tree: colon, both modes, both objects and a
// letter, and then the path.
func parseChanges(out string) ([]change, error) {
	parts := fields(out)
	if len(parts)%2 != 0 {
		return nil, errors.New("cannot make sense of what git diff-tree says")
	}
	var changes []change
	for i := 0; i < len(parts); i += 2 {
		f := strings.Fields(strings.TrimPrefix(parts[i], ":"))
		if len(f) != 5 || parts[i+1] == "" {
			return nil, fmt.Errorf("cannot make sense of what git diff-tree says: %q", parts[i])
		}
		changes = append(changes, change{path: parts[i+1], oldMode: f[0], newMode: f[1], old: f[2], new: f[3]})
	}
	return changes, nil
}
