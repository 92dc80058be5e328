package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	"heddle/internal/tool"
)

// payload is what a hook is told: the fields of the event, and those that all events have.
func (r *Runner) payload(e Event, input map[string]any, c *tool.Call) ([]byte, error) {
	all := map[string]any{}
	maps.Copy(all, input)
	all["session_id"] = r.o.Session
	all["transcript_path"] = r.o.Transcript
	all["cwd"] = r.place(c)
	all["hook_event_name"] = e
	if r.o.Mode != nil {
		all["permission_mode"] = r.o.Mode()
	}
	if c != nil && c.Scope != nil && c.Scope.Agent != "" {
		all["agent_id"] = c.Scope.Agent
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(all); err != nil {
		return nil, fmt.Errorf("encode the input of %s hooks: %w", e, err)
	}
	return text.Bytes(), nil
}

// place is where the agent works now, which the paths of a call are relative to. Commands of
// hooks start where the session did, wherever that is.
func (r *Runner) place(c *tool.Call) string {
	switch {
	case c != nil && c.Scope != nil:
		return c.Scope.Dir()
	case r.o.Place != nil:
		return r.o.Place()
	}
	return r.o.Dir
}

// variables are what ${NAME} stands for where there is no shell to expand it.
func (r *Runner) variables(h Hook) map[string]string {
	vars := map[string]string{}
	for _, entry := range append(r.projectEnv(), h.Env...) {
		name, value, _ := strings.Cut(entry, "=")
		vars[name] = value
	}
	return vars
}

func (r *Runner) projectEnv() []string {
	return []string{"CLAUDE_PROJECT_DIR=" + r.o.Project, "HEDDLE_PROJECT_DIR=" + r.o.Project}
}

// placeholder matches ${NAME} and ${path.in.an.object}.
var placeholder = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_.-]*\}`)

// fill replaces every ${NAME} that vars knows, in one pass: what is put in is not read
// again.
func fill(text string, vars map[string]string) string {
	return placeholder.ReplaceAllStringFunc(text, func(p string) string {
		if value, ok := vars[p[2:len(p)-1]]; ok {
			return value
		}
		return p
	})
}

// fillInput replaces ${path} in the strings of a JSON value by what stands there in the
// payload: strings as they are, nothing for what is missing, and all else as JSON.
func fillInput(value any, payload any) any {
	switch v := value.(type) {
	case string:
		return placeholder.ReplaceAllStringFunc(v, func(p string) string {
			return written(find(payload, strings.Split(p[2:len(p)-1], ".")))
		})
	case []any:
		for i := range v {
			v[i] = fillInput(v[i], payload)
		}
	case map[string]any:
		for k := range v {
			v[k] = fillInput(v[k], payload)
		}
	}
	return value
}

func find(value any, path []string) any {
	for _, key := range path {
		switch v := value.(type) {
		case map[string]any:
			value = v[key]
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			value = v[i]
		default:
			return nil
		}
	}
	return value
}

func written(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	text, err := json.Marshal(value)
	if err != nil { // cannot be: it was read from JSON
		return ""
	}
	return string(text)
}
