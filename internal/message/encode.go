package message

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// AppendJSON appends the canonical form of m to dst:
// {"role":…,"content":[…]}, without insignificant white space.
func (m Message) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"role":"`...)
	dst = append(dst, m.Role...)
	dst = append(dst, `","content":`...)
	dst = appendBlocks(dst, m.Content)
	return append(dst, '}')
}

// MarshalJSON implements [json.Marshaler] with the canonical form.
func (m Message) MarshalJSON() ([]byte, error) { return m.AppendJSON(nil), nil }

func appendBlocks(dst []byte, blocks []Block) []byte {
	dst = append(dst, '[')
	for i, b := range blocks {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = b.AppendJSON(dst)
	}
	return append(dst, ']')
}

func (b Text) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"text","text":`...)
	dst = AppendString(dst, b.Text)
	return append(dst, '}')
}

func (b Thinking) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"thinking","thinking":`...)
	dst = AppendString(dst, b.Text)
	dst = append(dst, `,"signature":`...)
	dst = AppendString(dst, b.Signature)
	return append(dst, '}')
}

func (b RedactedThinking) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"redacted_thinking","data":`...)
	dst = AppendString(dst, b.Data)
	return append(dst, '}')
}

func (b ToolUse) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"tool_use","id":`...)
	dst = AppendString(dst, b.ID)
	dst = append(dst, `,"name":`...)
	dst = AppendString(dst, b.Name)
	dst = append(dst, `,"input":`...)
	if len(b.Input) == 0 {
		dst = append(dst, "{}"...)
	} else {
		dst = append(dst, b.Input...)
	}
	return append(dst, '}')
}

func (b ToolResult) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"tool_result","tool_use_id":`...)
	dst = AppendString(dst, b.ToolUseID)
	dst = append(dst, `,"content":`...)
	dst = appendBlocks(dst, b.Content)
	if b.IsError {
		dst = append(dst, `,"is_error":true`...)
	}
	return append(dst, '}')
}

func (b Image) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"type":"image","source":{"type":"base64","media_type":`...)
	dst = AppendString(dst, b.MediaType)
	dst = append(dst, `,"data":`...)
	dst = AppendString(dst, b.Data)
	return append(dst, "}}"...)
}

func (b Raw) AppendJSON(dst []byte) []byte { return append(dst, b.JSON...) }

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD, so whatever a command printed can be sent; nothing is escaped that
// JSON does not ask to be.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= 0x20 && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\uFFFD"...)
			i++
			start = i
			continue
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// wireBlock is the union of all block shapes, for decoding.
type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Source    struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	} `json:"source"`
}

// UnmarshalJSON accepts the canonical form, and a string where a list of
// blocks may stand.
func (m *Message) UnmarshalJSON(data []byte) error {
	var w struct {
		Role    Role            `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	if w.Role != User && w.Role != Assistant {
		return fmt.Errorf("message role %q: want user or assistant", w.Role)
	}
	content, err := DecodeBlocks(w.Content)
	if err != nil {
		return err
	}
	m.Role, m.Content = w.Role, content
	return nil
}

// DecodeBlocks reads a list of blocks, or a string, which is one [Text].
// Null and nothing are no blocks.
func DecodeBlocks(data json.RawMessage) ([]Block, error) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || string(data) == "null" {
		return nil, nil
	}
	if data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, err
		}
		return []Block{Text{s}}, nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(data, &raws); err != nil {
		return nil, fmt.Errorf("message content: %w", err)
	}
	blocks := make([]Block, 0, len(raws))
	for _, raw := range raws {
		b, err := DecodeBlock(raw)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// DecodeBlock reads one block. A type that is not known, or an image that is
// not inline, becomes [Raw].
func DecodeBlock(data json.RawMessage) (Block, error) {
	var w wireBlock
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, fmt.Errorf("message block: %w", err)
	}
	switch w.Type {
	case "text":
		return Text{w.Text}, nil
	case "thinking":
		return Thinking{w.Thinking, w.Signature}, nil
	case "redacted_thinking":
		return RedactedThinking{w.Data}, nil
	case "tool_use":
		input, ok := CleanInput(w.Input)
		return ToolUse{ID: w.ID, Name: w.Name, Input: input, Malformed: !ok}, nil
	case "tool_result":
		content, err := DecodeBlocks(w.Content)
		if err != nil {
			return nil, err
		}
		return ToolResult{ToolUseID: w.ToolUseID, Content: content, IsError: w.IsError}, nil
	case "image":
		if w.Source.Type == "base64" {
			return Image{w.Source.MediaType, w.Source.Data}, nil
		}
	}
	raw, err := compact(data)
	if err != nil {
		return nil, fmt.Errorf("message block: %w", err)
	}
	return Raw{raw}, nil
}
