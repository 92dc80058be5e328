package openai

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"heddle/internal/message"
)

// chunk is what servers send in one event. Members that servers write in
// different ways are raw.
type chunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Timings *timings        `json:"timings"`
	Error   json.RawMessage `json:"error"`
	Object  string          `json:"object"`
}

type choice struct {
	Index  int    `json:"index"`
	Delta  delta  `json:"delta"`
	Finish string `json:"finish_reason"`
}

type delta struct {
	Content json.RawMessage `json:"content"` // a string, null, or parts
	Refusal string          `json:"refusal"`
	// Three names for one thing.
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`

	ToolCalls []callDelta `json:"tool_calls"`
}

type callDelta struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string, null, or the object itself
	} `json:"function"`
}

// arguments returns the piece of the JSON text of the input.
func (c *callDelta) arguments() string {
	raw := c.Function.Arguments
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case raw[0] != '"':
		return string(raw)
	}
	return textOf(raw)
}

// thinking returns the piece of reasoning, which some servers send under two names.
func (d *delta) thinking() string {
	for _, raw := range []json.RawMessage{d.ReasoningContent, d.Reasoning, d.ReasoningDetails} {
		if s := textOf(raw); s != "" {
			return s
		}
	}
	return ""
}

// textOf returns the text of a string, or of a list of parts with text.
func textOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
			return string(inner)
		}
		var s string
		// What is not JSON was found when the chunk was decoded.
		_ = json.Unmarshal(raw, &s)
		return s
	case '[':
		var parts []struct {
			Text    string `json:"text"`
			Summary string `json:"summary"`
		}
		if json.Unmarshal(raw, &parts) != nil {
			return ""
		}
		var s string
		for _, p := range parts {
			s += p.Text + p.Summary
		}
		return s
	}
	return ""
}

// usage is how Chat Completions count: the prompt includes what was cached and
// what was written to the cache.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Details    struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
}

func (u *usage) normal() message.Usage {
	cached := min(max(u.Details.Cached, 0), max(u.Prompt, 0))
	written := min(max(u.Details.Written, 0), max(u.Prompt, 0)-cached)
	return message.Usage{
		Input:     max(u.Prompt, 0) - cached - written,
		CacheRead: cached, CacheWrite: written,
		Output: max(u.Completion, 0),
	}
}

// timings is how llama-server counts when it was not asked for usage.
type timings struct {
	Cached    int `json:"cache_n"`
	Prompt    int `json:"prompt_n"` // without what was cached
	Predicted int `json:"predicted_n"`
}

func (t *timings) normal() message.Usage {
	return message.Usage{Input: max(t.Prompt, 0), CacheRead: max(t.Cached, 0), Output: max(t.Predicted, 0)}
}

// bytesPerToken is a cautious average over languages and code.
const bytesPerToken = 3.5

func estimate(prompt, answer int64) message.Usage {
	return message.Usage{
		Input: int(float64(prompt) / bytesPerToken), Output: int(float64(answer) / bytesPerToken),
		Estimated: true,
	}
}
