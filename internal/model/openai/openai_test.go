package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/message"
	"heddle/internal/model"
	"heddle/internal/model/modeltest"
)

// askWith plays events to a provider with a profile; nil is that of the base URL.
func askWith(t *testing.T, profile *Profile, events ...string) modeltest.Outcome {
	t.Helper()
	server := &modeltest.Server{Answer: func(int, modeltest.Request) modeltest.Reply { return modeltest.Send(events...) }}
	p := New(Options{BaseURL: "http://model.test", HTTPClient: server.Client(), Profile: profile})
	return modeltest.Collect(t, t.Context(), p, modeltest.NewRequest(p))
}

func ask(t *testing.T, events ...string) modeltest.Outcome { return askWith(t, nil, events...) }

// deltas are events with these deltas, then a finish reason and the end mark.
func deltas(finish string, ds ...string) string {
	var out string
	for _, d := range ds {
		out += piece("r", d, "null")
	}
	return out + piece("r", "", quote(finish)) + "data: [DONE]\n\n"
}

func sent(t *testing.T, o Options, r *model.Request) modeltest.Request {
	t.Helper()
	server := &modeltest.Server{Answer: func(int, modeltest.Request) modeltest.Reply {
		return modeltest.Send(deltas("stop", `"content":"ok"`))
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

// How servers really send calls. Each row gives the same two calls, unless it
// says otherwise.
func TestCallsAsServersSendThem(t *testing.T) {
	two := []string{`Bash {"a":1}`, `Read {"b":2}`}
	for _, c := range []struct {
		name   string
		stream string
		want   []string
	}{
		{"in the middle of each other", deltas("tool_calls",
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":""}}]`,
			`"tool_calls":[{"index":1,"id":"y","function":{"name":"Read","arguments":""}}]`,
			`"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]`,
			`"tool_calls":[{"index":1,"function":{"arguments":"{\"b\":2}"}},{"index":0,"function":{"arguments":":1}"}}]`), two},
		{"whole, all with index 0", deltas("stop",
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":"{\"a\":1}"}}]`,
			`"tool_calls":[{"index":0,"id":"y","function":{"name":"Read","arguments":"{\"b\":2}"}}]`), two},
		{"whole, index 0, no id", deltas("stop",
			`"tool_calls":[{"index":0,"function":{"name":"Bash","arguments":"{\"a\":1}"}}]`,
			`"tool_calls":[{"index":0,"function":{"name":"Read","arguments":"{\"b\":2}"}}]`), two},
		{"in pieces, all with index 0", deltas("tool_calls",
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":"{\"a\""}}]`,
			`"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]`,
			`"tool_calls":[{"index":0,"id":"y","function":{"name":"Read","arguments":"{\"b\""}}]`,
			`"tool_calls":[{"index":0,"function":{"arguments":":2}"}}]`), two},
		{"no index", deltas("tool_calls",
			`"tool_calls":[{"id":"x","function":{"name":"Bash","arguments":"{\"a\""}}]`,
			`"tool_calls":[{"function":{"arguments":":1}"}}]`,
			`"tool_calls":[{"id":"y","function":{"name":"Read","arguments":"{\"b\":2}"}}]`), two},
		{"no index, one event", deltas("tool_calls",
			`"tool_calls":[{"id":"x","function":{"name":"Bash","arguments":"{\"a\":1}"}},{"id":"y","function":{"name":"Read","arguments":"{\"b\":2}"}}]`), two},
		{"arguments as objects", deltas("tool_calls",
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":{ "a": 1 }}},{"index":1,"id":"y","function":{"name":"Read","arguments":{"b":2}}}]`), two},
		{"id and name again in each piece", deltas("tool_calls",
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":"{\"a\""}}]`,
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":":1}"}}]`,
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":""}}]`,
			`"tool_calls":[{"index":1,"id":"y","function":{"name":"Read","arguments":"{\"b\":2}"}}]`), two},
		{"same id twice", deltas("tool_calls",
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":"{\"a\":1}"}}]`,
			`"tool_calls":[{"index":1,"id":"x","function":{"name":"Read","arguments":"{\"b\":2}"}}]`), two},
		{"name after the beginning", deltas("tool_calls",
			`"tool_calls":[{"index":0,"id":"x"}]`,
			`"tool_calls":[{"index":0,"function":{"name":"Bash","arguments":"{\"a\":1}"}}]`), two[:1]},
		{"null and no arguments", deltas("tool_calls",
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":null}},{"index":1,"id":"y","function":{"name":"Read"}}]`),
			[]string{`Bash {}`, `Read {}`}},
		{"legacy finish reason", deltas("function_call",
			`"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":"{\"a\":1}"}}]`), two[:1]},
		{"garbled name", deltas("tool_calls",
			`"tool_calls":[{"index":0,"id":"x","function":{"name":" functions.Bash<|x|>","arguments":"{\"a\":1}"}}]`),
			[]string{`functions_Bash__x__ {"a":1}`}},
	} {
		o := ask(t, c.stream)
		if o.Err != nil {
			t.Errorf("%s: %v", c.name, o.Err)
			continue
		}
		r := o.Responses[0]
		var got []string
		ids := map[string]bool{}
		for _, u := range r.Message.ToolUses() {
			got = append(got, u.Name+" "+string(u.Input))
			if u.ID == "" || ids[u.ID] {
				t.Errorf("%s: id %q is empty or there twice", c.name, u.ID)
			}
			ids[u.ID] = true
		}
		if d := cmp.Diff(c.want, got); d != "" || r.Stop != message.StopToolUse {
			t.Errorf("%s: stop %q, calls (-want +got):\n%s", c.name, r.Stop, d)
		}
		// What was announced is what is there.
		for _, ev := range o.Events {
			if s, ok := ev.(model.ToolStarted); ok && !ids[s.ID] {
				t.Errorf("%s: a call was announced as %q, and is not there", c.name, s.ID)
			}
		}
	}
}

