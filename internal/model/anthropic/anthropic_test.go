package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/modeltest"
)

// ask plays events to a provider.
func ask(t *testing.T, events ...string) modeltest.Outcome {
	t.Helper()
	server := &modeltest.Server{Answer: func(int, modeltest.Request) modeltest.Reply { return modeltest.Send(events...) }}
	p := New(Options{BaseURL: "http://model.test", HTTPClient: server.Client()})
	return modeltest.Collect(t, t.Context(), p, modeltest.NewRequest(p))
}

// sent returns what a provider sends for r.
func sent(t *testing.T, o Options, r *model.Request) modeltest.Request {
	t.Helper()
	server := &modeltest.Server{Answer: func(int, modeltest.Request) modeltest.Reply {
		return modeltest.Send(wire{}.Stream(modeltest.Answer{ID: "r", Text: "ok", Stop: message.EndTurn})...)
	}}
	o.HTTPClient = server.Client()
	p := New(o)
	if r == nil {
		r = modeltest.NewRequest(p)
	}
	if out := modeltest.Collect(t, t.Context(), p, r); out.Err != nil {
		t.Fatal(out.Err)
	}
	return server.Requests()[0]
}

func TestRequestBytes(t *testing.T) {
	p := New(Options{})
	r := &model.Request{
		Model: model.Info{ID: "claude-x", Thinking: "adaptive"},
		Prefix: p.EncodePrefix(model.Prompt{
			System: []string{"You weave.", "", "Today is \"now\"."},
			Tools:  []model.Tool{{Name: "Bash", Description: "Runs.", Schema: []byte(`{"type":"object"}`)}, {Name: "Read", Description: "Reads.", Schema: []byte(`{}`)}},
		}),
		Messages: [][]byte{
			p.EncodeMessage(message.FromUser("brief")),
			p.EncodeMessage(message.Message{Role: message.Assistant, Content: []message.Block{
				message.Thinking{Text: "t", Signature: "s"}, message.ToolUse{ID: "u1", Name: "Bash", Input: json.RawMessage(`{"a":1.50}`)},
			}}),
			p.EncodeMessage(message.Message{Role: message.User, Content: []message.Block{
				message.ToolResult{ToolUseID: "u1", Content: []message.Block{message.Text{Text: "out"}}, IsError: true},
			}}),
			p.EncodeMessage(message.FromUser("go on")),
		},
		Marks: []int{0, 2}, MaxTokens: 1000, Effort: "high",
	}
	const short = `"cache_control":{"type":"ephemeral"}`
	want := `{"model":"claude-x",` +
		`"system":[{"type":"text","text":"You weave."},{"type":"text","text":"Today is \"now\".","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
		`"tools":[{"name":"Bash","description":"Runs.","input_schema":{"type":"object"}},{"name":"Read","description":"Reads.","input_schema":{}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"brief",` + short + `}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"tool_use","id":"u1","name":"Bash","input":{"a":1.50}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"u1","content":[{"type":"text","text":"out"}],"is_error":true,` + short + `}]},` +
		`{"role":"user","content":[{"type":"text","text":"go on"}]}],` +
		`"max_tokens":1000,"stream":true,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"high"},` + short + `}`
	got := sent(t, Options{}, r).Body
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("body (-want +got):\n%s", d)
	}
	if !json.Valid([]byte(got)) {
		t.Error("the body is not JSON")
	}
	if n := strings.Count(got, "cache_control"); n != 4 {
		t.Errorf("%d breakpoints, the API takes 4", n)
	}
}

func TestPrefixes(t *testing.T) {
	p := New(Options{})
	tool := model.Tool{Name: "A", Schema: []byte(`{}`)}
	for _, c := range []struct {
		prompt model.Prompt
		want   string
	}{
		{model.Prompt{}, ``},
		{model.Prompt{System: []string{""}}, ``},
		{model.Prompt{System: []string{"s"}}, `"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],`},
		{model.Prompt{Tools: []model.Tool{tool}}, `"tools":[{"name":"A","description":"","input_schema":{},"cache_control":{"type":"ephemeral","ttl":"1h"}}],`},
	} {
		if got := string(p.EncodePrefix(c.prompt)); got != c.want {
			t.Errorf("EncodePrefix(%v) = %s, want %s", c.prompt, got, c.want)
		}
		r := &model.Request{Prefix: []byte(c.want), Messages: [][]byte{[]byte(`{}`)}}
		if body := sent(t, Options{}, r).Body; !json.Valid([]byte(body)) {
			t.Errorf("the body is not JSON: %s", body)
		}
	}
}

