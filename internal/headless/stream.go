package headless

import (
	"encoding/json"
	"errors"
	"time"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/model"
)

// The messages of stream-json. Names and shapes are those that agent SDKs read.

type initMessage struct {
	envelope
	Dir           string        `json:"cwd"`
	Tools         []string      `json:"tools"`
	Servers       []serverBrief `json:"mcp_servers"`
	Model         string        `json:"model"`
	Mode          string        `json:"permissionMode"`
	SlashCommands []string      `json:"slash_commands"`
	Agents        []string      `json:"agents"`
	Skills        []string      `json:"skills"`
	Plugins       []any         `json:"plugins"`
	OutputStyle   string        `json:"output_style"`
	KeySource     string        `json:"apiKeySource"`
	Version       string        `json:"version"`
	Capabilities  []string      `json:"capabilities"`
}

func (d *driver) init() {
	if d.Format != Stream {
		return
	}
	about := d.s.About()
	m := initMessage{
		envelope: d.w.head("system", "init"), Dir: about.Dir, Tools: about.Tools, Servers: []serverBrief{},
		Model: about.Model, Mode: about.Mode, SlashCommands: []string{}, Agents: []string{},
		Skills: []string{}, Plugins: []any{}, OutputStyle: "default", KeySource: about.KeySource,
		Version: about.Version, Capabilities: []string{"interrupt_receipt_v1", "interrupt_cancel_queued_v1", "move_to_background_v1"},
	}
	for _, server := range about.Servers {
		m.Servers = append(m.Servers, serverBrief{server.Name, server.Status})
	}
	for _, c := range about.Commands {
		m.SlashCommands = append(m.SlashCommands, c.Name)
		if c.Skill {
			m.Skills = append(m.Skills, c.Name)
		}
	}
	d.w.write(m)
}

// serverBrief is a server in the init message.
type serverBrief struct {
	Name   string `json:"name"`
	Status string `json:"status"`
}

// apiMessage is a message as the Anthropic API gives it.
type apiMessage struct {
	ID           string             `json:"id"`
	Type         string             `json:"type"`
	Role         message.Role       `json:"role"`
	Model        string             `json:"model"`
	Content      json.RawMessage    `json:"content"`
	Stop         message.StopReason `json:"stop_reason,omitempty"`
	StopSequence *string            `json:"stop_sequence"`
	Usage        apiUsage           `json:"usage"`
}