// A server that counts its calls from zero in every answer, or gives no ids,
// still has each id once in a conversation.
func TestIDsAreUniqueInAConversation(t *testing.T) {
	for _, id := range []string{`"id":"call_0",`, ``} {
		answer := deltas("tool_calls", `"tool_calls":[{"index":0,`+id+`"function":{"name":"Bash","arguments":"{}"}},{"index":1,`+id+`"function":{"name":"Bash","arguments":"{}"}}]`)
		server := &modeltest.Server{Answer: func(int, modeltest.Request) modeltest.Reply { return modeltest.Send(answer) }}
		p := New(Options{BaseURL: "http://model.test", HTTPClient: server.Client()})
		r := modeltest.NewRequest(p)
		seen := map[string]bool{}
		for range 10 {
			o := modeltest.Collect(t, t.Context(), p, r)
			if o.Err != nil {
				t.Fatal(o.Err)
			}
			results := message.Message{Role: message.User}
			for _, u := range o.Responses[0].Message.ToolUses() {
				if seen[u.ID] {
					t.Errorf("id %q is there twice", u.ID)
				}
				seen[u.ID] = true
				results.Content = append(results.Content, message.ToolResult{ToolUseID: u.ID})
			}
			r.Messages = append(r.Messages, p.EncodeMessage(o.Responses[0].Message), p.EncodeMessage(results))
		}
		if len(seen) != 20 {
			t.Errorf("%d ids, want 20", len(seen))
		}
	}
}

