package openai

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"heddle/internal/model"
	"heddle/internal/model/sse"
)

// apiError is what servers say of an error, in any of their forms.
type apiError struct {
	Type    string
	Message string
	Code    string
}

// parseError reads {"error":{…}}, {"error":"text"}, the error object itself, and
// {"detail":"text"}. It reports whether there was any of them.
func parseError(text []byte) (apiError, bool) {
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(text, &outer) != nil {
		return apiError{}, false
	}
	raw := json.RawMessage(text)
	if len(outer.Error) > 0 && string(outer.Error) != "null" {
		raw = outer.Error
	}
	if s := textOf(raw); s != "" {
		return apiError{Message: s}, true
	}
	var e struct {
		Type    string          `json:"type"`
		Message string          `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Code    json.RawMessage `json:"code"` // a word or a number
	}
	if json.Unmarshal(raw, &e) != nil {
		return apiError{}, false
	}
	if e.Message == "" {
		e.Message = textOf(e.Detail)
	}
	out := apiError{Type: e.Type, Message: e.Message, Code: strings.Trim(string(e.Code), `"`)}
	if out.Code == "null" {
		out.Code = ""
	}
	return out, out != apiError{}
}

// refine adds to e what the text of a refusal says.
func refine(e *model.Error, text []byte) error {
	a, ok := parseError(text)
	if !ok || a.Message == "" && e.Status == http.StatusOK {
		if e.Status == http.StatusOK {
			sse.NoStream(e)
		}
		return e
	}
	if e.Status == http.StatusOK {
		e.Class = a.class()
	}
	a.describe(e)
	return e
}

// inStream is the error of an event after a good status. It means what its
// words mean, whatever the status was.
func inStream(data []byte) error {
	a, _ := parseError(data)
	e := &model.Error{Class: a.class(), Status: http.StatusOK}
	a.describe(e)
	return e
}

// describe fills in the server's words, and the class where they tell more than
// the status does.
func (a apiError) describe(e *model.Error) {
	e.Type = a.Type
	if e.Type == "" {
		e.Type = a.Code
	}
	if a.Message != "" {
		e.Message = a.Message
	}
	text := strings.ToLower(a.Message)
	client := e.Class == model.BadRequest || e.Class == model.TooLarge || e.Class == model.ServerError
	switch {
	case a.says("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"):
		e.Class = model.QuotaExceeded
	case a.says("context_length_exceeded", "exceed_context_size_error"), client && overflows(text):
		e.Class = model.ContextFull
	case a.says("model_not_found"):
		e.Class = model.UnknownModel
	}
}

// says reports whether code or type is one of words.
func (a apiError) says(words ...string) bool {
	for _, w := range words {
		if a.Code == w || a.Type == w {
			return true
		}
	}
	return false
}

// overflows reports whether a message, in lower case, says that the prompt does
// not fit. Servers have no common code for it.
func overflows(text string) bool {
	for _, s := range []string{
		"context length", "context size", "context window", "context limit",
		"maximum context", "n_ctx", "prompt is too long", "num_ctx",
	} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// class says what an error without a status means.
func (a apiError) class() model.Class {
	if status, err := strconv.Atoi(a.Code); err == nil && status >= 400 && status < 600 {
		return sse.ClassOf(status)
	}
	switch {
	case a.says("rate_limit_exceeded", "rate_limit_error", "requests", "tokens"):
		return model.RateLimited
	case a.says("overloaded_error", "overloaded", "engine_overloaded", "unavailable_error", "slow_down"):
		return model.Overloaded
	case a.says("invalid_request_error", "BadRequestError", "invalid_prompt"):
		return model.BadRequest
	case a.says("invalid_api_key", "authentication_error"):
		return model.BadCredential
	}
	return model.ServerError
}
