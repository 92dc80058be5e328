package scripted

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"heddle/internal/message"
	"heddle/internal/model"
)

// Every failure, as the provider inside the program reports it.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		fail   string
		class  model.Class
		status int
		kind   string
		pieces int // that came before it
		took   time.Duration
	}{
		{"status: 400, message: bad", model.BadRequest, 400, "invalid_request_error", 0, 0},
		{"status: 400, message: 'prompt is too long: 5 > 4'", model.ContextFull, 400, "invalid_request_error", 0, 0},
		{"status: 401", model.BadCredential, 401, "authentication_error", 0, 0},
		{"status: 402", model.QuotaExceeded, 402, "billing_error", 0, 0},
		{"status: 403", model.BadCredential, 403, "permission_error", 0, 0},
		{"status: 404", model.UnknownModel, 404, "not_found_error", 0, 0},
		{"status: 408", model.ServerError, 408, "timeout_error", 0, 0},
		{"status: 409", model.ServerError, 409, "conflict_error", 0, 0},
		{"status: 413", model.TooLarge, 413, "request_too_large", 0, 0},
		{"status: 429, retry_after: 3s", model.RateLimited, 429, "rate_limit_error", 0, 0},
		{"status: 429, code: enforced_spend_limit_reached", model.QuotaExceeded, 429, "rate_limit_error", 0, 0},
		{"status: 429, code: insufficient_quota", model.QuotaExceeded, 429, "rate_limit_error", 0, 0},
		{"status: 500", model.ServerError, 500, "api_error", 0, 0},
		{"status: 503", model.Overloaded, 503, "api_error", 0, 0},
		{"status: 504", model.ServerError, 504, "timeout_error", 0, 0},
		{"status: 529", model.Overloaded, 529, "overloaded_error", 0, 0},
		{"html: 502", model.ServerError, 502, "", 0, 0},
		{"cut: between", model.Cut, 200, "", 0, 0},
		{"cut: within, after: 2", model.Cut, 200, "", 2, 0},
		{"cut: clean, after: 99", model.Cut, 200, "", 4, 0},
		{"disorder: true, after: 1", model.Cut, 200, "", 1, 0},
		{"error_event: overloaded_error, after: 3", model.Overloaded, 200, "overloaded_error", 3, 0},
		{"error_event: rate_limit_error, message: slow", model.RateLimited, 200, "rate_limit_error", 0, 0},
		{"error_event: api_error", model.ServerError, 200, "api_error", 0, 0},
		{"silence: 90s, after: 1", model.Silent, 200, "", 1, 90 * time.Second},
		{"pings: 10s, after: 1", "", 0, "", 4, 10 * time.Second},
	} {
		t.Run(c.fail, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := New(load(t, turns(fmt.Sprintf("{fail: {%s}, text: abcdef, chunk: 2, calls: [{tool: A}]}", c.fail))))
				begin := time.Now()
				pieces, err := play(t, p)
				if took := time.Since(begin); pieces != c.pieces || took != c.took {
					t.Errorf("%d pieces in %v, want %d in %v", pieces, took, c.pieces, c.took)
				}
				var e *model.Error
				switch {
				case c.class == "":
					if err != nil {
						t.Errorf("error %v", err)
					}
				case !errors.As(err, &e):
					t.Errorf("error %v, want a *model.Error", err)
				case e.Class != c.class || e.Status != c.status || e.Type != c.kind || e.Provider != "scripted" || e.Message == "":
					t.Errorf("error %+v, want %s, %d, %s", e, c.class, c.status, c.kind)
				case c.status == 429 && c.class == model.RateLimited && e.RetryAfter != 3*time.Second:
					t.Errorf("retry after %v, want 3s", e.RetryAfter)
				}
				// It failed once, and the same turn is played now.
				if pieces, err := play(t, p); err != nil || pieces != 4 {
					t.Errorf("after the failure: %d pieces, %v", pieces, err)
				}
			})
		})
	}
}

// play makes a request, and counts the pieces of the answer.
func play(t *testing.T, p *Provider) (pieces int, err error) {
	t.Helper()
	r := &model.Request{Prefix: p.EncodePrefix(model.Prompt{}), Messages: [][]byte{p.EncodeMessage(message.FromUser("go"))}}
	ended := false
	for ev, e := range p.Stream(t.Context(), r) {
		if ended {
			t.Error("the stream goes on after its last element")
		}
		switch ev.(type) {
		case model.TextDelta, model.InputDelta:
			pieces++
		case model.Response:
			ended = true
		}
		if e != nil {
			err, ended = e, true
		}
	}
	if !ended {
		t.Error("the stream has no last element")
	}
	return pieces, err
}

func TestFailureCountsTimes(t *testing.T) {
	p := New(load(t, turns("{fail: {status: 529, times: 3}, text: at last}")))
	for i := range 4 {
		if _, err := play(t, p); (err == nil) != (i == 3) {
			t.Errorf("attempt %d: %v", i+1, err)
		}
	}
	p = New(load(t, turns("{fail: {status: 529, times: forever}}")))
	for range 10 {
		if _, err := play(t, p); err == nil {
			t.Fatal("a failure for ever ended")
		}
	}
}

// A client drives the same failures as any others: it tries again until the answer comes.
func TestClientRetriesScriptedFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := model.NewClient(New(load(t, turns("{fail: {cut: within, after: 1}, text: abcdef, chunk: 2}"))), nil, model.Policy{})
		r := &model.Request{Prefix: c.EncodePrefix(model.Prompt{}), Messages: [][]byte{c.EncodeMessage(message.FromUser("go"))}}
		retries, text := 0, ""
		for ev, err := range c.Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case model.Retrying:
				retries++
			case model.Response:
				text = ev.Message.Text()
			}
		}
		if text != "abcdef" || retries == 0 {
			t.Errorf("%q after %d retries", text, retries)
		}
	})
}