// A mark that no block can bear, or that there is no place for, is left out.
func TestMarksThatCannotBe(t *testing.T) {
	p := New(Options{})
	r := modeltest.NewRequest(p)
	r.Messages = [][]byte{
		p.EncodeMessage(message.FromUser("")),
		p.EncodeMessage(message.Message{Role: message.Assistant, Content: []message.Block{message.Text{Text: "a"}}}),
		p.EncodeMessage(message.Message{Role: message.User}),
		p.EncodeMessage(message.FromUser("last")),
	}
	for _, marks := range [][]int{{0}, {1}, {2}, {3}, {-1}, {4}, {0, 1, 2, 3}} {
		r.Marks = marks
		body := sent(t, Options{}, r).Body
		if n := strings.Count(body, "cache_control"); n != 2 || !json.Valid([]byte(body)) {
			t.Errorf("marks %v: %d breakpoints, want those of the prefix and the tail: %s", marks, n, body)
		}
	}
}

func TestHeaders(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want map[string]string
	}{
		{Options{APIKey: " key\n"}, map[string]string{"X-Api-Key": "key", "Authorization": "", "Anthropic-Version": "2026-10-21"}},
		{Options{AuthToken: "tok"}, map[string]string{"X-Api-Key": "", "Authorization": "Bearer tok"}},
		{Options{BaseURL: "http://localhost:8080"}, map[string]string{"Anthropic-Version": "2023-06-01", "X-Api-Key": ""}},
		{Options{BaseURL: "https://api.anthropic.com/v1/"}, map[string]string{"Anthropic-Version": "2026-10-21"}},
		{Options{BaseURL: "https://api.anthropic.com.evil.test"}, map[string]string{"Anthropic-Version": "2023-06-01"}},
		{Options{Version: "2024-01-01", Betas: []string{"a", "b"}}, map[string]string{"Anthropic-Version": "2024-01-01", "Anthropic-Beta": "a,b"}},
	} {
		got := sent(t, c.o, nil)
		for name, want := range c.want {
			if v := got.Header.Get(name); v != want {
				t.Errorf("%+v: header %s is %q, want %q", c.o, name, v, want)
			}
		}
	}
	for base, want := range map[string]string{
		"":                             "https://api.anthropic.com/v1/messages",
		"http://localhost:1234/":       "http://localhost:1234/v1/messages",
		"http://localhost:1234/v1":     "http://localhost:1234/v1/messages",
		"https://gate.test/anthropic/": "https://gate.test/anthropic/v1/messages",
	} {
		if got := sent(t, Options{BaseURL: base}, nil).URL; got != want {
			t.Errorf("base URL %q asks %s, want %s", base, got, want)
		}
	}
}

// A key that cannot be sent is one error, which does not show it.
func TestKeyThatCannotBeSent(t *testing.T) {
	p := New(Options{APIKey: "secret\nkey"})
	o := modeltest.Collect(t, t.Context(), p, modeltest.NewRequest(p))
	var e *model.Error
	if !errors.As(o.Err, &e) || e.Temporary() || strings.Contains(e.Error(), "secret") || !strings.Contains(e.Error(), "X-Api-Key") {
		t.Errorf("error %v", o.Err)
	}
}

