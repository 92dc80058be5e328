package fakeapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"heddle/internal/message"
	"heddle/internal/model"
)

type rawJSON = json.RawMessage

// request is the body of a request of the Messages API. Members that are not here
// do not exist.
type request struct {
	Model        string        `json:"model"`
	MaxTokens    *int          `json:"max_tokens"`
	System       rawJSON       `json:"system"`
	Tools        []rawJSON     `json:"tools"`
	Messages     []rawJSON     `json:"messages"`
	Stream       bool          `json:"stream"`
	CacheControl *cacheControl `json:"cache_control"`

	ToolChoice *struct {
		Type     string `json:"type"`
		Name     string `json:"name"`
		Parallel bool   `json:"disable_parallel_tool_use"`
	} `json:"tool_choice"`
	Thinking *struct {
		Type    string  `json:"type"`
		Budget  int     `json:"budget_tokens"`
		Display string  `json:"display"`
		Binding rawJSON `json:"block_binding"`
	} `json:"thinking"`
	OutputConfig *struct {
		Effort string  `json:"effort"`
		Format rawJSON `json:"format"`
	} `json:"output_config"`

	Metadata      rawJSON `json:"metadata"`
	StopSequences rawJSON `json:"stop_sequences"`
	ServiceTier   rawJSON `json:"service_tier"`
	Speed         rawJSON `json:"speed"`
	InferenceGeo  rawJSON `json:"inference_geo"`
	Container     rawJSON `json:"container"`
	Diagnostics   rawJSON `json:"diagnostics"`
	Context       rawJSON `json:"context_management"`
	Temperature   rawJSON `json:"temperature"`
	TopP          rawJSON `json:"top_p"`
	TopK          rawJSON `json:"top_k"`
}

// prompt is a request that was read and found good.
type prompt struct {
	request
	system   string
	messages []message.Message
	// positions are for the cache. The last ones are those of the messages.
	positions []position
	chain     digest // of all so far, for the cache
	bound     digest // of all so far, for signatures: without what only the cache minds
	size      int    // bytes so far
	marks     int
}

// bytesPerToken is a fair guess, and the same everywhere.
const bytesPerToken = 4

func (p *prompt) tokens() int { return p.size / bytesPerToken }

// conversation tells conversations apart: by the agent and how they begin.
func (p *prompt) conversation(a model.Agent) string { return conversation(a, p.messages) }

func conversation(a model.Agent, messages []message.Message) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q ", a.ID, a.Type)
	h.Write(messages[0].AppendJSON(nil))
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// sign binds a thought to all that stood before it.
func (p *prompt) sign(t message.Thinking) string { return signature(p.bound, t) }

func signature(before digest, t message.Thinking) string {
	sum := sha256.Sum256(append(before[:], t.Text...))
	return "sig_" + hex.EncodeToString(sum[:16])
}

// after is what p.bound will be when m has been answered with.
func (p *prompt) after(m message.Message) digest {
	sum := p.bound
	for _, b := range m.Content {
		if u, ok := b.(message.ToolUse); ok {
			u.Input, _ = message.CleanInput(u.Input)
			b = u
		}
		sum = link(sum, blockText(m.Role, b))
	}
	return sum
}

func link(sum digest, text []byte) digest { return sha256.Sum256(append(sum[:], text...)) }

func blockText(role message.Role, b message.Block) []byte { return b.AppendJSON([]byte(role)) }

// parse reads a request and refuses it as the API would.
func (f *Server) parse(h http.Header, body []byte) (*prompt, error) {
	p, err := f.parseCount(h, body)
	switch {
	case err != nil:
		return nil, err
	case p.MaxTokens == nil:
		return nil, invalid("max_tokens: Field required")
	case *p.MaxTokens < 1:
		return nil, invalid("max_tokens: Input should be greater than or equal to 1")
	case p.Thinking != nil && p.Thinking.Type == "enabled" && (p.Thinking.Budget < 1024 || p.Thinking.Budget >= *p.MaxTokens):
		return nil, invalid("thinking.enabled.budget_tokens: Input should be at least 1024 and less than max_tokens")
	}
	return p, nil
}

