package fakeapi

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Every failure, over both wires, as a plain HTTP client sees it.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		fail   string
		status int
		header string // name: value
		holds  string // of the body
		broken bool   // the body ends with an error
		took   time.Duration
		chat   string // what the body of Chat Completions holds, if something else
	}{
		{fail: "status: 400, message: bad idea", status: 400, holds: `"message":"bad idea",`},
		{fail: "status: 401", status: 401, holds: `"type":"authentication_error"`, chat: `"code":"invalid_api_key"`},
		{fail: "status: 404", status: 404, holds: `"type":"not_found_error"`, chat: `"code":"model_not_found"`},
		{fail: "status: 413", status: 413, holds: `"type":"request_too_large"`},
		{fail: "status: 429, retry_after: 2500ms", status: 429, header: "Retry-After: 3", holds: `"type":"rate_limit_error"`, chat: `"code":"rate_limit_exceeded"`},
		{fail: "status: 429, code: insufficient_quota", status: 429, holds: `"error_code":"insufficient_quota"`, chat: `"code":"insufficient_quota"`},
		{fail: "status: 500, type: strange_error", status: 500, holds: `"type":"strange_error"`},
		{fail: "status: 529", status: 529, header: "Content-Type: application/json", holds: `"type":"overloaded_error"`},
		{fail: "html: 502", status: 502, header: "Content-Type: text/html; charset=utf-8", holds: "<h1>502 Bad Gateway</h1>"},
		{fail: "cut: between, after: 1", status: 200, holds: "aaaa", broken: true},
		{fail: "cut: within, after: 1", status: 200, holds: "aaaa", broken: true},
		{fail: "cut: clean, after: 1", status: 200, holds: "aaaa"},
		{fail: "error_event: overloaded_error, after: 1, message: too many", status: 200, holds: `"message":"too many",`},
		{fail: "silence: 90s, after: 1", status: 200, holds: "aaaa", broken: true, took: 90 * time.Second},
		{fail: "pings: 5s, after: 1", status: 200, holds: "event: ping", took: 5 * time.Second, chat: ": keep-alive\n\n"},
		{fail: "disorder: true, after: 1", status: 200, holds: `"index":7`},
	} {
		script := "agents:\n  - turns: [{text: aaaabbbb, chunk: 4, fail: {" + c.fail + "}}]\n"
		for path, body := range map[string]string{"/v1/messages": simple, "/v1/chat/completions": chatSimple} {
			t.Run(path+"/"+c.fail, func(t *testing.T) {
				serving(t, script, func(b *bed) {
					holds, end := c.holds, "message_stop"
					if path != "/v1/messages" {
						end = "[DONE]"
						if c.chat != "" {
							holds = c.chat
						}
					}
					a := b.post(path, body)
					if a.status != c.status || (a.err != nil) != c.broken || a.took != c.took {
						b.Errorf("status %d, error %v after %v, want %d, broken %v after %v", a.status, a.err, a.took, c.status, c.broken, c.took)
					}
					if !strings.Contains(a.body, holds) {
						b.Errorf("the body has no %s: %s", holds, a.body)
					}
					if name, value, ok := strings.Cut(c.header, ": "); ok && a.header.Get(name) != value {
						b.Errorf("header %s is %q, want %q", name, a.header.Get(name), value)
					}
					if whole := strings.HasPrefix(c.fail, "pings") || strings.HasPrefix(c.fail, "disorder"); strings.Contains(a.body, end) != whole || strings.Contains(a.body, "bbbb") != whole {
						b.Errorf("the answer is whole: %v, want %v: %s", !whole, whole, a.body)
					}
					if strings.HasPrefix(c.fail, "cut: within") == strings.HasSuffix(a.body, "\n") && c.status == 200 {
						b.Errorf("the body ends with %.40q", a.body[max(0, len(a.body)-40):])
					}
					if a = b.post(path, body); a.status != 200 || !strings.Contains(a.body, end) || !strings.Contains(a.body, "bbbb") {
						b.Errorf("asked again: %+v", a)
					}
					if seen := b.Requests(); seen[0].Status != c.status || seen[0].Error == "" || seen[1].Error != "" || seen[1].Prefix == Changed {
						b.Errorf("records %+v", seen)
					}
				})
			})
		}
	}
}

// Without a stream, what breaks off breaks off before anything comes.
func TestFailuresWithoutAStream(t *testing.T) {
	for fail, status := range map[string]int{"status: 529": 529, "html: 502": 502, "error_event: api_error, after: 1": 500, "cut: within": 0, "silence: 5s": 0, "pings: 5s": 200} {
		script := "agents:\n  - turns: [{text: aaaabbbb, fail: {" + fail + "}}]\n"
		for _, path := range []string{"/v1/messages", "/v1/chat/completions"} {
			serving(t, script, func(b *bed) {
				body := `{"model":"m",%s"messages":[{"role":"user","content":"go"}]}`
				tokens := `"max_tokens":5,`
				if path != "/v1/messages" {
					tokens = ""
				}
				a := b.post(path, fmt.Sprintf(body, tokens))
				if a.status != status || (a.err != nil) != (status == 0) {
					b.Errorf("%s, %s: status %d, %v, want %d", path, fail, a.status, a.err, status)
				}
			})
		}
	}
}

// What a real client stumbles over in the middle of an event must be half of one.
func TestCutWithinIsNotAnEvent(t *testing.T) {
	serving(t, "agents:\n  - turns: [{text: aaaa, fail: {cut: within, after: 1}}]\n", func(b *bed) {
		a := b.post("/v1/messages", simple)
		last := a.body[strings.LastIndex(a.body, "\n\n")+2:]
		if !strings.HasPrefix(last, "event: content_block_delta\ndata: {") || strings.HasSuffix(last, "}") {
			b.Errorf("the stream ends with %q", last)
		}
	})
}
