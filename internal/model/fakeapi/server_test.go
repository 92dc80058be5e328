package fakeapi

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"heddle/internal/model/scripted"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t testing.TB, text string) *scripted.Script {
	t.Helper()
	s, err := scripted.Load("s.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pipes is a listener whose connections are pipes, so that time can be fake.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// bed is a server and a client of it.
type bed struct {
	*testing.T
	*Server
	client *http.Client
}

// serving runs test with a server for a script, in fake time.
func serving(t *testing.T, script string, test func(b *bed)) {
	t.Helper()
	s := load(t, script)
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		f := NewServer(s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- serve(ctx, p, f) }()
		transport := &http.Transport{DialContext: p.dial}
		test(&bed{t, f, &http.Client{Transport: transport}})
		transport.CloseIdleConnections()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// answer is what a client got.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
	took   time.Duration
}

func (b *bed) post(path, body string, header ...string) answer {
	b.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://fake.test"+path, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "secret")
	req.Header.Set("Anthropic-Version", "2026-10-21")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
		if header[i+1] == "" {
			req.Header.Del(header[i])
		}
	}
	begin := time.Now()
	resp, err := b.client.Do(req)
	if err != nil {
		return answer{err: err}
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(text), err, time.Since(begin)}
}

// events are the data of a stream's events.
func (a answer) events(t *testing.T) []map[string]any {
	t.Helper()
	var out []map[string]any
	sc := bufio.NewScanner(strings.NewReader(a.body))
	for sc.Scan() {
		data, ok := strings.CutPrefix(sc.Text(), "data: ")
		if !ok || data == "[DONE]" {
			continue
		}
		var ev map[string]any
		if err := json.Unmarshal([]byte(data), &ev); err != nil {
			if a.err == nil {
				t.Errorf("event %q: %v", data, err)
			}
			continue
		}
		out = append(out, ev)
	}
	return out
}

// kinds lists the types of events, deltas of a kind once.
func kinds(events []map[string]any) string {
	var out []string
	for _, ev := range events {
		kind := fmt.Sprint(ev["type"])
		if d, ok := ev["delta"].(map[string]any); ok && d["type"] != nil {
			kind = fmt.Sprint(d["type"])
		}
		if len(out) == 0 || out[len(out)-1] != kind {
			out = append(out, kind)
		}
	}
	return strings.Join(out, " ")
}

const simple = `{"model":"m","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"go"}]}`

const everything = `
agents:
  - turns:
      - {thinking: Hm., text: Both., calls: [{tool: Bash, input: {command: ls}}, {tool: Read, input_raw: '{"a":'}]}
`

func TestMessagesStream(t *testing.T) {
	serving(t, everything, func(b *bed) {
		a := b.post("/v1/messages", simple)
		if a.status != 200 || a.err != nil || !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
			b.Fatalf("%+v", a)
		}
		events := a.events(b.T)
		want := "message_start content_block_start thinking_delta signature_delta content_block_stop content_block_start text_delta content_block_stop " +
			"content_block_start input_json_delta content_block_stop content_block_start input_json_delta content_block_stop message_delta message_stop"
		if got := kinds(events); got != want {
			b.Errorf("events %s, want %s", got, want)
		}
		for _, part := range []string{`"stop_reason":"tool_use"`, `"partial_json":"{\"a\":"`, `event: message_stop`, `"id":"toolu_1_2"`, `"signature":"sig_`} {
			if !strings.Contains(a.body, part) {
				b.Errorf("the stream has no %s: %s", part, a.body)
			}
		}
	})
}

func TestMessagesWhole(t *testing.T) {
	serving(t, everything, func(b *bed) {
		a := b.post("/v1/messages", strings.Replace(simple, `"stream":true,`, "", 1))
		var m struct {
			Content []map[string]any `json:"content"`
			Stop    string           `json:"stop_reason"`
			Usage   map[string]any   `json:"usage"`
		}
		if err := json.Unmarshal([]byte(a.body), &m); err != nil || a.status != 200 {
			b.Fatalf("%v: %+v", err, a)
		}
		if len(m.Content) != 4 || m.Content[0]["thinking"] != "Hm." || m.Content[2]["name"] != "Bash" || m.Stop != "tool_use" || m.Usage["output_tokens"] == 0 {
			b.Errorf("%s", a.body)
		}
	})
}

