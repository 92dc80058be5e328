package fakeapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"heddle/internal/message"
)

// chatRequest is the body of a request of Chat Completions.
type chatRequest struct {
	Model         string    `json:"model"`
	Messages      []rawJSON `json:"messages"`
	Tools         []rawJSON `json:"tools"`
	Stream        bool      `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	ParallelCalls *bool `json:"parallel_tool_calls"`
}

// chatMessage is a message of the wire.
type chatMessage struct {
	Role       string     `json:"role"`
	Content    rawJSON    `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string  `json:"name"`
		Arguments *string `json:"arguments"`
	} `json:"function"`
}

// chatPrompt is a request that was read and found good.
type chatPrompt struct {
	chatRequest
	system    string
	messages  []message.Message
	positions []position
	size      int
}

func (p *chatPrompt) usageWanted() bool {
	return p.StreamOptions != nil && p.StreamOptions.IncludeUsage
}

// parseChat reads a request and refuses it as the API would.
func parseChat(body []byte) (*chatPrompt, error) {
	if !utf8.Valid(body) {
		return nil, invalid("We could not parse the JSON body of your request: it is not UTF-8.")
	}
	p := &chatPrompt{}
	if err := json.Unmarshal(body, &p.chatRequest); err != nil {
		return nil, invalid("We could not parse the JSON body of your request: %v", err)
	}
	if surrogate := loneSurrogate(body); surrogate != "" {
		return nil, invalid("We could not parse the JSON body of your request: half of a character at %s", surrogate)
	}
	switch {
	case p.Model == "":
		return nil, invalid("you must provide a model parameter")
	case len(p.Messages) == 0:
		return nil, invalid("[] is too short - 'messages'")
	case p.StreamOptions != nil && !p.Stream:
		return nil, invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	case p.ParallelCalls != nil && len(p.Tools) == 0:
		return nil, invalid("'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
	if err := p.readTools(); err != nil {
		return nil, err
	}
	return p, p.readMessages()
}

// add goes on by a tool or a message.
func (p *chatPrompt) add(raw []byte) {
	var before digest
	if n := len(p.positions); n > 0 {
		before = p.positions[n-1].hash
	} else {
		before = link(before, []byte(p.Model))
	}
	p.size += len(raw)
	p.positions = append(p.positions, position{hash: link(before, raw), tokens: p.size / bytesPerToken})
}

func (p *chatPrompt) readTools() error {
	for i, raw := range p.Tools {
		var t struct {
			Type     string `json:"type"`
			Function struct {
				Name       string `json:"name"`
				Parameters object `json:"parameters"`
			} `json:"function"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return invalid("tools[%d]: %v", i, err)
		}
		if t.Type != "function" {
			return invalid("Invalid value for 'tools[%d].type': want 'function'", i)
		}
		if !toolName().MatchString(t.Function.Name) {
			return invalid("Invalid 'tools[%d].function.name': string does not match pattern '%s'", i, toolName())
		}
		p.add(raw)
	}
	return nil
}

func (p *chatPrompt) readMessages() error {
	var open []string // calls without a result
	for i, raw := range p.Messages {
		var m chatMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return invalid("messages[%d]: %v", i, err)
		}
		if m.Role != "tool" && len(open) > 0 {
			return unanswered(open)
		}
		var err error
		if open, err = p.message(i, m, open); err != nil {
			return err
		}
		p.add(raw)
	}
	switch {
	case len(open) > 0:
		return unanswered(open)
	case len(p.messages) == 0:
		return invalid("messages: there is no message of a user")
	case p.messages[0].Role != message.User:
		return invalid("messages: the first one after the system prompt must be a user's")
	case p.messages[len(p.messages)-1].Role != message.User:
		return invalid("messages: the last one must be a user's or the result of a tool")
	}
	return nil
}

func unanswered(open []string) error {
	return invalid("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(open, ", "))
}

// message takes a message of the wire into the conversation, and returns which calls
// still wait for their result. Results and what a user says after them are one message
// of a conversation.
func (p *chatPrompt) message(i int, m chatMessage, open []string) ([]string, error) {
	text, err := chatText(m.Content)
	if err != nil {
		return nil, invalid("Invalid type for 'messages[%d].content': %v", i, err)
	}
	switch m.Role {
	case "system", "developer":
		if i > 0 {
			return nil, invalid("messages[%d]: a system message must be the first one", i)
		}
		p.system = text
	case "user":
		if len(m.Content) == 0 || string(m.Content) == "null" {
			return nil, invalid("Invalid value for 'messages[%d].content': expected a string, got null.", i)
		}
		p.say(message.Text{Text: text})
	case "assistant":
		return p.assistant(i, m, text)
	case "tool":
		at := slices.Index(open, m.ToolCallID)
		if at < 0 {
			return nil, invalid("Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls' (messages[%d], tool_call_id %q)", i, m.ToolCallID)
		}
		p.say(message.ToolResult{ToolUseID: m.ToolCallID, Content: []message.Block{message.Text{Text: text}}})
		return slices.Delete(slices.Clone(open), at, at+1), nil
	default:
		return nil, invalid("Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool' and 'developer'.", m.Role)
	}
	return nil, nil
}

// say adds a block to what the user says.
func (p *chatPrompt) say(b message.Block) {
	if n := len(p.messages); n > 0 && p.messages[n-1].Role == message.User {
		p.messages[n-1].Content = append(p.messages[n-1].Content, b)
		return
	}
	p.messages = append(p.messages, message.Message{Role: message.User, Content: []message.Block{b}})
}

func (p *chatPrompt) assistant(i int, m chatMessage, text string) (open []string, err error) {
	if text == "" && len(m.ToolCalls) == 0 {
		return nil, invalid("Invalid value for 'messages[%d].content': expected a string, got null.", i)
	}
	out := message.Message{Role: message.Assistant}
	if text != "" {
		out.Content = append(out.Content, message.Text{Text: text})
	}
	for j, c := range m.ToolCalls {
		where := fmt.Sprintf("messages[%d].tool_calls[%d]", i, j)
		switch {
		case c.ID == "":
			return nil, invalid("Invalid type for '%s.id': expected a string", where)
		case slices.Contains(open, c.ID):
			return nil, invalid("Duplicate value for '%s.id': %s", where, c.ID)
		case c.Type != "function":
			return nil, invalid("Invalid value for '%s.type': want 'function'", where)
		case !toolName().MatchString(c.Function.Name):
			return nil, invalid("Invalid '%s.function.name': string does not match pattern '%s'", where, toolName())
		case c.Function.Arguments == nil:
			return nil, invalid("Missing required parameter: '%s.function.arguments'", where)
		}
		// Some templates of local servers parse it, so a client had better send JSON.
		if !json.Valid([]byte(*c.Function.Arguments)) {
			return nil, invalid("Invalid '%s.function.arguments': not JSON", where)
		}
		open = append(open, c.ID)
		out.Content = append(out.Content, message.ToolUse{ID: c.ID, Name: c.Function.Name, Input: rawJSON(*c.Function.Arguments)})
	}
	p.messages = append(p.messages, out)
	return open, nil
}

// chatText reads content: a string, a list of parts, or nothing.
func chatText(raw rawJSON) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return "", err
	}
	var text []string
	for _, part := range parts {
		switch part.Type {
		case "text":
			text = append(text, part.Text)
		case "image_url":
			text = append(text, "(a picture)")
		default:
			return "", fmt.Errorf("a part of type %q", part.Type)
		}
	}
	return strings.Join(text, "\n"), nil
}
