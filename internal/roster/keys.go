package roster

import (
	"strings"

	"heddle/internal/spelling"
)

// knownKeys are those of a definition, as messages spell them. A prompt is one in JSON;
// names of objects stand outside of them.
func knownKeys() []string {
	return []string{
		"name", "description", "prompt", "tools", "disallowedTools", "model", "effort", "permissionMode", "maxTurns", "skills",
		"mcpServers", "hooks", "memory", "background", "isolation", "color", "initialPrompt", "noMemoryFiles",
	}
}

// canonical is the same for max-turns, max_turns and maxTurns.
func canonical(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

// knownKey reports whether a key is one of a definition, and otherwise which was probably
// meant, or "".
func knownKey(key string) (ok bool, likely string) {
	key = canonical(key)
	if len(key) > maxName {
		return false, ""
	}
	distance := max(len(key)/3, 1) + 1
	for _, k := range knownKeys() {
		if canonical(k) == key {
			return true, ""
		}
		if d := spelling.Distance(key, canonical(k)); d < distance {
			likely, distance = k, d
		}
	}
	return false, likely
}
