package openai

import (
	"fmt"
	"net/http"
	"testing"

	"go.uber.org/goleak"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/modeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestProvider(t *testing.T) { modeltest.Run(t, wire{}) }

// wire writes Chat Completions as the vendor's server does.
type wire struct{}

func (wire) New(baseURL string, client *http.Client) model.Provider {
	return New(Options{BaseURL: baseURL, APIKey: "k", HTTPClient: client})
}

func quote(s string) string { return string(message.AppendString(nil, s)) }

// piece is an event with one delta.
func piece(id, delta, finish string) string {
	return fmt.Sprintf("data: {\"id\":%s,\"object\":\"chat.completion.chunk\",\"model\":\"m-1\",\"choices\":[{\"index\":0,\"delta\":{%s},\"finish_reason\":%s}],\"usage\":null}\n\n", quote(id), delta, finish)
}

func (w wire) Stream(a modeltest.Answer) []string {
	out := []string{piece(a.ID, `"role":"assistant","content":""`, "null")}
	add := func(s, format string) {
		for _, part := range modeltest.Split(s, 9) {
			out = append(out, piece(a.ID, fmt.Sprintf(format, quote(part)), "null"))
		}
	}
	add(a.Thinking, `"reasoning_content":%s`)
	add(a.Text, `"content":%s`)
	for i, c := range a.Calls {
		out = append(out, piece(a.ID, fmt.Sprintf(`"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]`, i, quote(c.ID), quote(c.Name)), "null"))
		add(c.Input, fmt.Sprintf(`"tool_calls":[{"index":%d,"function":{"arguments":%%s}}]`, i))
	}
	finish := map[message.StopReason]string{message.EndTurn: "stop", message.StopToolUse: "tool_calls", message.MaxTokens: "length"}[a.Stop]
	u := a.Usage
	return append(out,
		piece(a.ID, "", quote(finish)),
		fmt.Sprintf("data: {\"id\":%s,\"model\":\"m-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d,\"prompt_tokens_details\":{\"cached_tokens\":%d}}}\n\n",
			quote(a.ID), u.Input+u.CacheRead, u.Output, u.CacheRead),
		"data: [DONE]\n\n")
}

// Enough leaves out the count and the end mark, which some servers do not send.
func (wire) Enough(events []string) int { return len(events) - 2 }

func (wire) Ping() string { return ": keep-alive\n\n" }

func (wire) Strange() []string {
	return []string{
		": OPENROUTER PROCESSING\n\n",
		"data: {\"id\":\"x\",\"choices\":null,\"obfuscation\":\"aaaa\"}\n\n",
		"data: {\"choices\":[{\"index\":3,\"delta\":{\"content\":\"another choice\"}}]}\n\n",
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":null,\"audio\":{\"id\":1}}}]}\n\n",
	}
}

func (wire) Failure(c model.Class) (int, string) {
	body := func(text, kind, code string) string {
		return fmt.Sprintf(`{"error":{"message":"%s","type":"%s","param":null,"code":%s}}`, text, kind, code)
	}
	switch c {
	case model.RateLimited:
		return 429, body("Rate limit reached", "requests", `"rate_limit_exceeded"`)
	case model.Overloaded:
		return 503, body("The engine is currently overloaded", "overloaded", "503")
	case model.ServerError:
		return 500, body("The server had an error", "server_error", "null")
	case model.BadCredential:
		return 401, body("Incorrect API key provided", "invalid_request_error", `"invalid_api_key"`)
	case model.BadRequest:
		return 400, body("Invalid value", "invalid_request_error", "null")
	case model.UnknownModel:
		return 404, body("The model m-1 does not exist", "invalid_request_error", `"model_not_found"`)
	case model.ContextFull:
		return 400, body("This model's maximum context length is 8192 tokens", "invalid_request_error", `"context_length_exceeded"`)
	case model.TooLarge:
		return 413, body("Request too large", "invalid_request_error", "null")
	case model.QuotaExceeded:
		return 429, body("You exceeded your current quota", "insufficient_quota", `"insufficient_quota"`)
	}
	panic(c)
}

func (w wire) ErrorEvent(c model.Class) string {
	_, body := w.Failure(c)
	return "data: " + body + "\n\n"
}
