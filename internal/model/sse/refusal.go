package sse

import (
	"bytes"
	"html"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"heddle/internal/model"
)

// longestRefusal is how much of an error page is read.
const longestRefusal = 64 << 10

// Refusal reports that the server did not answer with a stream of events, and
// returns the text that it sent instead. Status, request id and what the server
// says of trying again are in the error, together with the class that the status
// means and the text as message; a provider that understands the text may know better.
func (a *Answer) Refusal() (*model.Error, []byte) {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if a.Status == http.StatusOK && kind != "text/html" && kind != "application/json" {
		return nil, nil
	}
	text := a.Text(longestRefusal)
	e := &model.Error{
		Class: ClassOf(a.Status), Status: a.Status, Message: plainText(text),
		RequestID: requestID(a.Header), RetryAfter: retryAfter(a.Header),
	}
	switch a.Header.Get("X-Should-Retry") {
	case "true":
		e.Retry = true
	case "false":
		e.NoRetry = true
	}
	if to := a.Header.Get("Location"); to != "" && a.Status/100 == 3 {
		e.Message = "the server redirects to " + to + "; set that as base URL if you trust it"
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(a.Status))
	}
	return e, text
}

// NoStream words the refusal of a server that found nothing wrong, and yet sent
// something else than events: mostly one that speaks another protocol. Trying again
// would not change that.
func NoStream(e *model.Error) {
	e.NoRetry = true
	e.Message = "the answer is not a stream of events (is the base URL right?): " + e.Message
}

// ClassOf says what a status of HTTP means.
func ClassOf(status int) model.Class {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired:
		return model.BadCredential
	case http.StatusPaymentRequired:
		return model.QuotaExceeded
	case http.StatusNotFound:
		return model.UnknownModel
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly:
		return model.ServerError
	case http.StatusRequestEntityTooLarge:
		return model.TooLarge
	case http.StatusTooManyRequests:
		return model.RateLimited
	case http.StatusServiceUnavailable, 529:
		return model.Overloaded
	}
	if status >= 500 || status == http.StatusOK {
		return model.ServerError
	}
	return model.BadRequest
}

func requestID(h http.Header) string {
	if id := h.Get("Request-Id"); id != "" {
		return id
	}
	return h.Get("X-Request-Id")
}

// retryAfter reads how long the server asks to wait: in milliseconds, in
// seconds, or until a date.
func retryAfter(h http.Header) time.Duration {
	const longest = 365 * 24 * time.Hour
	in := func(text string, unit time.Duration) (time.Duration, bool) {
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil || n != n {
			return 0, false
		}
		return time.Duration(min(max(n*float64(unit), 0), float64(longest))), true
	}
	if d, ok := in(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	text := h.Get("Retry-After")
	if d, ok := in(text, time.Second); ok {
		return d
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), longest)
	}
	return 0
}

// plainText makes one line of a text that may be an HTML page.
func plainText(page []byte) string {
	const longest = 500
	if !bytes.Contains(bytes.ToLower(page[:min(len(page), 1024)]), []byte("<html")) {
		return shorten(string(page), longest)
	}
	var text strings.Builder
	for rest := string(page); rest != ""; {
		before, tag, found := strings.Cut(rest, "<")
		text.WriteString(before)
		text.WriteByte(' ')
		if !found {
			break
		}
		tag, rest, _ = strings.Cut(tag, ">")
		name := strings.ToLower(tag)
		for _, hidden := range []string{"style", "script"} {
			if strings.HasPrefix(name, hidden) {
				if end := strings.Index(strings.ToLower(rest), "</"+hidden); end >= 0 {
					rest = rest[end:]
				} else {
					rest = ""
				}
			}
		}
	}
	return shorten(html.UnescapeString(text.String()), longest)
}

// shorten makes one line of s, of at most n bytes and then some.
func shorten(s string, n int) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