const chatSimple = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"system","content":"s"},{"role":"user","content":"go"}]}`

func TestChatStream(t *testing.T) {
	serving(t, everything, func(b *bed) {
		a := b.post("/v1/chat/completions", chatSimple)
		for _, part := range []string{
			`"reasoning_content":"Hm."`, `"content":"Both."`, `"finish_reason":"tool_calls"`, `"id":"toolu_1_1","index":0`, `"id":"toolu_1_2","index":1`,
			`"arguments":"{\"command\":\"ls\"}"`, `"choices":[],`, `"total_tokens":`, "data: [DONE]\n\n",
		} {
			if !strings.Contains(a.body, part) {
				b.Errorf("the stream has no %s: %s", part, a.body)
			}
		}
	})
	serving(t, everything, func(b *bed) {
		a := b.post("/v1/chat/completions", strings.Replace(chatSimple, `"stream":true,"stream_options":{"include_usage":true},`, "", 1))
		for _, part := range []string{`"object":"chat.completion"`, `"content":"Both."`, `"tool_calls":[{`, `"finish_reason":"tool_calls"`, `"usage":{`} {
			if !strings.Contains(a.body, part) {
				b.Errorf("the answer has no %s: %s", part, a.body)
			}
		}
	})
}

func TestQuirks(t *testing.T) {
	quirks := "quirks: {zero_index: true, no_ids: true, whole_calls: true, stop_on_call: true, reasoning: true, no_done: true, no_usage: true}"
	serving(t, quirks+everything, func(b *bed) {
		a := b.post("/v1/chat/completions", chatSimple, "X-Api-Key", "") // such servers ask for no key
		for _, part := range []string{`"reasoning":"Hm."`, `"finish_reason":"stop"`, `{"arguments":"{\"command\":\"ls\"}","name":"Bash"},"index":0`, `"name":"Read"},"index":0`} {
			if !strings.Contains(a.body, part) {
				b.Errorf("the stream has no %s: %s", part, a.body)
			}
		}
		for _, part := range []string{"toolu_", "[DONE]", "total_tokens", `"index":1`, "reasoning_content"} {
			if strings.Contains(a.body, part) {
				b.Errorf("the stream has %s: %s", part, a.body)
			}
		}
	})
}

func TestOtherPaths(t *testing.T) {
	serving(t, "window: 100\n"+everything, func(b *bed) {
		if a := b.post("/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"go"}]}`); a.status != 200 || !strings.Contains(a.body, `{"input_tokens":`) {
			b.Errorf("count: %+v", a)
		}
		if a := b.post("/v1/messages/count_tokens", `{"model":"m","messages":[]}`); a.status != 400 {
			b.Errorf("count of nothing: %+v", a)
		}
		if a := b.post("/v1/nothing", "{}"); a.status != 404 || !strings.Contains(a.body, "not_found_error") {
			b.Errorf("no such path: %+v", a)
		}
		for path, want := range map[string]string{"/v1/models": `"max_input_tokens":100`, "/v1/models/m-1": `"id":"m-1"`, "/report": `"requests":1`} {
			resp, err := b.client.Get("http://fake.test" + path)
			if err != nil {
				b.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != 200 || !strings.Contains(string(text), want) {
				b.Errorf("%s: %d %s", path, resp.StatusCode, text)
			}
		}
		for path, body := range map[string]string{"/v1/messages": simple, "/v1/chat/completions": chatSimple} {
			if a := b.post(path, body, "X-Api-Key", ""); a.status != 401 || !strings.Contains(a.body, "authentication_error") {
				b.Errorf("%s without a key: %+v", path, a)
			}
			if a := b.post(path, body, "X-Api-Key", "", "Authorization", "Bearer k"); a.status != 200 {
				b.Errorf("%s with a bearer token: %+v", path, a)
			}
			long := strings.Replace(body, `"go"`, `"`+strings.Repeat("x", 500)+`"`, 1)
			if a := b.post(path, long); a.status != 400 || !strings.Contains(a.body, "prompt is too long: 1") || !strings.Contains(a.body, "context_length_exceeded") {
				b.Errorf("%s beyond the window: %+v", path, a)
			}
		}
	})
}

func TestAgentComesFromTheHeader(t *testing.T) {
	script := `
agents:
  - {name: finder, turns: [{text: by name}]}
  - {main: true, turns: [{text: main, repeat: forever}]}
`
	serving(t, script, func(b *bed) {
		for header, want := range map[string]string{`{"id":"a1","type":"Explore","name":"finder"}`: "by name", "": "main", "nonsense": "main"} {
			if a := b.post("/v1/messages", simple, "X-Heddle-Agent", header); !strings.Contains(a.body, want) {
				b.Errorf("%s: %s, want %s", header, a.body, want)
			}
		}
	})
}

