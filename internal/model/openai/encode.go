package openai

import (
	"bytes"
	"strconv"
	"strings"

	"heddle/internal/message"
	"heddle/internal/model"
)

const messages = `"messages":[`

// EncodePrefix serialises tools, and system prompt as the first message. The
// list of messages stays open.
func (p *Provider) EncodePrefix(prompt model.Prompt) []byte {
	var dst []byte
	if len(prompt.Tools) > 0 {
		dst = append(dst, `"tools":[`...)
		for i, t := range prompt.Tools {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"type":"function","function":{"name":`...)
			dst = message.AppendString(dst, t.Name)
			dst = append(dst, `,"description":`...)
			dst = message.AppendString(dst, t.Description)
			dst = append(dst, `,"parameters":`...)
			dst = append(dst, t.Schema...)
			dst = append(dst, "}}"...)
		}
		dst = append(dst, "],"...)
	}
	dst = append(dst, messages...)
	// Many chat templates take one system message only.
	if system := join(prompt.System); system != "" {
		dst = append(dst, `{"role":`...)
		dst = message.AppendString(dst, p.profile.SystemRole)
		dst = append(dst, `,"content":`...)
		dst = message.AppendString(dst, system)
		dst = append(dst, '}')
	}
	return dst
}

// body puts a request together. Up to the end of the messages it begins with
// the bytes of the request before it.
func (p *Provider) body(r *model.Request) *model.Body {
	first := append([]byte(nil), `{"model":`...)
	first = append(message.AppendString(first, r.Model.ID), ',')
	var last []byte
	if len(r.Prefix) == 0 {
		last = []byte(messages)
	} else if !bytes.HasSuffix(r.Prefix, []byte(messages)) {
		last = []byte{','}
	}

	tail := append([]byte(nil), `],"stream":true`...)
	if p.profile.IncludeUsage {
		tail = append(tail, `,"stream_options":{"include_usage":true`...)
		if p.profile.NoPadding {
			tail = append(tail, `,"include_obfuscation":false`...)
		}
		tail = append(tail, '}')
	}
	if p.profile.MaxTokens != "" && r.MaxTokens > 0 {
		tail = append(tail, ',')
		tail = message.AppendString(tail, p.profile.MaxTokens)
		tail = append(tail, ':')
		tail = strconv.AppendInt(tail, int64(r.MaxTokens), 10)
	}
	// Without tools, the member is refused.
	if p.profile.Parallel && bytes.HasPrefix(r.Prefix, []byte(`"tools":`)) {
		tail = append(tail, `,"parallel_tool_calls":true`...)
	}
	if r.Effort != "" {
		tail = append(tail, `,"reasoning_effort":`...)
		tail = message.AppendString(tail, r.Effort)
	}
	if p.profile.CacheKey != "" {
		tail = append(tail, `,"prompt_cache_key":`...)
		tail = message.AppendString(tail, p.profile.CacheKey)
	}
	if p.profile.NoStore {
		tail = append(tail, `,"store":false`...)
	}
	return &model.Body{Head: [3][]byte{first, r.Prefix, last}, Messages: r.Messages, Tail: append(tail, '}')}
}

// EncodeMessage serialises one message, to one or more messages of the wire:
// every result of a tool is one.
func (p *Provider) EncodeMessage(m message.Message) []byte {
	if m.Role == message.Assistant {
		return p.appendAssistant(nil, m)
	}
	return appendUser(nil, m)
}

func (p *Provider) appendAssistant(dst []byte, m message.Message) []byte {
	var text, thinking []string
	for _, b := range m.Content {
		switch b := b.(type) {
		case message.Text:
			text = append(text, b.Text)
		case message.Thinking:
			thinking = append(thinking, b.Text)
		}
	}
	calls := m.ToolUses()
	dst = append(dst, `{"role":"assistant","content":`...)
	if content := join(text); content == "" && len(calls) > 0 && !p.profile.EmptyContent {
		dst = append(dst, "null"...)
	} else {
		dst = message.AppendString(dst, content)
	}
	if reasoning := join(thinking); reasoning != "" && p.profile.Reasoning != "" {
		dst = append(dst, ',')
		dst = message.AppendString(dst, p.profile.Reasoning)
		dst = append(dst, ':')
		dst = message.AppendString(dst, reasoning)
	}
	for i, c := range calls {
		if i == 0 {
			dst = append(dst, `,"tool_calls":[`...)
		} else {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"id":`...)
		dst = message.AppendString(dst, c.ID)
		dst = append(dst, `,"type":"function","function":{"name":`...)
		dst = message.AppendString(dst, c.Name)
		dst = append(dst, `,"arguments":`...)
		input := "{}"
		if len(c.Input) > 0 {
			input = string(c.Input)
		}
		dst = message.AppendString(dst, input)
		dst = append(dst, "}}"...)
	}
	if len(calls) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendUser appends the results of tools, each as a message, and then what the
// user says. A message of a tool takes text only, so its pictures go with the latter.
func appendUser(dst []byte, m message.Message) []byte {
	var text []string
	var images []message.Image
	results := 0
	for _, b := range m.Content {
		switch b := b.(type) {
		case message.Text:
			text = append(text, b.Text)
		case message.Image:
			images = append(images, b)
		case message.ToolResult:
			if results++; results > 1 {
				dst = append(dst, ',')
			}
			var shown []message.Image
			dst, shown = appendResult(dst, b)
			images = append(images, shown...)
		case message.Raw:
			text = append(text, "(content of a kind that cannot be sent to this model was left out)")
		}
	}
	said := join(text)
	if results > 0 {
		if said == "" && len(images) == 0 {
			return dst
		}
		dst = append(dst, ',')
	}
	dst = append(dst, `{"role":"user","content":`...)
	if len(images) == 0 {
		dst = message.AppendString(dst, said)
		return append(dst, '}')
	}
	dst = append(dst, '[')
	if said != "" {
		dst = append(dst, `{"type":"text","text":`...)
		dst = message.AppendString(dst, said)
		dst = append(dst, "},"...)
	}
	for i, img := range images {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
		dst = message.AppendString(dst, "data:"+img.MediaType+";base64,"+img.Data)
		dst = append(dst, "}}"...)
	}
	return append(dst, "]}"...)
}

// appendResult appends the result of a tool and returns the pictures in it.
func appendResult(dst []byte, r message.ToolResult) ([]byte, []message.Image) {
	var text []string
	var images []message.Image
	for _, b := range r.Content {
		switch b := b.(type) {
		case message.Text:
			text = append(text, b.Text)
		case message.Image:
			images = append(images, b)
			text = append(text, "(a picture, which follows in the next message)")
		}
	}
	said := join(text)
	if r.IsError { // the wire has no other place for it
		said = "Error: " + said
	}
	dst = append(dst, `{"role":"tool","tool_call_id":`...)
	dst = message.AppendString(dst, r.ToolUseID)
	dst = append(dst, `,"content":`...)
	dst = message.AppendString(dst, said)
	return append(dst, '}'), images
}

// join joins texts by blank lines, without the empty ones.
func join(texts []string) string {
	var out strings.Builder
	for _, t := range texts {
		if t == "" {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("\n\n")
		}
		out.WriteString(t)
	}
	return out.String()
}
