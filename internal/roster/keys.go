package roster

import (
	"slices"
	"strconv"
	"strings"

	"heddle/internal/spelling"
)

// keys are those of a definition, as messages spell them.
func (l *loader) keys() []string {
	all := []string{
		"name", "description", "tools", "disallowedTools", "model", "effort", "permissionMode", "maxTurns", "skills", "mcpServers",
		"hooks", "memory", "background", "isolation", "color", "initialPrompt",
	}
	if l.agent.Kind == KindBuiltin {
		all = append(all, "noMemoryFiles")
	}
	if _, ok := l.fields.(object); ok {
		all = append(all, "prompt")
	}
	return all
}

// canonical is the same for max-turns, max_turns and maxTurns.
func canonical(key string) string {
	return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
}

// strangers warns of keys that nobody reads, at the first.
func (l *loader) strangers() {
	if l.agent.Kind == KindOpenCode { // which hands them to the provider
		return
	}
	known := l.keys()
	var strange, texts []string
	for _, key := range l.Keys() {
		if slices.ContainsFunc(known, func(k string) bool { return canonical(k) == canonical(key) }) {
			continue
		}
		text := strconv.Quote(clip(key))
		if likely := likely(key, known); likely != "" {
			text += " (did you mean " + likely + "?)"
		}
		strange, texts = append(strange, key), append(texts, text)
	}
	if len(strange) > 0 {
		l.warn(strange[0], "agents have no "+strings.Join(texts, ", ")+": what stands there is ignored")
	}
}

// likely is the key that was probably meant, or "".
func likely(key string, known []string) string {
	key = canonical(key)
	best, distance := "", max(len(key)/3, 1)+1
	if len(key) > maxName {
		return ""
	}
	for _, k := range known {
		if d := spelling.Distance(key, canonical(k)); d < distance {
			best, distance = k, d
		}
	}
	return best
}