// A script that does not fit is an error that says so, over either wire.
func TestScriptThatDoesNotFit(t *testing.T) {
	serving(t, "agents:\n  - turns: [{expect: stop, text: x}]\n", func(b *bed) {
		for path, body := range map[string]string{"/v1/messages": simple, "/v1/chat/completions": chatSimple} {
			a := b.post(path, body)
			if a.status != 400 || !strings.Contains(a.body, `script s.yaml: turn 1 of agent main: expected something that matches`) {
				b.Errorf("%s: %+v", path, a)
			}
		}
	})
}

func TestRecord(t *testing.T) {
	var log bytes.Buffer
	f := NewServer(load(t, "agents:\n  - turns: [{text: a, repeat: forever}]\n"), &log)
	body := `{ "model":"m<&>","max_tokens":10,"stream":true, "messages":[{"role":"user","content":"go"}]}`
	for _, text := range []string{body, "\xff"} {
		req, err := http.NewRequest(http.MethodPost, "http://x/v1/messages", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"X-Api-Key": "secret1", "Authorization": "Bearer secret2", "Cookie": "secret3", "Anthropic-Version": "2023-06-01"} {
			req.Header.Set(name, value)
		}
		f.ServeHTTP(&recorder{header: http.Header{}}, req)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || strings.Contains(log.String(), "secret") {
		t.Fatalf("record:\n%s", log.String())
	}
	var good, bad Record
	if err := errors.Join(json.Unmarshal([]byte(lines[0]), &good), json.Unmarshal([]byte(lines[1]), &bad)); err != nil {
		t.Fatal(err)
	}
	if good.Body != body || good.Status != 200 || good.Header["Anthropic-Version"] != "2023-06-01" || good.Prefix != First || good.Time.IsZero() {
		t.Errorf("record %+v", good)
	}
	if bad.BodyBase64 != "/w==" || bad.Status != 400 || bad.Error == "" {
		t.Errorf("record of what is no text: %+v", bad)
	}
	if kept := f.Requests(); len(kept) != 2 || kept[0].Body != "" {
		t.Errorf("in memory %+v, want no bodies beside a log", kept)
	}
}

type recorder struct {
	header http.Header
	bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}

func TestRunServesForAWhileAndReports(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "s.yaml")
	if err := os.WriteFile(script, []byte("agents:\n  - turns: [{text: a}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, w := io.Pipe()
	o := Options{Script: script, Addr: "127.0.0.1:0", Record: filepath.Join(dir, "r.jsonl"), For: time.Hour, Log: w}
	done := make(chan error)
	go func() { err := Run(ctx, o); w.Close(); done <- err }()
	sc := bufio.NewScanner(r)
	var base string
	for sc.Scan() && base == "" {
		base, _ = strings.CutPrefix(sc.Text(), "export ANTHROPIC_BASE_URL=")
	}
	req, _ := http.NewRequest(http.MethodPost, base+"/v1/messages", strings.NewReader(simple))
	req.Header.Set("X-Api-Key", "k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %v", resp, err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	cancel()
	report := ""
	for sc.Scan() {
		report += sc.Text() + "\n"
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	var sum Report
	if err := json.Unmarshal([]byte(report), &sum); err != nil || sum.Requests != 1 || sum.Prefixes[First] != 1 || len(sum.Log) != 1 {
		t.Errorf("report %s, %v", report, err)
	}
	if line, err := os.ReadFile(o.Record); err != nil || !strings.Contains(string(line), `"path":"/v1/messages"`) {
		t.Errorf("record %s, %v", line, err)
	}

	o.Log, o.For, o.Record = io.Discard, time.Millisecond, ""
	if err := Run(t.Context(), o); err != nil {
		t.Errorf("a server whose time is over: %v", err)
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "192.0.2.1:80", "example.com:0", "127.0.0.1", ""} {
		o.Addr = addr
		if err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "127.0.0.1:0") {
			t.Errorf("address %q: %v", addr, err)
		}
	}
	o.Script = filepath.Join(dir, "none.yaml")
	if err := Run(t.Context(), o); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no script: %v", err)
	}
}
