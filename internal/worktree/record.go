package worktree

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Stage is how far a tree is in its life.
type Stage string

// The stages. One that is not Ready and in nobody's use was left behind by a crash:
// [Tree.Remove] ends it.
const (
	Making   Stage = "making"
	Ready    Stage = "ready"
	Removing Stage = "removing"
)

// record is what is noted of a tree in the git folder, before there is anything of it
// and until nothing of it is left. Only what has a record is ever removed. Paths are
// bytes, as they need not be text.
type record struct {
	Name   string   `json:"name"`
	Stage  Stage    `json:"stage"`
	Base   string   `json:"base"`
	Repo   []byte   `json:"repo"`
	Copied []copied `json:"copied,omitempty"`
}

func (rec *record) path() string { return filepath.Join(treesOf(string(rec.Repo)), rec.Name) }

const recordEnding = ".json"

func (r *repository) recordFile(name string) string {
	return r.private("worktrees", name+recordEnding)
}

func (r *repository) useFile(name string) string { return r.private("worktrees", name+".use") }

// read returns the record of a tree. The error is [os.ErrNotExist] if there is none.
func (r *repository) read(name string) (*record, error) {
	text, err := os.ReadFile(r.recordFile(name))
	if err != nil {
		return nil, fmt.Errorf("read the record of a worktree: %w", err)
	}
	return parseRecord(name, text)
}

func parseRecord(name string, text []byte) (*record, error) {
	var rec record
	if err := json.Unmarshal(text, &rec); err != nil {
		return nil, fmt.Errorf("read the record of worktree %s: %w", name, err)
	}
	known := rec.Stage == Making || rec.Stage == Ready || rec.Stage == Removing
	if !known || rec.Name != name || checkName(name) != nil || !filepath.IsAbs(string(rec.Repo)) || !isObject(rec.Base) {
		return nil, fmt.Errorf("read the record of worktree %s: it is not whole", name)
	}
	return &rec, nil
}

// isObject reports whether s is the full name of a git object.
func isObject(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}

func (r *repository) write(rec *record) error {
	return writeJSON(r.recordFile(rec.Name), rec)
}

// writeJSON writes a file so that at any time it is there whole, the old or the new one.
func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	next := path + ".new"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return nil
}

// names lists the trees that have records.
func (r *repository) names() ([]string, error) {
	entries, err := os.ReadDir(r.private("worktrees"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list the records of worktrees: %w", err)
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), recordEnding); ok {
			names = append(names, name)
		}
	}
	return names, nil
}

// admins finds the git folder that each linked tree of the repository has, by the path
// of the tree.
func (r *repository) admins() map[string]string {
	all := filepath.Join(r.common, "worktrees")
	entries, _ := os.ReadDir(all) // without it, there are none
	found := map[string]string{}
	for _, e := range entries {
		admin := filepath.Join(all, e.Name())
		text, err := os.ReadFile(filepath.Join(admin, "gitdir"))
		if err != nil {
			continue
		}
		link := strings.TrimSuffix(string(text), "\n")
		if !filepath.IsAbs(link) {
			link = filepath.Join(admin, link)
		}
		found[filepath.Dir(link)] = admin
	}
	return found
}
