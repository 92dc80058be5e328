package roster

import (
	"fmt"
	"slices"
	"strings"

	"heddle/internal/tool"
)

// tools reads which tools the agent has.
func (l *loader) tools() {
	a := l.agent
	a.Tools, a.HasTools = l.read(l.List("tools")), l.Has("tools")
	a.Disallowed = l.read(l.List("disallowedTools"))
	if _, _, ok := l.Value("tools"); a.HasTools && !ok {
		l.warn("tools", "has no value, so the agent has no tools: write [] to say so, or remove the line to give it all")
	}
	if mapped, ok := fromGemini(a.Tools); ok {
		a.Tools = mapped
		l.warn("tools", "holds names of Gemini CLI, and was read as "+strings.Join(mapped, ", ")+": write these")
	}
	for _, key := range []string{"tools", "disallowedTools"} {
		entries := a.Tools
		if key != "tools" {
			entries = a.Disallowed
		}
		for _, text := range entries {
			if e := parseEntry(text); e.limited && !isAgent(e.tool) {
				l.warn(key, fmt.Sprintf("%q was read as %s: what stands in parentheses belongs into permission rules", clip(text), clip(e.tool)))
			}
		}
	}
}

// entry is one of a list of tools: Read, mcp__server, mcp__server__*, *, Agent(a, b).
type entry struct {
	tool    string
	also    []string // what a list of disallowed tools means by it, too: see [tool.ServerNames]
	limited bool     // there are parentheses
	inside  []string // what is in them
}

func parseEntry(text string) entry {
	name, inside, limited := strings.Cut(text, "(")
	names := tool.ServerNames(strings.TrimSpace(name))
	e := entry{tool: names[0], also: names[1:], limited: limited}
	if limited {
		e.inside = pieces(strings.TrimSuffix(strings.TrimSpace(inside), ")"))
	}
	return e
}

// forbids is what covers is for a list of disallowed tools, which counts in every way that
// it can be read.
func (e entry) forbids(tool string) bool {
	return e.covers(tool) || slices.ContainsFunc(e.also, func(name string) bool { return entry{tool: name}.covers(tool) })
}

// covers reports whether an entry means a tool.
func (e entry) covers(tool string) bool {
	if e.tool == "*" {
		return true
	}
	if !strings.HasPrefix(e.tool, serverPrefix) {
		return strings.EqualFold(e.tool, tool)
	}
	if beginning, ok := strings.CutSuffix(e.tool, "*"); ok {
		return strings.HasPrefix(tool, beginning)
	}
	return tool == e.tool || strings.HasPrefix(tool, e.tool+"__")
}

// today is the entry with the name that its tool has now, unless there is one of the old
// name.
func (e entry) today(all []string) entry {
	if slices.ContainsFunc(all, e.covers) {
		return e
	}
	if now := renamed(e.tool); now != "" {
		e.tool = now
	}
	return e
}

// renamed is what has become of a tool's name, or "".
func renamed(tool string) string {
	switch strings.ToLower(tool) {
	case "task":
		return "Agent"
	case "ls":
		return "Glob"
	case "multiedit":
		return "Edit"
	case "notebookread":
		return "Read"
	case "bashoutput", "agentoutputtool":
		return "TaskOutput"
	case "killshell", "killbash":
		return "TaskStop"
	case "todoread":
		return "TodoWrite"
	case "slashcommand":
		return "Skill"
	case "listmcpresourcestool":
		return "ListMcpResources"
	case "readmcpresourcetool":
		return "ReadMcpResource"
	}
	return ""
}

func isAgent(tool string) bool {
	return strings.EqualFold(tool, "Agent") || strings.EqualFold(tool, "Task")
}

// fromGemini translates a list that holds a name which only Gemini CLI has.
func fromGemini(tools []string) (mapped []string, ok bool) {
	names := map[string]string{
		"read_file": "Read", "read_many_files": "Read", "write_file": "Write", "replace": "Edit", "run_shell_command": "Bash",
		"grep_search": "Grep", "search_file_content": "Grep", "glob": "Glob", "list_directory": "Glob", "web_fetch": "WebFetch",
		"google_web_search": "WebSearch",
	}
	for _, tool := range tools {
		ours := names[tool]
		if ours != "" && tool != "glob" {
			ok = true
		}
		if server, is := strings.CutPrefix(tool, "mcp_"); is && ours == "" && !strings.HasPrefix(tool, serverPrefix) {
			ours = serverPrefix + strings.Replace(server, "_*", "__*", 1)
		}
		if ours == "" {
			ours = tool
		}
		if !slices.Contains(mapped, ours) {
			mapped = append(mapped, ours)
		}
	}
	return mapped, ok
}
