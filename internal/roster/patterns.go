package roster

import (
	"encoding/json"
	"slices"
	"strings"
)

// patterns are what OpenCode permits of one tool. The last one that fits decides.
type patterns []struct{ pattern, action string }

// readPatterns reads allow, ask or deny, or a map of patterns with these.
func readPatterns(value json.RawMessage) (p patterns, ok bool) {
	add := func(pattern string, value json.RawMessage) bool {
		var action string
		if json.Unmarshal(value, &action) != nil || !slices.Contains([]string{"allow", "ask", "deny"}, action) {
			return false
		}
		p = append(p, struct{ pattern, action string }{pattern, action})
		return true
	}
	names, values, isMap := inOrder(value)
	if !isMap {
		return p, add("*", value)
	}
	for i, name := range names {
		if !add(name, values[i]) {
			return nil, false
		}
	}
	return p, true
}

func (p patterns) has(action string) bool {
	for _, r := range p {
		if r.action == action {
			return true
		}
	}
	return false
}

// decides returns the action for a text, or "". Only patterns that are the text, or end
// with a star, are understood.
func (p patterns) decides(text string) string {
	for _, r := range slices.Backward(p) {
		beginning, star := strings.CutSuffix(r.pattern, "*")
		if r.pattern == text || star && strings.HasPrefix(text, beginning) {
			return r.action
		}
	}
	return ""
}
