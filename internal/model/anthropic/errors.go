package anthropic

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"heddle/internal/model"
	"heddle/internal/model/sse"
)

// apiError is the error object of the API.
type apiError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Details *struct {
		Code string `json:"error_code"`
	} `json:"details"`
}

// statusOf gives the status that a type of error has when it comes instead of a
// stream.
func statusOf(kind string) int {
	switch kind {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "billing_error":
		return http.StatusPaymentRequired
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error":
		return http.StatusNotFound
	case "conflict_error":
		return http.StatusConflict
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "timeout_error":
		return http.StatusGatewayTimeout
	case "overloaded_error":
		return 529
	}
	return http.StatusInternalServerError
}

// refine adds to e what the text of a refusal says.
func refine(e *model.Error, text []byte) error {
	var body struct {
		Error     *apiError `json:"error"`
		RequestID string    `json:"request_id"`
	}
	if json.Unmarshal(text, &body) != nil || body.Error == nil {
		if e.Status == http.StatusOK {
			sse.NoStream(e)
		}
		return e
	}
	e.Type = body.Error.Type
	if body.Error.Message != "" {
		e.Message = body.Error.Message
	}
	if e.RequestID == "" {
		e.RequestID = body.RequestID
	}
	if e.Status == http.StatusOK {
		e.Class = sse.ClassOf(statusOf(e.Type))
	}
	body.Error.narrow(e)
	return e
}

// inStream is the error of an event after a good status. It means what its type
// means, whatever the status was.
func inStream(e event) error {
	out := &model.Error{Class: model.ServerError, Status: http.StatusOK, RequestID: e.RequestID}
	if e.Error != nil {
		out.Class = sse.ClassOf(statusOf(e.Error.Type))
		out.Type, out.Message = e.Error.Type, e.Error.Message
		e.Error.narrow(out)
	}
	return out
}

// narrow tells classes apart that share a type.
func (a *apiError) narrow(e *model.Error) {
	text := strings.ToLower(a.Message)
	switch {
	case a.Type == "overloaded_error":
		e.Class = model.Overloaded
	case e.Class == model.RateLimited && a.Details != nil && spent(a.Details.Code):
		e.Class = model.QuotaExceeded
	case e.Class == model.BadRequest && (strings.Contains(text, "prompt is too long") ||
		strings.Contains(text, "exceed context limit") || strings.Contains(text, "exceed_context_size")):
		e.Class = model.ContextFull
	case e.Class == model.BadRequest && (strings.Contains(text, "spend limit") || strings.Contains(text, "credit balance")):
		e.Class = model.QuotaExceeded
	}
}

// spent reports whether a code of a 429 means that waiting does not help.
func spent(code string) bool {
	return strings.HasSuffix(code, "spend_limit_reached") || code == "organization_on_hold"
}

// withRequestID adds the id that the head of the answer gave, which the vendor
// asks for in reports.
func withRequestID(err error, h http.Header) error {
	var e *model.Error
	if errors.As(err, &e) && e.RequestID == "" {
		e.RequestID = h.Get("Request-Id")
	}
	return err
}
