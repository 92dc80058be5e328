package roster

import (
	"encoding/json"
	"slices"
	"strings"
)

// powers reads what runs something or permits something.
func (l *loader) powers() {
	a := l.agent
	a.PermissionMode = l.oneOf("permissionMode", "default", "manual", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan")
	if a.PermissionMode == "manual" {
		a.PermissionMode = "default"
	}
	if hooks, _, ok := l.Value("hooks"); ok {
		a.Hooks = hooks
		if first(hooks) != '{' {
			l.fail(l.Problem("hooks", "expected a map of events"))
		}
	}
	a.Servers = l.servers()
}

// servers reads a list of names and configurations. A map of configurations alone and a
// text with names are taken as what they mean.
func (l *loader) servers() []byte {
	text, line, ok := l.Value("mcpServers")
	if !ok {
		return nil
	}
	switch first(text) {
	case '{':
		text = append(append([]byte("["), text...), ']')
	case '[':
	default:
		names, err := l.List("mcpServers")
		l.fail(err)
		return laidOut(line, names)
	}
	var list []any
	if err := json.Unmarshal(text, &list); err != nil {
		l.fail(l.Problem("mcpServers", "cannot be read: "+err.Error()))
	}
	for _, item := range list {
		if !isServer(item) {
			l.fail(l.Problem("mcpServers", "expected a list of names of servers, and of maps with configurations by name"))
		}
	}
	return text
}

// isServer reports whether an item is a name, or a map of maps.
func isServer(item any) bool {
	if name, ok := item.(string); ok {
		return name != ""
	}
	configs, ok := item.(map[string]any)
	for _, c := range configs {
		if _, isMap := c.(map[string]any); !isMap {
			return false
		}
	}
	return ok && len(configs) > 0
}

// trust leaves out what the source may not say.
func (l *loader) trust() {
	a := l.agent
	switch {
	case l.source.Plugin != "":
		const why = "not taken from plugins and is ignored"
		l.drop("hooks", a.Hooks != nil, why)
		l.drop("mcpServers", a.Servers != nil, why)
		l.drop("permissionMode", a.PermissionMode != "", why)
		a.Hooks, a.Servers, a.PermissionMode = nil, nil, ""
	case !l.source.Trusted:
		why := "ignored, because the files of " + l.source.Name + " are not trusted"
		l.drop("hooks", a.Hooks != nil, why)
		a.Hooks = nil
		if names, inline := l.onlyNames(a.Servers); inline {
			l.drop("mcpServers", true, "kept to the names of servers, because the files of "+l.source.Name+" are not trusted")
			a.Servers = names
		}
		if slices.Contains([]string{"acceptEdits", "auto", "bypassPermissions"}, a.PermissionMode) {
			l.drop("permissionMode", true, why)
			a.PermissionMode = ""
		}
	}
}

func (l *loader) drop(key string, said bool, why string) {
	if said {
		l.warn(key, "is "+why)
	}
}

// onlyNames returns the list without configurations, and whether there were any.
func (l *loader) onlyNames(servers []byte) (names []byte, inline bool) {
	var list []any
	if servers == nil || json.Unmarshal(servers, &list) != nil {
		return servers, false
	}
	var kept []string
	for _, item := range list {
		if name, ok := item.(string); ok {
			kept = append(kept, name)
		}
	}
	if len(kept) == len(list) {
		return servers, false
	}
	if len(kept) == 0 {
		return nil, true
	}
	_, line, _ := l.Value("mcpServers")
	return laidOut(line, kept), true
}

// laidOut is a list of names as JSON in a line of a file.
func laidOut(line int, names []string) []byte {
	if len(names) == 0 {
		return nil
	}
	text, err := json.Marshal(names)
	if err != nil { // no text fails
		return nil
	}
	return append([]byte(strings.Repeat("\n", max(line-1, 0))), text...)
}

// first is the first byte of a value as JSON.
func first(text []byte) byte {
	for _, c := range text {
		if c != ' ' && c != '\n' {
			return c
		}
	}
	return 0
}