// parseCount is parse for a request that only wants to know how long it is.
func (f *Server) parseCount(h http.Header, body []byte) (*prompt, error) {
	version := h.Get("Anthropic-Version")
	if version == "" {
		return nil, invalid("anthropic-version: header is required")
	}
	if !utf8.Valid(body) {
		return nil, invalid("The request body is not valid JSON: it is not UTF-8")
	}
	p := &prompt{}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p.request); err != nil {
		if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
			return nil, invalid("%s: Extra inputs are not permitted", strings.Trim(name, `"`))
		}
		return nil, invalid("The request body is not valid JSON: %v", err)
	}
	if dec.More() {
		return nil, invalid("The request body is not valid JSON: something follows it")
	}
	if surrogate := loneSurrogate(body); surrogate != "" {
		return nil, invalid("The request body is not valid JSON: no low surrogate in string at %s", surrogate)
	}
	if err := p.checkMembers(version); err != nil {
		return nil, err
	}
	for _, read := range []func() error{p.readTools, p.readSystem, p.readMessages} {
		if err := read(); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	paused := f.paused[p.bound]
	f.mu.Unlock()
	if err := checkOrder(p.messages, paused); err != nil {
		return nil, err
	}
	return p, p.checkMarks()
}

var efforts = []string{"", "low", "medium", "high", "xhigh", "max"}

// newVersion is the first that has no sampling parameters.
const newVersion = "2026-10-21"

func (p *prompt) checkMembers(version string) error {
	switch {
	case p.Model == "":
		return invalid("model: Field required")
	case len(p.Messages) == 0:
		return invalid("messages: at least one message is required")
	case version >= newVersion && (p.Temperature != nil || p.TopP != nil || p.TopK != nil):
		return invalid("temperature, top_p, top_k: not supported from anthropic-version %s on", newVersion)
	case p.Thinking != nil && !slices.Contains([]string{"adaptive", "disabled", "between_tools", "enabled"}, p.Thinking.Type):
		return invalid("thinking: Input tag '%s' found does not match any of the expected tags", p.Thinking.Type)
	case p.ToolChoice != nil && !slices.Contains([]string{"auto", "any", "tool", "none"}, p.ToolChoice.Type):
		return invalid("tool_choice: Input tag '%s' found does not match any of the expected tags", p.ToolChoice.Type)
	case p.ToolChoice != nil && len(p.Tools) == 0:
		return invalid("tool_choice: may only be specified while providing tools")
	case p.OutputConfig != nil && !slices.Contains(efforts, p.OutputConfig.Effort):
		return invalid("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	}
	return nil
}

// add goes on by a tool or a block.
func (p *prompt) add(text []byte, mark *cacheControl) {
	p.chain, p.bound = link(p.chain, text), link(p.bound, text)
	p.size += len(text)
	p.positions = append(p.positions, position{p.chain, p.tokens(), mark.life()})
}

var (
	toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })
	toolID   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]+$`) })
)

func (p *prompt) readTools() error {
	p.chain = link(p.chain, []byte(p.Model))
	names := map[string]bool{}
	for i, raw := range p.Tools {
		var t struct {
			Type   string        `json:"type"`
			Name   string        `json:"name"`
			Schema *object       `json:"input_schema"`
			Mark   *cacheControl `json:"cache_control"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return invalid("tools.%d: %v", i, err)
		}
		switch custom := t.Type == "" || t.Type == "custom"; {
		case !toolName().MatchString(t.Name):
			return invalid("tools.%d.name: String should match pattern '%s'", i, toolName())
		case names[t.Name]:
			return invalid("tools: Tool names must be unique.")
		case custom && t.Schema == nil:
			return invalid("tools.%d.input_schema: Field required", i)
		case custom && (*t.Schema)["type"] != "object":
			return invalid("tools.%d.input_schema.type: Input should be 'object'", i)
		}
		names[t.Name] = true
		if err := p.mark(fmt.Sprintf("tools.%d", i), t.Mark); err != nil {
			return err
		}
		p.add(unmarked(raw), t.Mark)
	}
	return nil
}

