package anthropic

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProvider(t *testing.T) { modeltest.Run(t, wire{}) }

// wire writes the Messages API as the vendor's server does.
type wire struct{}

func (wire) New(baseURL string, client *http.Client) model.Provider {
	return New(Options{BaseURL: baseURL, APIKey: "k", HTTPClient: client})
}

func named(kind, rest string) string {
	return fmt.Sprintf("event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, rest)
}

func quote(s string) string { return string(message.AppendString(nil, s)) }

func (wire) Stream(a modeltest.Answer) []string {
	out := []string{named("message_start", fmt.Sprintf(`,"message":{"id":%s,"type":"message","role":"assistant","model":"m-1","content":[],"stop_reason":null,`+
		`"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"cache_creation_input_tokens":0,"output_tokens":1}}`, quote(a.ID), a.Usage.Input, a.Usage.CacheRead))}
	index := 0
	block := func(start string, deltas ...string) {
		out = append(out, named("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, index, start)))
		for _, d := range deltas {
			out = append(out, named("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":%s`, index, d)))
		}
		out = append(out, named("content_block_stop", fmt.Sprintf(`,"index":%d`, index)))
		index++
	}
	deltas := func(s, format string) (out []string) {
		for _, piece := range modeltest.Split(s, 9) {
			out = append(out, fmt.Sprintf(format, quote(piece)))
		}
		return out
	}
	if a.Thinking != "" {
		block(`{"type":"thinking","thinking":"","signature":""}`,
			append(deltas(a.Thinking, `{"type":"thinking_delta","thinking":%s}`), `{"type":"signature_delta","signature":"c2ln"}`)...)
	}
	if a.Text != "" {
		block(`{"type":"text","text":""}`, deltas(a.Text, `{"type":"text_delta","text":%s}`)...)
	}
	for _, c := range a.Calls {
		block(fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(c.ID), quote(c.Name)),
			append([]string{`{"type":"input_json_delta","partial_json":""}`}, deltas(c.Input, `{"type":"input_json_delta","partial_json":%s}`)...)...)
	}
	if a.Unfinished {
		out = out[:len(out)-1]
	}
	return append(out,
		named("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":"%s","stop_sequence":null},"usage":{"output_tokens":%d}`, a.Stop, a.Usage.Output)),
		named("message_stop", ""))
}

func (wire) Enough(events []string) int { return len(events) }

func (wire) Ping() string { return named("ping", "") }

func (wire) Strange() []string {
	return []string{
		named("ping", ""), ": a comment\n\n",
		named("weather_report", `,"index":77,"delta":{"type":"rain"}`),
		"id: 7\nretry: 100\n\n",
		"data: {\"type\":\"unheard_of\"}\n\n",
	}
}

func (wire) Failure(c model.Class) (int, string) {
	body := func(kind, text string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":"%s","message":"%s","details":null}}`, kind, text)
	}
	switch c {
	case model.RateLimited:
		return 429, body("rate_limit_error", "too many requests")
	case model.Overloaded:
		return 529, body("overloaded_error", "Overloaded")
	case model.ServerError:
		return 500, body("api_error", "Internal server error")
	case model.BadCredential:
		return 401, body("authentication_error", "invalid x-api-key")
	case model.BadRequest:
		return 400, body("invalid_request_error", "messages.0: bad")
	case model.UnknownModel:
		return 404, body("not_found_error", "model: m-1")
	case model.ContextFull:
		return 400, body("invalid_request_error", "prompt is too long: 213462 tokens > 200000 maximum")
	case model.TooLarge:
		return 413, body("request_too_large", "Request exceeds the maximum size")
	case model.QuotaExceeded:
		return 429, strings.Replace(body("rate_limit_error", "spent"), "null", `{"error_code":"enforced_spend_limit_reached"}`, 1)
	}
	panic(c)
}

func (w wire) ErrorEvent(c model.Class) string {
	_, body := w.Failure(c)
	return "event: error\ndata: " + body + "\n\n"
}
