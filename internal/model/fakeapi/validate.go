package fakeapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	"heddle/internal/message"
)

// request is a request of the Messages API.
type request struct {
	Model        string            `json:"model"`
	MaxTokens    *int              `json:"max_tokens"`
	System       json.RawMessage   `json:"system"`
	Tools        []json.RawMessage `json:"tools"`
	Messages     []json.RawMessage `json:"messages"`
	Stream       bool              `json:"stream"`
	CacheControl *cacheControl     `json:"cache_control"`

	ToolChoice    json.RawMessage `json:"tool_choice"`
	Thinking      json.RawMessage `json:"thinking"`
	OutputConfig  json.RawMessage `json:"output_config"`
	Metadata      json.RawMessage `json:"metadata"`
	StopSequences json.RawMessage `json:"stop_sequences"`
	ServiceTier   json.RawMessage `json:"service_tier"`
	Temperature   *float64        `json:"temperature"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

func (c *cacheControl) life() time.Duration {
	switch {
	case c == nil:
		return 0
	case c.TTL == "1h":
		return time.Hour
	}
	return 5 * time.Minute
}

// part is what a block says besides its content.
type part struct {
	Type         string        `json:"type"`
	Text         *string       `json:"text"`
	CacheControl *cacheControl `json:"cache_control"`
}

// prompt is a request that was read and found good.
type prompt struct {
	request
	messages  []message.Message
	positions []position
	system    string
}

// maxMarks is how many cache breakpoints a request may have.
const maxMarks = 4

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// parse reads a request and refuses it as the API would. Thinking must carry the
// signature that this server gave it, which binds it to all that stood before.
func parse(body []byte) (*prompt, error) {
	if !utf8.Valid(body) {
		return nil, invalid("the request body is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	p := &prompt{}
	if err := dec.Decode(&p.request); err != nil {
		return nil, invalid("the request body is not valid: %v", err)
	}
	switch {
	case p.Model == "":
		return nil, invalid("model: field required")
	case p.MaxTokens == nil || *p.MaxTokens < 1:
		return nil, invalid("max_tokens: field required")
	case len(p.Messages) == 0:
		return nil, invalid("messages: at least one message is required")
	}
	sum, err := p.readFront()
	if err != nil {
		return nil, err
	}
	if err := p.readMessages(sum); err != nil {
		return nil, err
	}
	if err := checkOrder(p.messages); err != nil {
		return nil, err
	}
	return p, p.checkMarks()
}

// readFront reads tools and system prompt and returns the hash of both.
func (p *prompt) readFront() ([sha256.Size]byte, error) {
	var none [sha256.Size]byte
	size := 0
	var life time.Duration
	names := map[string]bool{}
	for i, raw := range p.Tools {
		var t struct {
			Name string          `json:"name"`
			Type string          `json:"type"`
			In   json.RawMessage `json:"input_schema"`
			part
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return none, invalid("tools.%d: %v", i, err)
		}
		if !toolName.MatchString(t.Name) {
			return none, invalid("tools.%d.name: String should match pattern '%s'", i, toolName)
		}
		if names[t.Name] {
			return none, invalid("tools: Tool names must be unique")
		}
		names[t.Name] = true
		size += len(raw)
		life = max(life, t.CacheControl.life())
	}
	var blocks []json.RawMessage
	if len(p.System) > 0 && p.System[0] == '[' {
		if err := json.Unmarshal(p.System, &blocks); err != nil {
			return none, invalid("system: %v", err)
		}
	} else if len(p.System) > 0 {
		if err := json.Unmarshal(p.System, &p.system); err != nil {
			return none, invalid("system: %v", err)
		}
	}
	for i, raw := range blocks {
		var b part
		if err := json.Unmarshal(raw, &b); err != nil || b.Type != "text" || b.Text == nil {
			return none, invalid("system.%d: want a text block", i)
		}
		if *b.Text == "" {
			return none, invalid("system.%d: text content blocks must be non-empty", i)
		}
		p.system += *b.Text
		life = max(life, b.CacheControl.life())
	}
	size += len(p.System)
	front := slices.Concat([]byte(p.Model), p.System)
	for _, t := range p.Tools {
		front = append(front, t...)
	}
	sum := sha256.Sum256(front)
	p.positions = append(p.positions, position{hash: sum, tokens: size / 4, mark: life})
	return sum, nil
}

func (p *prompt) readMessages(sum [sha256.Size]byte) error {
	size := p.positions[0].tokens * 4
	for i, raw := range p.Messages {
		var m message.Message
		if err := json.Unmarshal(raw, &m); err != nil {
			return invalid("messages.%d: %v", i, err)
		}
		p.messages = append(p.messages, m)
		var parts struct {
			Content json.RawMessage `json:"content"`
		}
		_ = json.Unmarshal(raw, &parts) // it was decoded above
		var blocks []part
		if len(parts.Content) > 0 && parts.Content[0] == '[' {
			if err := json.Unmarshal(parts.Content, &blocks); err != nil {
				return invalid("messages.%d.content: %v", i, err)
			}
		}
		before := sum
		for j, b := range m.Content {
			where := fmt.Sprintf("messages.%d.content.%d", i, j)
			if err := checkBlock(where, m.Role, b, before); err != nil {
				return err
			}
			text := b.AppendJSON([]byte(m.Role))
			sum = sha256.Sum256(append(sum[:], text...))
			size += len(text)
			at := position{hash: sum, tokens: size / 4}
			if j < len(blocks) {
				if at.mark = blocks[j].CacheControl.life(); at.mark > 0 && thinks(b) {
					return invalid("%s: cache_control cannot be set on thinking blocks", where)
				}
			}
			p.positions = append(p.positions, at)
		}
	}
	return nil
}

func thinks(b message.Block) bool {
	switch b.(type) {
	case message.Thinking, message.RedactedThinking:
		return true
	}
	return false
}

// signature binds thinking to all that stood before its message.
func signature(before [sha256.Size]byte) string { return "sig_" + hex.EncodeToString(before[:12]) }

func checkBlock(where string, role message.Role, b message.Block, before [sha256.Size]byte) error {
	switch b := b.(type) {
	case message.Text:
		if b.Text == "" {
			return invalid("%s: text content blocks must be non-empty", where)
		}
	case message.Thinking:
		if role != message.Assistant {
			return invalid("%s: thinking blocks may only be in assistant messages", where)
		}
		if b.Signature != signature(before) {
			return invalid("%s: the thinking block is bound to a different conversation", where)
		}
	case message.ToolUse:
		switch {
		case role != message.Assistant:
			return invalid("%s: tool_use blocks may only be in assistant messages", where)
		case b.Malformed:
			return invalid("%s.input: want an object", where)
		case !toolName.MatchString(b.Name):
			return invalid("%s.name: String should match pattern '%s'", where, toolName)
		}
	case message.ToolResult:
		if role != message.User {
			return invalid("%s: tool_result blocks may only be in user messages", where)
		}
	}
	return nil
}

// checkOrder enforces who speaks when, and that each call has its result right after it.
// Neighbouring messages of one speaker count as one.
func checkOrder(messages []message.Message) error {
	if messages[0].Role != message.User {
		return invalid("messages: first message must use the user role")
	}
	if messages[len(messages)-1].Role != message.User {
		return invalid("messages: the last message must use the user role; prefilling is not supported")
	}
	used := map[string]bool{}
	var open []string
	for i, m := range merged(messages) {
		if len(m.Content) == 0 {
			return invalid("messages.%d: all messages must have non-empty content", i)
		}
		var results []string
		for j, b := range m.Content {
			r, ok := b.(message.ToolResult)
			if !ok {
				continue
			}
			if j != len(results) {
				return invalid("messages.%d: tool_result blocks must come first in the content", i)
			}
			if !slices.Contains(open, r.ToolUseID) {
				return invalid("messages.%d.content.%d: unexpected tool_use_id found in tool_result blocks: %s", i, j, r.ToolUseID)
			}
			if slices.Contains(results, r.ToolUseID) {
				return invalid("messages.%d.content.%d: each tool_use must have a single result: %s", i, j, r.ToolUseID)
			}
			results = append(results, r.ToolUseID)
		}
		for _, id := range open {
			if !slices.Contains(results, id) {
				return invalid("messages.%d: tool_use ids were found without tool_result blocks immediately after: %s", i-1, id)
			}
		}
		open = nil
		for _, u := range m.ToolUses() {
			if used[u.ID] || u.ID == "" {
				return invalid("messages.%d: tool_use ids must be unique: %q", i, u.ID)
			}
			used[u.ID] = true
			open = append(open, u.ID)
		}
	}
	return nil
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

// checkMarks counts the breakpoints, and places the automatic one.
func (p *prompt) checkMarks() error {
	if life := p.CacheControl.life(); life > 0 {
		last := &p.positions[len(p.positions)-1]
		last.mark = max(last.mark, life)
	}
	marks := 0
	longEnded := false
	for _, at := range p.positions {
		switch {
		case at.mark == 0:
			continue
		case at.mark == time.Hour && longEnded:
			return invalid("cache_control: a ttl='1h' block must not come after a ttl='5m' block")
		case at.mark < time.Hour:
			longEnded = true
		}
		marks++
	}
	if marks > maxMarks {
		return invalid("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	return nil
}

var markText = regexp.MustCompile(`,"cache_control":\{[^{}]*\}`)

// comparable cuts a body behind its messages, which is where one request goes on
// from the one before.
func comparable(body []byte, messages []json.RawMessage) sent {
	lastMessage := messages[len(messages)-1]
	end := bytes.LastIndex(body, lastMessage) + len(lastMessage)
	head := body[:end]
	return sent{head: head, unmarked: string(markText.ReplaceAll(head, nil))}
}