type apiUsage struct {
	Input      int `json:"input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	Output     int `json:"output_tokens"`
}

func usageOf(u message.Usage) apiUsage {
	return apiUsage{Input: u.Input, CacheWrite: u.CacheWrite + u.CacheWrite1h, CacheRead: u.CacheRead, Output: u.Output}
}

type assistantMessage struct {
	envelope
	Message apiMessage `json:"message"`
	Parent  *string    `json:"parent_tool_use_id"`
}

type userMessage struct {
	envelope
	Message   json.RawMessage `json:"message"`
	Parent    *string         `json:"parent_tool_use_id"`
	Synthetic bool            `json:"isSynthetic,omitempty"`
	Replay    bool            `json:"isReplay,omitempty"`
	Result    any             `json:"tool_use_result,omitempty"`
	Origin    *originField    `json:"origin,omitempty"`
}

type originField struct {
	Kind string `json:"kind"`
}

type boundaryMessage struct {
	envelope
	Metadata boundary `json:"compact_metadata"`
}

type boundary struct {
	Trigger agent.Trigger `json:"trigger"`
	Before  int           `json:"pre_tokens"`
}

type statusMessage struct {
	envelope
	Status *string `json:"status"`
	Mode   string  `json:"permissionMode,omitempty"`
}

type retryMessage struct {
	envelope
	Attempt int    `json:"attempt"`
	Max     int    `json:"max_retries"`
	Delay   int64  `json:"retry_delay_ms"`
	Status  *int   `json:"error_status"`
	Error   string `json:"error"`
}

type noticeMessage struct {
	envelope
	Content string `json:"content"`
	Level   string `json:"level"`
}

type deniedMessage struct {
	envelope
	Tool    string `json:"tool_name"`
	Use     string `json:"tool_use_id"`
	Message string `json:"message"`
}

// stream tells one event.
func (d *driver) stream(ev agent.Event) {
	switch ev := ev.(type) {
	case agent.Added:
		d.added(ev)
	case agent.Streamed:
		if r, ok := retrying(ev); ok {
			d.w.write(retryOf(d.w, r))
		}
		if d.partial != nil {
			d.partial.event(ev.Event)
		}
	case agent.ToolEnded:
		if ev.Result.Denied {
			text := message.Message{Content: ev.Result.Content}.Text()
			d.w.write(deniedMessage{d.w.head("system", "permission_denied"), ev.Use.Name, ev.Use.ID, text})
		}
	case agent.Compacting:
		status := "compacting"
		d.w.write(statusMessage{envelope: d.w.head("system", "status"), Status: &status})
	case agent.Compacted:
		d.w.write(statusMessage{envelope: d.w.head("system", "status")})
		if ev.Err != nil {
			d.notice("warning", "The conversation could not be compacted: "+ev.Err.Error())
			return
		}
		d.w.write(boundaryMessage{d.w.head("system", "compact_boundary"), boundary{ev.Trigger, ev.Before}})
	case agent.Notice:
		d.notice("warning", ev.Text)
	}
}

func (d *driver) notice(level, text string) {
	d.w.write(noticeMessage{d.w.head("system", "informational"), text, level})
}

// added tells a message that now stands in the conversation. What the host sent
// itself is repeated only when it asked for that.
func (d *driver) added(a agent.Added) {
	if a.Message.Role == message.Assistant {
		if d.partial != nil {
			d.partial.end(a)
		}
		d.w.write(assistantMessage{envelope: d.w.head("assistant", ""), Message: apiMessage{
			ID: a.ResponseID, Type: "message", Role: message.Assistant, Model: a.Model,
			Content: contentOf(a.Message), Stop: a.Stop, Usage: usageOf(a.Usage),
		}})
		return
	}
	if a.Origin != agent.Human {
		d.tasks.catchUp() // the task that this is about is known by then
	}
	m := userMessage{envelope: d.w.head("user", "")}
	switch a.Origin {
	case agent.Human:
		if !d.Replay {
			return
		}
		m.Replay = true
		if a.InputID != "" {
			m.UUID = a.InputID
		}
	case agent.FromTools:
		for _, data := range a.Data {
			m.Result = data // a single call's
		}
		if len(a.Message.Content) > 1 && len(a.Data) > 0 {
			m.Result = a.Data
		}
	default:
		m.Synthetic = true
		m.Origin = &originField{string(a.Origin)}
	}
	m.Message = a.Message.AppendJSON(nil)
	d.w.write(m)
}

// contentOf returns the content of m as a JSON list.
func contentOf(m message.Message) json.RawMessage {
	out := []byte{'['}
	for i, b := range m.Content {
		if i > 0 {
			out = append(out, ',')
		}
		out = b.AppendJSON(out)
	}
	return append(out, ']')
}

func retrying(ev agent.Streamed) (model.Retrying, bool) {
	r, ok := ev.Event.(model.Retrying)
	return r, ok
}

func retryOf(w *writer, r model.Retrying) retryMessage {
	m := retryMessage{
		envelope: w.head("system", "api_retry"), Attempt: r.Attempt, Max: r.Max,
		Delay: r.Delay.Milliseconds(), Error: errorName(r.Err),
	}
	if r.Err.Status != 0 {
		m.Status = &r.Err.Status
	}
	return m
}

// errorName is the word of the protocol for a failure of the model.
func errorName(err error) string {
	var me *model.Error
	if !errors.As(err, &me) {
		return "unknown"
	}
	switch me.Class {
	case model.RateLimited:
		return "rate_limit"
	case model.Overloaded:
		return "overloaded"
	case model.QuotaExceeded:
		return "billing_error"
	case model.BadCredential:
		return "authentication_failed"
	case model.UnknownModel:
		return "model_not_found"
	case model.BadRequest, model.ContextFull, model.TooLarge:
		return "invalid_request"
	case model.ServerError, model.Unreachable, model.Cut, model.Silent:
		return "server_error"
	}
	return "unknown"
}

func roundDelay(d time.Duration) time.Duration {
	if d > time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}
