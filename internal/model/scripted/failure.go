package scripted

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"heddle/internal/model"
)

// Words returns status, type and message of a failure, with what the status
// usually means where the script says nothing.
func (f *Failure) Words() (status int, kind, text string) {
	status = cmp.Or(f.Status, f.HTML, http.StatusOK)
	kind = cmp.Or(f.ErrorEvent, f.Type, kindOf(status))
	return status, kind, cmp.Or(f.Message, strings.ReplaceAll(kind, "_", " "))
}

// String names the failure, for a log.
func (f *Failure) String() string {
	_, kind, text := f.Words()
	switch {
	case f.HTML != 0:
		return "a page"
	case f.Status != 0 || f.ErrorEvent != "":
		return kind + ": " + text
	case f.Cut != "":
		return "cut " + string(f.Cut)
	case f.Silence > 0:
		return "silence"
	case f.Pings > 0:
		return "pings"
	}
	return "disorder"
}

func kindOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "timeout_error"
	case http.StatusConflict:
		return "conflict_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

// err is the error that a client of a real server reports for the failure.
func (f *Failure) err() *model.Error {
	status, kind, text := f.Words()
	e := &model.Error{Provider: providerName, Status: status, RetryAfter: time.Duration(f.RetryAfter)}
	switch {
	case f.HTML != 0:
		e.Class, e.Message = classOf(status, "", "", ""), fmt.Sprintf("%d %s", status, http.StatusText(status))
	case f.Status != 0 || f.ErrorEvent != "":
		e.Class, e.Type, e.Message = classOf(f.Status, kind, f.Code, text), kind, text
	case f.Silence > 0:
		e.Class, e.Message = model.Silent, fmt.Sprintf("nothing came for %v", time.Duration(f.Silence))
	default:
		e.Class, e.Message = model.Cut, "the connection ended before the answer did"
	}
	return e
}

// classOf says what an error means: by its code and type where they tell more
// than the status.
func classOf(status int, kind, code, text string) model.Class {
	text = strings.ToLower(text)
	switch {
	case strings.HasSuffix(code, "spend_limit_reached") || code == "insufficient_quota" || code == "organization_on_hold" || kind == "billing_error":
		return model.QuotaExceeded
	case strings.Contains(text, "prompt is too long") || code == "context_length_exceeded":
		return model.ContextFull
	case kind == "overloaded_error" || status == 529 || status == http.StatusServiceUnavailable:
		return model.Overloaded
	case kind == "rate_limit_error" || status == http.StatusTooManyRequests:
		return model.RateLimited
	case kind == "authentication_error" || kind == "permission_error" || status == http.StatusUnauthorized || status == http.StatusForbidden:
		return model.BadCredential
	case kind == "not_found_error" || status == http.StatusNotFound:
		return model.UnknownModel
	case kind == "request_too_large" || status == http.StatusRequestEntityTooLarge:
		return model.TooLarge
	case status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooEarly:
		return model.ServerError
	case kind == "invalid_request_error" || status >= 300 && status < 500:
		return model.BadRequest
	}
	return model.ServerError
}