func TestUsage(t *testing.T) {
	o := ask(t,
		named("message_start", `,"message":{"id":"m","model":"x","usage":{"input_tokens":10,"cache_read_input_tokens":100,"cache_creation_input_tokens":50,"cache_creation":{"ephemeral_5m_input_tokens":20,"ephemeral_1h_input_tokens":30},"output_tokens":1}}`),
		named("message_delta", `,"delta":{},"usage":{"output_tokens":5}`),
		named("message_delta", `,"delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":12,"output_tokens":9}`),
		named("message_stop", ""))
	want := message.Usage{Input: 12, CacheRead: 100, CacheWrite: 20, CacheWrite1h: 30, Output: 9}
	if o.Err != nil || o.Responses[0].Usage != want {
		t.Errorf("usage %+v, error %v, want %+v", o.Responses, o.Err, want)
	}
	if s := o.Events[0].(model.Started); s.Usage.Prompt() != 160 || s.Usage.Output != 1 {
		t.Errorf("started with %+v", s)
	}
}

func TestUnknownBlocksAreKeptAsTheyAre(t *testing.T) {
	o := ask(t,
		named("message_start", `,"message":{"id":"m"}`),
		named("content_block_start", `,"index":0,"content_block":{"type":"server_tool_use","id":"s1","input":{},"name":"web_search","n":1.50}`),
		named("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"{\"q\": "}`),
		named("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"\"x\"}"}`),
		named("content_block_stop", `,"index":0`),
		named("content_block_start", `,"index":1,"content_block":{"type":"web_search_tool_result","content":[{"a": 1}]}`),
		named("content_block_delta", `,"index":1,"delta":{"type":"glow_delta","glow":"x"}`),
		named("content_block_stop", `,"index":1`),
		named("content_block_start", `,"index":2,"content_block":{"type":"redacted_thinking","data":"zzz"}`),
		named("content_block_stop", `,"index":2`),
		named("message_delta", `,"delta":{"stop_reason":"pause_turn"}`),
		named("message_stop", ""))
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	want := `{"role":"assistant","content":[{"type":"server_tool_use","id":"s1","input":{"q":"x"},"name":"web_search","n":1.50},` +
		`{"type":"web_search_tool_result","content":[{"a":1}]},{"type":"redacted_thinking","data":"zzz"}]}`
	if got := string(o.Responses[0].Message.AppendJSON(nil)); got != want || o.Responses[0].Stop != message.PauseTurn {
		t.Errorf("message:\n got %s\nwant %s", got, want)
	}
}

// Interleaved blocks, a call whose input comes with its beginning, and text
// that could not be sent back.
func TestBlocksThatGrowTogether(t *testing.T) {
	o := ask(t,
		named("message_start", `,"message":{"id":"m"}`),
		named("content_block_start", `,"index":0,"content_block":{"type":"thinking","thinking":"","signature":""}`),
		named("content_block_start", `,"index":1,"content_block":{"type":"text","text":"a"}`),
		named("content_block_delta", `,"index":0,"delta":{"type":"signature_delta","signature":"sig"}`),
		named("content_block_delta", `,"index":1,"delta":{"type":"text_delta","text":"b"}`),
		named("content_block_stop", `,"index":0`),
		named("content_block_start", `,"index":2,"content_block":{"type":"tool_use","id":"u","name":"N","input":{"k": [1, 2]}}`),
		named("content_block_stop", `,"index":1`),
		named("content_block_stop", `,"index":2`),
		named("content_block_start", `,"index":3,"content_block":{"type":"text","text":""}`),
		named("content_block_delta", `,"index":3,"delta":{"type":"text_delta","text":"\n\n"}`),
		named("content_block_stop", `,"index":3`),
		named("message_delta", `,"delta":{"stop_reason":"tool_use"}`),
		named("message_stop", ""))
	want := message.Message{Role: message.Assistant, Content: []message.Block{
		message.Thinking{Signature: "sig"}, message.Text{Text: "ab"},
		message.ToolUse{ID: "u", Name: "N", Input: json.RawMessage(`{"k":[1,2]}`)},
	}}
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	if d := cmp.Diff(want, o.Responses[0].Message); d != "" {
		t.Errorf("message (-want +got):\n%s", d)
	}
}

func TestRefusal(t *testing.T) {
	o := ask(t,
		named("message_start", `,"message":{"id":"m"}`),
		named("message_delta", `,"delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"no"}}`),
		named("message_stop", ""))
	if o.Err != nil || o.Responses[0].Stop != message.Refusal || *o.Responses[0].Refusal != (model.RefusalDetails{Category: "cyber", Explanation: "no"}) {
		t.Errorf("outcome %+v", o)
	}
}