func TestTextAndThinkingAsServersSendThem(t *testing.T) {
	for _, c := range []struct {
		name           string
		delta          string
		text, thinking string
	}{
		{"reasoning_content", `"content":null,"reasoning_content":"t"`, "", "t"},
		{"reasoning", `"content":"","reasoning":"t"`, "", "t"},
		{"both", `"reasoning":"t","reasoning_content":"t","reasoning_details":[{"type":"reasoning.text","text":"t"}]`, "", "t"},
		{"details", `"reasoning_details":[{"type":"reasoning.summary","summary":"t"}]`, "", "t"},
		{"content in parts", `"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, "ab", ""},
		{"role in every piece", `"role":"assistant","content":"ab"`, "ab", ""},
		{"a call as text stays text", `"content":"<tool_call>{\"name\":\"Bash\"}</tool_call>"`, `<tool_call>{"name":"Bash"}</tool_call>`, ""},
		{"tags stay, unless asked for", `"content":"<think>t</think>ab"`, "<think>t</think>ab", ""},
	} {
		o := ask(t, deltas("stop", c.delta))
		text, thinking, _ := o.Texts()
		if o.Err != nil || text != c.text || thinking != c.thinking || o.Responses[0].Message.Text() != c.text || o.Responses[0].Stop != message.EndTurn {
			t.Errorf("%s: text %q, thinking %q, error %v", c.name, text, thinking, o.Err)
		}
	}
}

func TestThinkTags(t *testing.T) {
	profile := Compatible()
	profile.ThinkTags = true
	for in, want := range map[string][2]string{
		"\n<think>hm <b></think>\n\nyes": {"hm <b>", "yes"},
		"yes <think>no</think>":          {"", "yes <think>no</think>"},
		"<think>cut":                     {"cut", ""},
		"<thi":                           {"", "<thi"},
		"<think></think>a</think>":       {"", "a</think>"},
		"plain":                          {"", "plain"},
	} {
		for n := 1; n <= len(in); n++ {
			var ds []string
			for _, p := range modeltest.Split(in, n) {
				ds = append(ds, `"content":`+quote(p))
			}
			o := askWith(t, &profile, deltas("stop", ds...))
			text, thinking, _ := o.Texts()
			if o.Err != nil || thinking != want[0] || strings.TrimLeft(text, "\n") != want[1] {
				t.Errorf("%q in pieces of %d: thinking %q, text %q, error %v", in, n, thinking, text, o.Err)
			}
		}
	}
}

func TestFinishReasons(t *testing.T) {
	call := `"tool_calls":[{"index":0,"id":"x","function":{"name":"Bash","arguments":"{}"}}]`
	for _, c := range []struct {
		finish, delta string
		want          message.StopReason
	}{
		{"stop", `"content":"a"`, message.EndTurn},
		{"stop", call, message.StopToolUse},
		{"tool_calls", call, message.StopToolUse},
		{"tool_calls", `"content":"a"`, message.EndTurn},
		{"length", `"content":"a"`, message.MaxTokens},
		{"length", call, message.MaxTokens},
		{"content_filter", `"content":"a"`, message.Refusal},
		{"stop", `"refusal":"I cannot"`, message.Refusal},
		{"weather", `"content":"a"`, "weather"},
	} {
		o := ask(t, deltas(c.finish, c.delta))
		if o.Err != nil || o.Responses[0].Stop != c.want {
			t.Errorf("finish reason %q after %s: %+v, error %v, want %q", c.finish, c.delta, o.Responses, o.Err, c.want)
		}
		if c.want == message.MaxTokens && len(o.Responses[0].Message.ToolUses()) != 0 {
			t.Errorf("a call that the limit may have cut stands in the message")
		}
	}
}

func TestEndOfTheStream(t *testing.T) {
	text := piece("r", `"content":"a"`, "null")
	for name, c := range map[string]struct {
		stream string
		ok     bool
	}{
		"no end mark":                {text + piece("r", "", `"stop"`), true},
		"end mark without line end":  {text + piece("r", "", `"stop"`) + "data: [DONE]", true},
		"end mark but no finish":     {text + "data: [DONE]\n\n", false},
		"neither":                    {text, false},
		"call without a name":        {deltas("tool_calls", `"tool_calls":[{"index":0,"id":"x","function":{"arguments":"{}"}}]`), false},
		"not JSON":                   {text + "data: {\n\n", false},
		"finish reason, then broken": {text + piece("r", "", `"stop"`) + "data: {\n\n", false},
	} {
		o := ask(t, c.stream)
		var e *model.Error
		if c.ok != (o.Err == nil) || !c.ok && (!errors.As(o.Err, &e) || e.Class != model.Cut) {
			t.Errorf("%s: %d responses, error %v", name, len(o.Responses), o.Err)
		}
	}
}

func TestUsage(t *testing.T) {
	finish := piece("r", `"content":"1234567"`, `"stop"`)
	for name, c := range map[string]struct {
		stream string
		want   message.Usage
	}{
		"cached and written":        {finish + `data: {"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}` + "\n\n", message.Usage{Input: 10, CacheRead: 60, CacheWrite: 30, Output: 5}},
		"more cached than there is": {finish + `data: {"choices":null,"usage":{"prompt_tokens":10,"completion_tokens":-5,"prompt_tokens_details":{"cached_tokens":60}}}` + "\n\n", message.Usage{CacheRead: 10}},
		"timings":                   {finish + `data: {"choices":[],"timings":{"cache_n":7,"prompt_n":3,"predicted_n":2}}` + "\n\n", message.Usage{Input: 3, CacheRead: 7, Output: 2}},
		"the last one":              {`data: {"usage":{"prompt_tokens":1}}` + "\n\n" + finish + `data: {"usage":{"prompt_tokens":2,"completion_tokens":1}}` + "\n\n", message.Usage{Input: 2, Output: 1}},
	} {
		o := ask(t, c.stream, "data: [DONE]\n\n")
		if o.Err != nil || o.Responses[0].Usage != c.want {
			t.Errorf("%s: %+v, error %v, want %+v", name, o.Responses, o.Err, c.want)
		}
	}
	o := ask(t, finish)
	if u := o.Responses[0].Usage; !u.Estimated || u.Output != 2 || u.Input < 50 || u.Input > 150 {
		t.Errorf("without usage: %+v", u)
	}
}

func TestRequestBytes(t *testing.T) {
	for _, c := range []struct {
		name       string
		o          Options
		start, end string
	}{
		{"the vendor", Options{}, `"messages":[{"role":"developer","content":"You weave."}`,
			`"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false},"max_completion_tokens":1000,"parallel_tool_calls":true,"reasoning_effort":"low","store":false}`},
		{"others", Options{BaseURL: "http://localhost:11434/v1"}, `"messages":[{"role":"system","content":"You weave."}`,
			`"stream":true,"stream_options":{"include_usage":true},"max_tokens":1000,"parallel_tool_calls":true,"reasoning_effort":"low"}`},
		{"a profile", Options{Profile: &Profile{SystemRole: "system", CacheKey: "k"}}, `"messages":[{"role":"system","content":"You weave."}`,
			`"stream":true,"reasoning_effort":"low","prompt_cache_key":"k"}`},
	} {
		r := modeltest.NewRequest(New(c.o))
		r.Effort = "low"
		want := `{"model":"m-1","tools":[{"type":"function","function":{"name":"Bash","description":"Runs a command.","parameters":{"type":"object"}}}],` +
			c.start + `,{"role":"user","content":"go on"}],` + c.end
		if d := cmp.Diff(want, sent(t, c.o, r).Body); d != "" {
			t.Errorf("%s: body (-want +got):\n%s", c.name, d)
		}
	}
	for name, prompt := range map[string]model.Prompt{"nothing": {}, "system": {System: []string{"a", "", "b"}}, "tools": {Tools: []model.Tool{{Name: "A", Schema: []byte(`{}`)}}}} {
		p := New(Options{})
		r := modeltest.NewRequest(p)
		for _, prefix := range [][]byte{p.EncodePrefix(prompt), nil} {
			r.Prefix = prefix
			body := sent(t, Options{}, r).Body
			if !json.Valid([]byte(body)) || strings.Contains(body, "parallel") != (prefix != nil && name == "tools") {
				t.Errorf("%s: %s", name, body)
			}
		}
	}
}

func TestMessages(t *testing.T) {
	echo := Compatible()
	echo.Reasoning, echo.EmptyContent = "reasoning_content", true
	usual, echoing := New(Options{}), New(Options{Profile: &echo})
	call := message.ToolUse{ID: "c1", Name: "Bash", Input: json.RawMessage(`{"a":"\u00e9","n":1.50}`)}
	picture := message.Image{MediaType: "image/png", Data: "AA=="}
	const wireCall = `"tool_calls":[{"id":"c1","type":"function","function":{"name":"Bash","arguments":"{\"a\":\"\\u00e9\",\"n\":1.50}"}}]}`
	const wirePicture = `{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`
	for _, c := range []struct {
		p    *Provider
		role message.Role
		in   []message.Block
		want string
	}{
		{usual, message.User, []message.Block{message.Text{Text: "a"}, message.Text{Text: "b"}}, `{"role":"user","content":"a\n\nb"}`},
		{usual, message.User, nil, `{"role":"user","content":""}`},
		{usual, message.User, []message.Block{message.Text{Text: "look"}, picture}, `{"role":"user","content":[{"type":"text","text":"look"},` + wirePicture + `]}`},
		{usual, message.User, []message.Block{
			message.ToolResult{ToolUseID: "c1", Content: []message.Block{message.Text{Text: "out"}}},
			message.ToolResult{ToolUseID: "c2", Content: []message.Block{message.Text{Text: "no"}}, IsError: true},
			message.ToolResult{ToolUseID: "c3"},
		}, `{"role":"tool","tool_call_id":"c1","content":"out"},{"role":"tool","tool_call_id":"c2","content":"Error: no"},{"role":"tool","tool_call_id":"c3","content":""}`},
		{usual, message.User, []message.Block{
			message.ToolResult{ToolUseID: "c1", Content: []message.Block{picture}},
			message.Text{Text: "and?"},
		}, `{"role":"tool","tool_call_id":"c1","content":"(a picture, which follows in the next message)"},{"role":"user","content":[{"type":"text","text":"and?"},` + wirePicture + `]}`},
		{usual, message.Assistant, []message.Block{message.Thinking{Text: "t"}, message.Text{Text: "a"}}, `{"role":"assistant","content":"a"}`},
		{usual, message.Assistant, []message.Block{message.Thinking{Text: "t"}, call}, `{"role":"assistant","content":null,` + wireCall},
		{usual, message.Assistant, []message.Block{message.Thinking{Text: "t"}}, `{"role":"assistant","content":""}`},
		{echoing, message.Assistant, []message.Block{message.Thinking{Text: "t"}, call}, `{"role":"assistant","content":"","reasoning_content":"t",` + wireCall},
	} {
		got := string(c.p.EncodeMessage(message.Message{Role: c.role, Content: c.in}))
		if got != c.want {
			t.Errorf("EncodeMessage(%v):\n got %s\nwant %s", c.in, got, c.want)
		}
		if !json.Valid([]byte("[" + got + "]")) {
			t.Errorf("not JSON: %s", got)
		}
	}
}

func TestEndpoints(t *testing.T) {
	for base, want := range map[string]string{
		"":                                "https://api.openai.com/v1/chat/completions",
		"http://localhost:11434":          "http://localhost:11434/v1/chat/completions",
		"http://localhost:11434/v1/":      "http://localhost:11434/v1/chat/completions",
		"https://gate.test/openai/v1beta": "https://gate.test/openai/v1beta/chat/completions",
	} {
		got := sent(t, Options{BaseURL: base, APIKey: "k"}, nil)
		if got.URL != want || got.Header.Get("Authorization") != "Bearer k" {
			t.Errorf("base URL %q asks %s", base, got.URL)
		}
	}
	if got := sent(t, Options{BaseURL: "http://localhost:1"}, nil).Header.Get("Authorization"); got != "" {
		t.Errorf("authorization without a key: %q", got)
	}
}

func TestErrorBodies(t *testing.T) {
	for _, c := range []struct {
		status  int
		body    string
		class   model.Class
		message string
	}{
		{429, `{"error":{"message":"m","type":"tokens","code":"rate_limit_exceeded"}}`, model.RateLimited, "m"},
		{429, `{"error":{"message":"m","type":"insufficient_quota","code":null}}`, model.QuotaExceeded, "m"},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.ContextFull, "the request exceeds the available context size"},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","param":null,"code":400}`, model.ContextFull, "This model's maximum context length is 4096 tokens."},
		{400, `{"error":"Trying to keep the first 9000 tokens when context length is only 4096"}`, model.ContextFull, "Trying to keep the first 9000 tokens when context length is only 4096"},
		{400, `{"error":{"message":"tools are not supported","type":"invalid_request_error"}}`, model.BadRequest, "tools are not supported"},
		{404, `{"error":{"message":"model 'x' not found","type":"not_found_error"}}`, model.UnknownModel, "model 'x' not found"},
		{400, `{"error":{"message":"m","code":"model_not_found"}}`, model.UnknownModel, "m"},
		{503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, model.Overloaded, "Loading model"},
		{500, `{"error":"llama runner process has terminated"}`, model.ServerError, "llama runner process has terminated"},
		{422, `{"detail":"not a model"}`, model.BadRequest, "not a model"},
		{403, `{"error":{"message":"m","code":"unsupported_country_region_territory"}}`, model.BadCredential, "m"},
		{404, `404 page not found`, model.UnknownModel, "404 page not found"},
		{502, ``, model.ServerError, "bad gateway"},
		{200, `{"error":{"message":"m","code":"429"}}`, model.RateLimited, "m"},
		{200, `{"choices":[]}`, model.ServerError, `the answer is not a stream of events (is the base URL right?): {"choices":[]}`},
	} {
		server := &modeltest.Server{Answer: func(int, modeltest.Request) modeltest.Reply {
			return modeltest.Reply{Status: c.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []modeltest.Piece{{Data: c.body}}}
		}}
		p := New(Options{BaseURL: "http://model.test", HTTPClient: server.Client()})
		o := modeltest.Collect(t, t.Context(), p, modeltest.NewRequest(p))
		var e *model.Error
		if !errors.As(o.Err, &e) || e.Class != c.class || e.Message != c.message {
			t.Errorf("%d %s: error %v, want class %s", c.status, c.body, o.Err, c.class)
		} else if c.status == 200 && c.class == model.ServerError && e.Temporary() {
			t.Errorf("%d %s is tried again: what speaks another protocol goes on doing so", c.status, c.body)
		}
	}
}

func TestErrorEvents(t *testing.T) {
	for event, class := range map[string]model.Class{
		`data: {"error":{"message":"m","type":"server_error"}}`:                       model.ServerError,
		`data: {"error":{"message":"m","code":503}}`:                                  model.Overloaded,
		`data: {"error":"m"}`:                                                         model.ServerError,
		`data: {"object":"error","message":"m","type":"BadRequestError","code":400}`:  model.BadRequest,
		"event: error\ndata: {\"message\":\"m\",\"type\":\"rate_limit_error\"}":       model.RateLimited,
		`data: {"error":{"message":"context length exceeded","type":"server_error"}}`: model.ContextFull,
		`data: {"error":{"message":"m","type":"insufficient_quota"}}`:                 model.QuotaExceeded,
		`data: {"error":{"message":"m","type":"invalid_api_key"}}`:                    model.BadCredential,
	} {
		o := ask(t, piece("r", `"content":"a"`, "null"), event+"\n\n", piece("r", "", `"stop"`))
		var e *model.Error
		if !errors.As(o.Err, &e) || e.Class != class || e.Message == "" || e.Status != http.StatusOK {
			t.Errorf("%s: error %v, want class %s", event, o.Err, class)
		}
	}
}

func FuzzStream(f *testing.F) {
	f.Add(strings.Join(wire{}.Stream(modeltest.Answer{ID: "r", Thinking: "t", Text: "x", Calls: []modeltest.Call{{ID: "c", Name: "N", Input: `{"a":1}`}}, Stop: message.StopToolUse}), ""))
	f.Add(deltas("stop", `"tool_calls":[{"function":{"name":"a","arguments":{}}},{"index":null,"id":"","function":{"arguments":[1]}}]`))
	f.Add(deltas("length", `"content":[{"text":"a"}],"reasoning_details":[{"summary":"b"}]`))
	f.Add("data: {\"error\":{\"code\":[1],\"message\":null}}\n\n")
	profile := Compatible()
	profile.ThinkTags = true
	f.Fuzz(func(t *testing.T, stream string) {
		o := askWith(t, &profile, stream)
		p := New(Options{})
		for _, r := range o.Responses {
			if r.Stop == "" || !strings.Contains(stream, "finish_reason") && !strings.Contains(strings.ToLower(stream), "finish") {
				t.Errorf("a response from %q", stream)
			}
			if wire := p.EncodeMessage(r.Message); !json.Valid(wire) {
				t.Errorf("the message is sent as %q", wire)
			}
			for _, u := range r.Message.ToolUses() {
				if u.ID == "" || u.Name == "" {
					t.Errorf("call %+v", u)
				}
			}
		}
	})
}

func BenchmarkStream(b *testing.B) {
	const n = 5000
	body := strings.Join(wire{}.Stream(modeltest.Answer{ID: "r", Text: strings.Repeat("\tif x { f(1)\n", 1+n*9/13), Stop: message.EndTurn}), "")
	server := &modeltest.Server{Answer: func(int, modeltest.Request) modeltest.Reply { return modeltest.Send(body) }}
	p := New(Options{BaseURL: "http://model.test", HTTPClient: server.Client()})
	r := modeltest.NewRequest(p)
	b.ReportAllocs()
	begin := modeltest.CPU(b)
	for b.Loop() {
		for _, err := range p.Stream(b.Context(), r) {
			if err != nil {
				b.Fatal(fmt.Errorf("stream: %w", err))
			}
		}
	}
	b.ReportMetric(float64(b.N*n)/(modeltest.CPU(b)-begin).Seconds(), "events/cpu-s")
}
