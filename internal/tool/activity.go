package tool

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Activity is what a call does, for people who watch.
type Activity struct {
	Tool  string `json:"tool"`
	Input string `json:"input"` // shortened
	// Words are one line: "Reading src/foo.ts".
	Words  string `json:"description"`
	Search bool   `json:"is_search,omitempty"` // it looks for something
	Read   bool   `json:"is_read,omitempty"`   // it reads one thing
}

// What is kept of an input, in bytes.
const (
	activityInput = 200
	activityWords = 80
)

// ActivityOf describes a call. dir is what paths are shown relative to.
func ActivityOf(name string, input json.RawMessage, dir string) Activity {
	a := Activity{Tool: name, Input: firstOf(string(input), activityInput)}
	var fields map[string]any
	_ = json.Unmarshal(input, &fields) // what is no object has no fields
	text := func(keys ...string) string {
		for _, k := range keys {
			if s, ok := fields[k].(string); ok && s != "" {
				return oneLine(s)
			}
		}
		return ""
	}
	file := func() string { return relative(dir, text("file_path", "notebook_path", "path")) }
	verb, what := "Using", name
	switch name {
	case "Read":
		verb, what, a.Read = "Reading", file(), true
	case "Write":
		verb, what = "Writing", file()
	case "Edit", "NotebookEdit":
		verb, what = "Editing", file()
	case "Grep", "Glob":
		verb, what, a.Search = "Searching for", text("pattern"), true
	case "ToolSearch":
		verb, what, a.Search = "Searching for", text("query"), true
	case "Bash", "Monitor":
		if verb, what = text("description"), ""; verb == "" {
			verb, what = "Running", text("command")
		}
	case "WebFetch":
		verb, what, a.Read = "Fetching", text("url"), true
	case "Agent":
		verb, what = "Sending an agent:", text("description", "prompt")
	case "Skill":
		verb, what = "Using the skill", text("skill")
	case "TaskOutput":
		verb, what = "Waiting for", "tasks"
	case "TodoWrite":
		verb, what = "Planning", ""
	case "CallTool":
		what = text("name")
	}
	if strings.HasPrefix(what, "mcp__") {
		what = strings.ReplaceAll(strings.TrimPrefix(what, "mcp__"), "__", " ")
	}
	a.Words = firstOf(strings.TrimSpace(verb+" "+what), activityWords)
	return a
}

// firstOf is the beginning of a line, in whole characters.
func firstOf(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// oneLine is the first line of a text, without what a terminal would obey.
func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
