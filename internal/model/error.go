package model

import (
	"fmt"
	"strings"
	"time"
)

// Class says what kind of failure an [Error] is, and so what can be done.
type Class string

const (
	RateLimited   Class = "rate_limit"        // too many requests; passes
	Overloaded    Class = "overloaded"        // the provider is too busy; passes
	QuotaExceeded Class = "quota_exceeded"    // money or quota is used up; does not pass by waiting
	ServerError   Class = "server_error"      // the provider failed; usually passes
	Unreachable   Class = "unreachable"       // no connection
	Cut           Class = "stream_cut"        // the stream broke off before its end
	Silent        Class = "stream_silent"     // nothing came for too long
	BadCredential Class = "authentication"    // no key, a wrong key, or one without the right
	UnknownModel  Class = "model_not_found"   //
	BadRequest    Class = "invalid_request"   // sending it again cannot help
	ContextFull   Class = "context_exceeded"  // the conversation is longer than the window
	TooLarge      Class = "request_too_large" // more bytes than the provider takes
)

// Error is a failed attempt.
type Error struct {
	Provider   string
	Class      Class
	Status     int    // HTTP status; 0 without a response. An error within a stream has 200
	Type       string // the provider's own word, such as overloaded_error
	Message    string // the provider's own words; of an HTML page, its text
	RequestID  string
	RetryAfter time.Duration // what the provider asked for; 0 if nothing
	// NoRetry is the provider's own word that trying again is pointless.
	NoRetry bool
	// Retry is the provider's own word that trying again may help.
	Retry bool
	Err   error // what is below, if anything
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Provider, strings.ReplaceAll(string(e.Class), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	switch {
	case e.Message != "":
		fmt.Fprintf(&b, ": %s", e.Message)
	case e.Err != nil:
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.RetryAfter >= time.Minute { // shorter ones are waited for
		fmt.Fprintf(&b, " (it asks to wait for %v)", e.RetryAfter.Round(time.Second))
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " [request %s]", e.RequestID)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Temporary reports whether the same request may succeed later.
func (e *Error) Temporary() bool {
	if e.NoRetry {
		return false
	}
	if e.Retry {
		return true
	}
	switch e.Class {
	case RateLimited, Overloaded, ServerError, Unreachable, Cut, Silent:
		return true
	}
	return false
}

// Retrying says that an attempt failed and another follows.
type Retrying struct {
	Attempt int // the one that failed, from 1
	Max     int
	Delay   time.Duration
	Err     *Error
	// Discard reports that deltas were delivered since the last attempt began.
	// They are void: the next attempt starts from nothing.
	Discard bool
}