func (p *prompt) readSystem() error {
	raw := bytes.TrimSpace(p.System)
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &p.system); err != nil {
			return invalid("system: %v", err)
		}
		p.add(message.Text{Text: p.system}.AppendJSON(nil), nil)
		return nil
	}
	var blocks []rawJSON
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return invalid("system: Input should be a string or a list of text blocks")
	}
	for i, raw := range blocks {
		where := fmt.Sprintf("system.%d", i)
		b, err := readPart(where, raw)
		if err != nil {
			return err
		}
		if b.Type != "text" {
			return invalid("%s.type: Input should be 'text'", where)
		}
		if b.Text == "" {
			return invalid("%s: text content blocks must be non-empty", where)
		}
		if err := p.mark(where, b.Mark); err != nil {
			return err
		}
		if i > 0 {
			p.system += "\n\n"
		}
		p.system += b.Text
		p.add(message.Text{Text: b.Text}.AppendJSON(nil), b.Mark)
	}
	return nil
}

// unmarked is JSON without marks, and without white space between tokens.
func unmarked(raw []byte) []byte {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil { // a part of a body
		out.Reset()
		out.Write(raw)
	}
	return markText().ReplaceAll(out.Bytes(), nil)
}

// Within a string, the quotes would be escaped.
var markText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`,"cache_control":\{[^{}]*\}|"cache_control":\{[^{}]*\},`)
})

// cacheControl is a breakpoint.
type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl"`
}

func (c *cacheControl) life() time.Duration {
	switch {
	case c == nil:
		return 0
	case c.TTL == "1h":
		return longLife
	}
	return shortLife
}

// maxMarks is how many breakpoints a request may have.
const maxMarks = 4

// mark counts and checks a breakpoint.
func (p *prompt) mark(where string, c *cacheControl) error {
	if c == nil {
		return nil
	}
	if p.marks++; c.Type != "ephemeral" {
		return invalid("%s.cache_control.type: Input should be 'ephemeral'", where)
	}
	if c.TTL != "" && c.TTL != "5m" && c.TTL != "1h" {
		return invalid("%s.cache_control.ttl: Input should be '5m' or '1h'", where)
	}
	return nil
}

// checkMarks places the automatic breakpoint, and checks all together.
func (p *prompt) checkMarks() error {
	if p.CacheControl != nil {
		marks := p.marks
		if err := p.mark("(top level)", p.CacheControl); err != nil {
			return err
		}
		last := &p.positions[len(p.positions)-1]
		if last.marked() {
			p.marks = marks // it stands there already
		}
		last.life = max(last.life, p.CacheControl.life())
	}
	if p.marks > maxMarks {
		return invalid("A maximum of %d blocks with cache_control may be provided. Found %d.", maxMarks, p.marks)
	}
	short := false
	for _, at := range p.positions {
		if at.life == longLife && short {
			return invalid("cache_control: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
		}
		short = short || at.life == shortLife
	}
	return nil
}

// loneSurrogate returns the first \u escape in valid JSON that is half of a
// character.
func loneSurrogate(body []byte) string {
	for i := 0; i+1 < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		if body[i+1] != 'u' {
			i++
			continue
		}
		high, ok := escaped(body[i:])
		if !ok {
			continue
		}
		if low, ok := escaped(body[i+6:]); high < 0xdc00 && ok && low >= 0xdc00 {
			i += 11
			continue
		}
		return fmt.Sprintf("byte %d: %s", i, body[i:i+6])
	}
	return ""
}

// escaped returns the surrogate that b begins with as an escape.
func escaped(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var v [2]byte
	if _, err := hex.Decode(v[:], b[2:6]); err != nil {
		return 0, false
	}
	r := rune(v[0])<<8 | rune(v[1])
	return r, r >= 0xd800 && r <= 0xdfff
}
