package message

import "strings"

// Sendable returns m as every API takes it: without texts of nothing but white space, which
// some refuse, and with it each later request. What would hold nothing then says so.
func (m Message) Sendable() Message {
	m.Content = filled(m.Content, "(nothing)")
	for i, b := range m.Content {
		r, ok := b.(ToolResult)
		if !ok || !anyBlank(r.Content) {
			continue
		}
		r.Content = filled(r.Content, "(no output)")
		content := make([]Block, len(m.Content)) // what m had is others', too
		copy(content, m.Content)
		content[i], m.Content = r, content
	}
	return m
}

// filled is content without blank texts, or with the one text otherwise if there is nothing
// else.
func filled(content []Block, otherwise string) []Block {
	if !anyBlank(content) {
		return content
	}
	var kept []Block
	for _, b := range content {
		if !blank(b) {
			kept = append(kept, b)
		}
	}
	if len(kept) == 0 {
		kept = []Block{Text{Text: otherwise}}
	}
	return kept
}

func anyBlank(content []Block) bool {
	for _, b := range content {
		if blank(b) {
			return true
		}
	}
	return false
}

func blank(b Block) bool {
	t, ok := b.(Text)
	return ok && strings.TrimSpace(t.Text) == ""
}
