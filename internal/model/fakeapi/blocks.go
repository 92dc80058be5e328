package fakeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"heddle/internal/message"
)

// part is a block as far as checks that [message.Block] does not allow need it.
type part struct {
	Type    string        `json:"type"`
	Text    string        `json:"text"`
	Input   rawJSON       `json:"input"`
	Content rawJSON       `json:"content"`
	Mark    *cacheControl `json:"cache_control"`
}

// members are what blocks may have, by type. Types that are not here are those of tools
// that a provider runs.
func members(kind string) []string {
	switch kind {
	case "text":
		return []string{"type", "text", "cache_control", "citations"}
	case "thinking":
		return []string{"type", "thinking", "signature"}
	case "redacted_thinking":
		return []string{"type", "data"}
	case "tool_use":
		return []string{"type", "id", "name", "input", "cache_control", "caller", "toolset_name"}
	case "tool_result":
		return []string{"type", "tool_use_id", "content", "is_error", "cache_control"}
	case "image":
		return []string{"type", "source", "cache_control"}
	}
	return nil
}

// readPart reads a block, which must have no members but its own.
func readPart(where string, raw rawJSON) (part, error) {
	var b part
	if err := json.Unmarshal(raw, &b); err != nil {
		return b, invalid("%s: %v", where, err)
	}
	if b.Type == "" {
		return b, invalid("%s.type: Field required", where)
	}
	var all map[string]rawJSON
	if err := json.Unmarshal(raw, &all); err != nil {
		return b, invalid("%s: %v", where, err)
	}
	known := members(b.Type)
	for name := range all {
		switch {
		case slices.Contains(known, name):
		case name == "cache_control" && known != nil:
			return b, invalid("%s.%s.cache_control: Extra inputs are not permitted", where, b.Type)
		case known != nil:
			return b, invalid("%s.%s.%s: Extra inputs are not permitted", where, b.Type, name)
		}
	}
	return b, nil
}

func (p *prompt) readMessages() error {
	// These do not change what was cached of tools and system prompt.
	settings, err := json.Marshal([]any{p.ToolChoice, p.Thinking, p.OutputConfig})
	if err != nil {
		return invalid("%v", err)
	}
	p.chain = link(p.chain, settings)
	for i, raw := range p.Messages {
		if err := p.readMessage(fmt.Sprintf("messages.%d", i), raw); err != nil {
			return err
		}
	}
	return nil
}