// Thinking without its signature was cut and cannot be sent back.
func TestCutThoughtIsLeftOut(t *testing.T) {
	o := ask(t,
		named("message_start", `,"message":{"id":"m"}`),
		named("content_block_start", `,"index":0,"content_block":{"type":"thinking","thinking":""}`),
		named("content_block_delta", `,"index":0,"delta":{"type":"thinking_delta","thinking":"hm"}`),
		named("message_delta", `,"delta":{"stop_reason":"max_tokens"}`),
		named("message_stop", ""))
	if o.Err != nil || len(o.Responses[0].Message.Content) != 0 || o.Responses[0].Partial != nil {
		t.Errorf("outcome %+v", o)
	}
}

func TestStreamsThatBreakTheProtocol(t *testing.T) {
	start := named("message_start", `,"message":{"id":"m"}`)
	block := named("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
	end := named("message_delta", `,"delta":{"stop_reason":"end_turn"}`) + named("message_stop", "")
	for name, events := range map[string]string{
		"no stop reason":          start + named("message_stop", ""),
		"block without an end":    start + block + end,
		"block begins twice":      start + block + block + end,
		"delta without a block":   start + named("content_block_delta", `,"index":1,"delta":{"type":"text_delta","text":"x"}`) + end,
		"delta after the end":     start + block + named("content_block_stop", `,"index":0`) + named("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"x"}`) + end,
		"end without a block":     start + named("content_block_stop", `,"index":0`) + end,
		"block that is not one":   start + named("content_block_start", `,"index":0,"content_block":7`) + end,
		"not JSON":                start + "data: {\"type\":\n\n" + end,
		"JSON of another kind":    start + "data: [1]\n\n" + end,
		"end with nothing before": named("message_stop", ""),
		"OpenAI's end mark":       start + "data: [DONE]\n\n",
	} {
		o := ask(t, events)
		var e *model.Error
		if !errors.As(o.Err, &e) || e.Class != model.Cut || len(o.Responses) > 0 {
			t.Errorf("%s: %d responses, error %v", name, len(o.Responses), o.Err)
		}
	}
}

func TestErrorBodies(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		class  model.Class
	}{
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Prompt is too long: 1 > 0"}}`, model.ContextFull},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 1 + 2 > 2"}}`, model.ContextFull},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}`, model.QuotaExceeded},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"You have reached your specified API spend limit"}}`, model.QuotaExceeded},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"contract_spend_limit_reached"}}}`, model.QuotaExceeded},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"organization_on_hold"}}}`, model.QuotaExceeded},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"ramp_limit_exceeded"}}}`, model.RateLimited},
		{402, `{"type":"error","error":{"type":"billing_error","message":"m"}}`, model.QuotaExceeded},
		{403, `{"type":"error","error":{"type":"permission_error","message":"m"}}`, model.BadCredential},
		{500, `{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, model.Overloaded},
		{503, `upstream connect error`, model.Overloaded},
		{504, `{"type":"error","error":{"type":"timeout_error","message":"m"}}`, model.ServerError},
		{200, `{"type":"error","error":{"type":"overloaded_error","message":"m"}}`, model.Overloaded},
		{200, `{"id":"msg","type":"message"}`, model.ServerError},
		{418, ``, model.BadRequest},
	} {
		server := &modeltest.Server{Answer: func(int, modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Status: c.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []modeltest.Piece{{Data: c.body}}}
		}}
		p := New(Options{HTTPClient: server.Client()})
		o := modeltest.Collect(t, t.Context(), p, modeltest.NewRequest(p))
		var e *model.Error
		if !errors.As(o.Err, &e) || e.Class != c.class || e.Message == "" {
			t.Errorf("%d %s: error %v, want class %s", c.status, c.body, o.Err, c.class)
		}
	}
}

// A real server on a real connection, which a cancelled request ends, so that the
// server stops writing.
func TestServerSeesThatNobodyListens(t *testing.T) {
	events := wire{}.Stream(modeltest.Answer{ID: "r", Text: "weave", Stop: message.EndTurn})
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, strings.Join(events[:3], ""))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()

	p := New(Options{BaseURL: server.URL, HTTPClient: server.Client()})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for ev, err := range p.Stream(ctx, modeltest.NewRequest(p)) {
		if _, ok := ev.(model.TextDelta); ok {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("error %v, want %v", last, context.Canceled)
	}
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("the server does not know that nobody listens any more")
	}
}

// The end of the body may come a little later than the end of the answer. The
// connection is used again all the same, but nobody waits long for it.
func TestConnectionIsUsedAgain(t *testing.T) {
	for late, want := range map[time.Duration]int{0: 1, 10 * time.Millisecond: 1, time.Minute: 3} {
		synctest.Test(t, func(t *testing.T) {
			events := wire{}.Stream(modeltest.Answer{ID: "r", Text: "weave", Stop: message.EndTurn})
			dials := make(pipes)
			server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, strings.Join(events, ""))
				w.(http.Flusher).Flush()
				select {
				case <-time.After(late):
				case <-r.Context().Done():
				}
			})}
			served := make(chan error)
			go func() { served <- server.Serve(dials) }()
			connections := 0
			transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				connections++
				here, there := net.Pipe()
				dials <- there
				return here, nil
			}}
			p := New(Options{BaseURL: "http://model.test", HTTPClient: &http.Client{Transport: transport}})
			begin := time.Now()
			for range 3 {
				o := modeltest.Collect(t, t.Context(), p, modeltest.NewRequest(p))
				if o.Err != nil || o.Responses[0].Message.Text() != "weave" {
					t.Fatalf("outcome %+v", o)
				}
			}
			if took := time.Since(begin); took > 150*time.Millisecond {
				t.Errorf("end of the body after %v: three requests took %v", late, took)
			}
			transport.CloseIdleConnections()
			server.Close()
			<-served
			if connections != want {
				t.Errorf("end of the body after %v: three requests used %d connections, want %d", late, connections, want)
			}
		})
	}
}

// pipes is a listener whose connections are dialled by sending them.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	c, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func FuzzStream(f *testing.F) {
	f.Add(strings.Join(wire{}.Stream(modeltest.Answer{ID: "r", Thinking: "t", Text: "x", Calls: []modeltest.Call{{ID: "c", Name: "N", Input: `{"a":1}`}}, Stop: message.StopToolUse}), ""))
	f.Add(named("message_start", `,"message":{"id":"m"}`) + wire{}.ErrorEvent(model.Overloaded))
	f.Add(named("message_start", ``) + named("content_block_start", `,"index":0,"content_block":{"type":"server_tool_use","input":{}}`) +
		named("content_block_delta", `,"index":0,"delta":{"type":"input_json_delta","partial_json":"{"}`))
	f.Fuzz(func(t *testing.T, stream string) {
		o := ask(t, stream)
		for _, r := range o.Responses {
			if r.Stop == "" || !strings.Contains(stream, "message_stop") {
				t.Errorf("a response from %q", stream)
			}
			if wire := r.Message.AppendJSON(nil); !json.Valid(wire) {
				t.Errorf("the message is sent as %q", wire)
			}
		}
	})
}

// The short way to read a delta says what encoding/json says, or nothing.
func FuzzPlainDelta(f *testing.F) {
	for _, s := range []string{
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a\n\ud800"}}`,
		`{"type":"content_block_delta","index":12,"delta":{"type":"input_json_delta","partial_json":"{\""}  }  `,
		`{"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"a"},"x":"}}"}}`,
		`{"type":"content_block_delta","index":01,"delta":{"type":"text_delta","text":"a","text":"b"}}`,
		"{\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xff\"}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		index, kind, text, ok := plainDelta(data)
		if !ok {
			return
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			t.Fatalf("%q was taken, but %v", data, err)
		}
		if e.Type != "content_block_delta" || e.Index != index || e.Delta.Type != kind || e.Delta.of(kind) != text {
			t.Errorf("%q: %d, %s, %q, want %+v", data, index, kind, text, e)
		}
	})
}
