// Package message is the vocabulary of a conversation: messages made of
// blocks, what they cost, and why a model stopped.
//
// Every value has one canonical JSON form, the block form of the Anthropic
// Messages API. Encoding is deterministic and decoding what was encoded gives
// the same bytes again, so a stored conversation can be sent byte for byte.
package message

import "encoding/json"

// Role says who speaks.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is one turn of one speaker. It is immutable once it stands in a
// history: its bytes have been sent.
type Message struct {
	Role    Role
	Content []Block
}

// Block is a piece of a message: [Text], [Thinking], [RedactedThinking],
// [ToolUse], [ToolResult], [Image] or [Raw].
type Block interface {
	// AppendJSON appends the canonical form to dst.
	AppendJSON(dst []byte) []byte
	block()
}

// Text is prose.
type Text struct{ Text string }

// Thinking is a model's reasoning. The signature binds it to everything that
// was sent before it, so it goes back unchanged or not at all.
type Thinking struct {
	Text      string
	Signature string
}

// RedactedThinking is reasoning that only the provider can read.
type RedactedThinking struct{ Data string }

// ToolUse is a model's request to run a tool.
type ToolUse struct {
	ID   string
	Name string
	// Input is a compact JSON object, in the model's own key order and
	// spelling. It is never decoded to a map and encoded again.
	Input json.RawMessage
	// Malformed reports that the model sent no JSON object. Input then holds
	// the raw text as a string under "malformed_input", and the tool must not run.
	// It is not part of the encoded form.
	Malformed bool
}

// ToolResult answers a [ToolUse]. Content holds [Text] and [Image] blocks.
type ToolResult struct {
	ToolUseID string
	Content   []Block
	IsError   bool
}

// Image is a picture, its bytes in standard base64.
type Image struct {
	MediaType string // image/png, image/jpeg, image/gif or image/webp
	Data      string
}

// Raw is a block of a type this program does not know, kept as it was received.
type Raw struct{ JSON json.RawMessage }

func (Text) block()             {}
func (Thinking) block()         {}
func (RedactedThinking) block() {}
func (ToolUse) block()          {}
func (ToolResult) block()       {}
func (Image) block()            {}
func (Raw) block()              {}

// FromUser returns a user message of one text.
func FromUser(text string) Message {
	return Message{Role: User, Content: []Block{Text{text}}}
}

// Text returns the text blocks of m, joined by blank lines.
func (m Message) Text() string {
	var out []byte
	for _, b := range m.Content {
		t, ok := b.(Text)
		if !ok || t.Text == "" {
			continue
		}
		if len(out) > 0 {
			out = append(out, "\n\n"...)
		}
		out = append(out, t.Text...)
	}
	return string(out)
}

// ToolUses returns the tool calls of m in order.
func (m Message) ToolUses() []ToolUse {
	var out []ToolUse
	for _, b := range m.Content {
		if u, ok := b.(ToolUse); ok {
			out = append(out, u)
		}
	}
	return out
}

// StopReason says why a model stopped. Values are those of the Anthropic
// Messages API; other providers' reasons are mapped to them.
type StopReason string

const (
	EndTurn         StopReason = "end_turn"
	StopToolUse     StopReason = "tool_use"
	MaxTokens       StopReason = "max_tokens"
	StopSequence    StopReason = "stop_sequence"
	PauseTurn       StopReason = "pause_turn"
	Refusal         StopReason = "refusal"
	ContextExceeded StopReason = "model_context_window_exceeded"
)

// Usage counts the tokens of one response. The prompt is the sum of Input,
// CacheRead, CacheWrite and CacheWrite1h; none of them includes another.
type Usage struct {
	Input        int `json:"input_tokens"`                   // not served from and not written to a cache
	CacheRead    int `json:"cache_read_input_tokens"`        // served from a cache
	CacheWrite   int `json:"cache_creation_input_tokens"`    // written for five minutes, or by a provider with one lifetime
	CacheWrite1h int `json:"cache_creation_1h_input_tokens"` // written for an hour
	Output       int `json:"output_tokens"`                  // includes thinking
	// Estimated reports that the provider sent no usage and the figures were
	// derived from byte counts.
	Estimated bool `json:"estimated,omitempty"`
}

// Prompt is the number of tokens the model read.
func (u Usage) Prompt() int { return u.Input + u.CacheRead + u.CacheWrite + u.CacheWrite1h }

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:        u.Input + v.Input,
		CacheRead:    u.CacheRead + v.CacheRead,
		CacheWrite:   u.CacheWrite + v.CacheWrite,
		CacheWrite1h: u.CacheWrite1h + v.CacheWrite1h,
		Output:       u.Output + v.Output,
		Estimated:    u.Estimated || v.Estimated,
	}
}