func (p *prompt) readMessage(where string, raw rawJSON) error {
	var w struct {
		Role    string  `json:"role"`
		Content rawJSON `json:"content"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&w); err != nil {
		return invalid("%s: %v", where, strings.TrimPrefix(err.Error(), "json: "))
	}
	if w.Role != string(message.User) && w.Role != string(message.Assistant) {
		return invalid("%s.role: Input should be 'user' or 'assistant'", where)
	}
	content := bytes.TrimSpace(w.Content)
	if len(content) > 0 && content[0] == '"' {
		content = fmt.Appendf(nil, `[{"type":"text","text":%s}]`, content)
	}
	var blocks []rawJSON
	if err := json.Unmarshal(content, &blocks); err != nil {
		return invalid("%s.content: Input should be a valid list", where)
	}
	m := message.Message{Role: message.Role(w.Role)}
	before := p.bound
	for j, raw := range blocks {
		where := fmt.Sprintf("%s.content.%d", where, j)
		b, mark, err := p.readBlock(where, m.Role, raw, before)
		if err != nil {
			return err
		}
		m.Content = append(m.Content, b)
		p.add(blockText(m.Role, b), mark)
	}
	p.messages = append(p.messages, m)
	return nil
}

// readBlock reads and checks a block of a message. before is what stood before the message.
func (p *prompt) readBlock(where string, role message.Role, raw rawJSON, before digest) (message.Block, *cacheControl, error) {
	w, err := readPart(where, raw)
	if err != nil {
		return nil, nil, err
	}
	b, err := message.DecodeBlock(unmarked(raw))
	if err != nil {
		return nil, nil, invalid("%s: %v", where, err)
	}
	if err := p.mark(where, w.Mark); err != nil {
		return nil, nil, err
	}
	switch block := b.(type) {
	case message.Text:
		err = checkText(where, block.Text, w.Mark)
	case message.Thinking:
		err = checkThinking(where, role, block, before)
	case message.RedactedThinking:
		if role != message.Assistant {
			err = invalid("%s: `redacted_thinking` blocks may only be in `assistant` messages", where)
		}
	case message.ToolUse:
		err = checkUse(where, role, block, w.Input)
	case message.ToolResult:
		if role != message.User {
			err = invalid("%s: `tool_result` blocks can only be in `user` messages", where)
		} else if err = p.checkResult(where, w.Content); err == nil && !toolID().MatchString(block.ToolUseID) {
			err = invalid("%s.tool_result.tool_use_id: String should match pattern '%s'", where, toolID())
		}
	case message.Image:
		if role != message.User {
			err = invalid("%s: `image` blocks can only be in `user` messages", where)
		}
	}
	return b, w.Mark, err
}

func checkText(where, text string, mark *cacheControl) error {
	switch {
	case text == "" && mark != nil:
		return invalid("%s.text: cache_control cannot be set for empty text blocks", where)
	case text == "":
		return invalid("%s: text content blocks must be non-empty", where)
	case strings.TrimSpace(text) == "":
		return invalid("%s: text content blocks must contain non-whitespace text", where)
	}
	return nil
}

func checkThinking(where string, role message.Role, t message.Thinking, before digest) error {
	switch {
	case role != message.Assistant:
		return invalid("%s: `thinking` blocks may only be in `assistant` messages", where)
	case t.Signature == "":
		return invalid("%s.thinking.signature: Field required", where)
	case t.Signature != signature(before, t):
		return invalid("%s: Invalid `signature` in `thinking` block: it is bound to a different conversation, or the block was modified", where)
	}
	return nil
}

func checkUse(where string, role message.Role, u message.ToolUse, input rawJSON) error {
	switch {
	case role != message.Assistant:
		return invalid("%s: `tool_use` blocks can only be in `assistant` messages", where)
	case len(input) == 0:
		return invalid("%s.tool_use.input: Field required", where)
	case u.Malformed:
		return invalid("%s.tool_use.input: Input should be a valid dictionary", where)
	case !toolName().MatchString(u.Name):
		return invalid("%s.tool_use.name: String should match pattern '%s'", where, toolName())
	case !toolID().MatchString(u.ID):
		return invalid("%s.tool_use.id: String should match pattern '%s'", where, toolID())
	}
	return nil
}

// checkResult checks what a tool result holds.
func (p *prompt) checkResult(where string, content rawJSON) error {
	content = bytes.TrimSpace(content)
	if len(content) == 0 || content[0] != '[' {
		return nil // a string, which may be empty, or nothing; DecodeBlock saw to the rest
	}
	var blocks []rawJSON
	if err := json.Unmarshal(content, &blocks); err != nil {
		return invalid("%s.tool_result.content: %v", where, err)
	}
	for i, raw := range blocks {
		where := fmt.Sprintf("%s.tool_result.content.%d", where, i)
		b, err := readPart(where, raw)
		if err != nil {
			return err
		}
		switch b.Type {
		case "text":
			if b.Text == "" {
				return invalid("%s: text content blocks must be non-empty", where)
			}
		case "image", "document", "search_result":
		default:
			return invalid("%s: Input tag '%s' found does not match any of the expected tags", where, b.Type)
		}
		if err := p.mark(where, b.Mark); err != nil {
			return err
		}
	}
	return nil
}

// checkOrder enforces who speaks when, and that each call has its result right after
// it. Neighbouring messages of one speaker count as one. A conversation may end with an
// answer only if that was paused.
func checkOrder(messages []message.Message, paused bool) error {
	if messages[0].Role != message.User {
		return invalid("messages: first message must use the \"user\" role")
	}
	last := messages[len(messages)-1]
	if last.Role != message.User && !paused {
		return invalid("messages: the final message must use the \"user\" role: this model does not support assistant message prefill")
	}
	for i, m := range messages {
		if len(m.Content) == 0 {
			return invalid("messages.%d: all messages must have non-empty content", i)
		}
	}
	used := map[string]bool{}
	var open []string // calls of the message before
	for i, m := range merged(messages) {
		results, err := resultsOf(i, m, open)
		if err != nil {
			return err
		}
		for _, id := range open {
			if !slices.Contains(results, id) {
				return invalid("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, id)
			}
		}
		open = nil
		for _, u := range m.ToolUses() {
			if used[u.ID] {
				return invalid("messages.%d: `tool_use` ids must be unique: %s", i, u.ID)
			}
			used[u.ID] = true
			open = append(open, u.ID)
		}
	}
	if len(open) > 0 {
		return invalid("messages: `tool_use` ids were found without `tool_result` blocks immediately after: %s", strings.Join(open, ", "))
	}
	return nil
}

// resultsOf returns which calls message i answers. They must be open, answered once,
// and before anything else.
func resultsOf(i int, m message.Message, open []string) ([]string, error) {
	var results []string
	for j, b := range m.Content {
		r, ok := b.(message.ToolResult)
		if !ok {
			continue
		}
		switch {
		case !slices.Contains(open, r.ToolUseID):
			return nil, invalid("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, j, r.ToolUseID)
		case slices.Contains(results, r.ToolUseID):
			return nil, invalid("messages.%d.content.%d: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", i, j, r.ToolUseID)
		case j != len(results):
			return nil, invalid("messages.%d: `tool_result` blocks must come first in the content, before content %d", i, j)
		}
		results = append(results, r.ToolUseID)
	}
	return results, nil
}

func merged(messages []message.Message) []message.Message {
	var out []message.Message
	for _, m := range messages {
		if n := len(out); n > 0 && out[n-1].Role == m.Role {
			out[n-1].Content = slices.Concat(out[n-1].Content, m.Content)
			continue
		}
		out = append(out, m)
	}
	return out
}
