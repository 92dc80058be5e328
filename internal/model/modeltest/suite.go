package modeltest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/message"
	"heddle/internal/model"
)

const remote = "http://model.test"

// weave is an answer with everything in it.
var weave = Answer{
	ID:       "resp_1",
	Thinking: "First the warp, then the weft – “no” knots.",
	Text:     "I will do\n\tboth: é \u2028 \"now\" \\ 🧵",
	Calls: []Call{
		{ID: "call_a", Name: "Bash", Input: `{ "command" : "rm -rf /tmp/x \u00e9 \/", "timeout":1.50, "n":10000000000000001}`},
		{ID: "call_b", Name: "Read", Input: `{}`},
	},
	Stop:  message.StopToolUse,
	Usage: message.Usage{Input: 11, CacheRead: 7, Output: 42},
}

func (a Answer) message() message.Message {
	m := message.Message{Role: message.Assistant}
	if a.Thinking != "" {
		m.Content = append(m.Content, message.Thinking{Text: a.Thinking})
	}
	if a.Text != "" {
		m.Content = append(m.Content, message.Text{Text: a.Text})
	}
	for _, c := range a.Calls {
		input, ok := message.CleanInput([]byte(c.Input))
		m.Content = append(m.Content, message.ToolUse{ID: c.ID, Name: c.Name, Input: input, Malformed: !ok})
	}
	return m
}

// Run runs the suite.
func Run(t *testing.T, w Wire) {
	s := suite{w}
	for name, test := range map[string]func(*testing.T){
		"WholeAnswer":                    s.wholeAnswer,
		"AnswerInAnyPieces":              s.anyPieces,
		"StrangeEventsArePassedOver":     s.strange,
		"CutStreamIsNoAnswer":            s.cut,
		"CutStreamIsAskedForAgain":       s.cutAndRetry,
		"ErrorWithinTheStream":           s.errorWithin,
		"ErrorWithinTheStreamTextOnce":   s.errorWithinRetry,
		"Refusals":                       s.refusals,
		"PageOfAProxy":                   s.htmlPage,
		"OverloadPasses":                 s.overloadPasses,
		"OverloadStays":                  s.overloadStays,
		"NoConnection":                   s.noConnection,
		"Silence":                        s.silence,
		"PingsForAWhile":                 s.pingsThenAnswer,
		"PingsOnly":                      s.pingsOnly,
		"SlowConsumerIsNotASilentServer": s.slowConsumer,
		"ServerOnThisMachineMayLoad":     s.loopback,
		"Cancel":                         s.cancel,
		"LimitWithinACall":               s.limitWithinCall,
		"LimitWithinText":                s.limitWithinText,
		"BadInput":                       s.badInput,
		"EightLimitedAgents":             s.eightAgents,
		"PrefixStays":                    s.prefixStays,
		"WrongOptions":                   s.wrongOptions,
		"NoFollowingOfRedirects":         s.redirect,
		"ConsumerLeaves":                 s.consumerLeaves,
		"AgentIsToldToThisMachineOnly":   s.agentHeader,
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}

type suite struct{ Wire }

// ask sends one request to a server that always answers with reply.
func (s suite) ask(t *testing.T, reply Reply) Outcome {
	t.Helper()
	return s.askServer(t, &Server{Answer: func(int, Request) Reply { return reply }})
}

func (s suite) askServer(t *testing.T, server *Server) Outcome {
	t.Helper()
	p := s.New(remote, server.Client())
	return Collect(t, t.Context(), p, NewRequest(p))
}

// retrying sends one request by way of a client.
func (s suite) retrying(t *testing.T, policy model.Policy, answer func(n int) Reply) (Outcome, *Server) {
	t.Helper()
	server := &Server{Answer: func(n int, _ Request) Reply { return answer(n) }}
	c := model.NewClient(s.New(remote, server.Client()), nil, policy)
	return Collect(t, t.Context(), c, NewRequest(c)), server
}

// wantAnswer checks that the outcome is a, whole, and that the deltas said the same.
func wantAnswer(t *testing.T, o Outcome, a Answer) {
	t.Helper()
	if o.Err != nil || len(o.Responses) != 1 {
		t.Fatalf("outcome: %d responses, error %v", len(o.Responses), o.Err)
	}
	got := o.Responses[0]
	got.Message = unsigned(got.Message)
	if d := cmp.Diff(a.message(), got.Message); d != "" {
		t.Errorf("message (-want +got):\n%s", d)
	}
	if got.Stop != a.Stop || got.ID != a.ID || got.Usage != a.Usage || got.Partial != nil {
		t.Errorf("response: stop %q, id %q, usage %+v, partial %v, want %q, %q, %+v, none", got.Stop, got.ID, got.Usage, got.Partial, a.Stop, a.ID, a.Usage)
	}
	text, thinking, input := o.Texts()
	if text != a.Text || thinking != a.Thinking {
		t.Errorf("deltas: text %q, thinking %q", text, thinking)
	}
	for _, ev := range o.Events {
		started, ok := ev.(model.ToolStarted)
		if !ok {
			continue
		}
		for _, c := range a.Calls {
			if c.ID == started.ID && (c.Name != started.Name || !sameInput(input[started.Index], c.Input)) {
				t.Errorf("call %s began as %s, its deltas are %q", c.ID, started.Name, input[started.Index])
			}
		}
	}
}

// sameInput reports whether the deltas of an input are what the model wrote.
// None at all are as good as an empty object.
func sameInput(deltas, want string) bool { return deltas == want || deltas == "" && want == "{}" }

// unsigned takes signatures out, which not all protocols have.
func unsigned(m message.Message) message.Message {
	out := message.Message{Role: m.Role}
	for _, b := range m.Content {
		if th, ok := b.(message.Thinking); ok {
			b = message.Thinking{Text: th.Text}
		}
		out.Content = append(out.Content, b)
	}
	return out
}

// wantError returns the error of an outcome that must have failed without a response.
func wantError(t *testing.T, o Outcome, class model.Class) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(o.Err, &e) {
		t.Fatalf("error is %v, want a *model.Error of class %s", o.Err, class)
	}
	if e.Class != class || e.Provider == "" {
		t.Errorf("error of class %q, provider %q, want %q: %v", e.Class, e.Provider, class, e)
	}
	if len(o.Responses) > 0 {
		t.Errorf("a response came with the error: %+v", o.Responses)
	}
	return e
}

func (s suite) wholeAnswer(t *testing.T) {
	o := s.ask(t, Send(s.Stream(weave)...))
	wantAnswer(t, o, weave)
	if started, ok := o.Events[0].(model.Started); !ok || started.ID != weave.ID {
		t.Errorf("the first event is %#v, want Started", o.Events[0])
	}
	plain := Answer{ID: "r2", Text: "done", Stop: message.EndTurn, Usage: message.Usage{Input: 1, Output: 1}}
	wantAnswer(t, s.ask(t, Send(s.Stream(plain)...)), plain)
}

// Line ends, byte order mark, comments, missing spaces, and pieces of one byte.
func (s suite) anyPieces(t *testing.T) {
	whole := strings.Join(s.Stream(weave), "")
	for _, text := range []string{
		strings.ReplaceAll(whole, "\n", "\r\n"),
		strings.ReplaceAll(whole, "\n", "\r"),
		"\xef\xbb\xbf" + whole,
		strings.ReplaceAll(whole, "data: ", "data:"),
		": hello\n\n" + strings.ReplaceAll(whole, "\ndata", "\n: keep-alive\ndata"),
	} {
		wantAnswer(t, s.ask(t, Send(text)), weave)
		var bytes []Piece
		for i := range len(text) {
			bytes = append(bytes, Piece{Data: text[i : i+1]})
		}
		wantAnswer(t, s.ask(t, Reply{Body: bytes}), weave)
	}
}

func (s suite) strange(t *testing.T) {
	var events []string
	for i, e := range s.Stream(weave) {
		if i > 0 {
			events = append(events, s.Strange()...)
		}
		events = append(events, e)
	}
	wantAnswer(t, s.ask(t, Send(events...)), weave)
}

// A stream that was cut, cleanly or not, at whatever byte, is never an answer,
// unless all of the answer was there; and no call has other than its full input.
func (s suite) cut(t *testing.T) {
	events := s.Stream(weave)
	whole := strings.Join(events, "")
	enough := len(strings.Join(events[:s.Enough(events)], ""))
	for n := range len(whole) {
		broken := []error{io.ErrUnexpectedEOF, syscall.ECONNRESET}[n%2]
		for _, end := range []error{nil, broken} {
			o := s.ask(t, Reply{Body: []Piece{{Data: whole[:n]}}, End: end})
			if n < enough || o.Err != nil {
				wantError(t, o, model.Cut)
				continue
			}
			if d := cmp.Diff(weave.message(), unsigned(o.Responses[0].Message)); d != "" {
				t.Fatalf("cut after %d of %d bytes (-want +got):\n%s", n, len(whole), d)
			}
		}
	}
}

func (s suite) cutAndRetry(t *testing.T) {
	whole := strings.Join(s.Stream(weave), "")
	at := strings.Index(whole, "rm -rf") // within the input of the first call
	if at < 0 {
		at = strings.Index(whole, "call_a") + 100
	}
	o, server := s.retrying(t, model.Policy{}, func(n int) Reply {
		if n == 0 {
			return Send(whole[:at])
		}
		return Send(whole)
	})
	wantAnswer(t, o, weave)
	if n := len(server.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
	// One that always breaks is asked for once more only: the text is on the screen.
	o, server = s.retrying(t, model.Policy{}, func(int) Reply { return Send(whole[:at]) })
	wantError(t, o, model.Cut)
	if n := len(server.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// The status was good, the error counts.
func (s suite) errorWithin(t *testing.T) {
	for _, class := range []model.Class{model.Overloaded, model.ServerError, model.RateLimited, model.BadRequest} {
		events := s.Stream(weave)
		o := s.ask(t, Send(append(events[:3:3], s.ErrorEvent(class))...))
		e := wantError(t, o, class)
		if e.Status != http.StatusOK || e.Message == "" {
			t.Errorf("error within the stream: %+v", e)
		}
	}
}

// What came before an error event is void, and the text is there once.
func (s suite) errorWithinRetry(t *testing.T) {
	events := s.Stream(weave)
	o, _ := s.retrying(t, model.Policy{}, func(n int) Reply {
		if n == 0 {
			return Send(append(events[:len(events)/2:len(events)/2], s.ErrorEvent(model.Overloaded))...)
		}
		return Send(events...)
	})
	wantAnswer(t, o, weave)
	discards := 0
	for _, ev := range o.Events {
		if r, ok := ev.(model.Retrying); ok && r.Discard && r.Err.Class == model.Overloaded {
			discards++
		}
	}
	if discards != 1 {
		t.Errorf("%d retries discard what was delivered, want 1", discards)
	}
}

func (s suite) refusals(t *testing.T) {
	for class, temporary := range map[model.Class]bool{
		model.RateLimited: true, model.Overloaded: true, model.ServerError: true,
		model.BadCredential: false, model.BadRequest: false, model.UnknownModel: false,
		model.ContextFull: false, model.QuotaExceeded: false, model.TooLarge: false,
	} {
		status, body := s.Failure(class)
		header := http.Header{"Content-Type": {"application/json"}, "Retry-After": {"3"}, "Request-Id": {"req_1"}}
		e := wantError(t, s.ask(t, Reply{Status: status, Header: header, Body: []Piece{{Data: body}}}), class)
		if e.Temporary() != temporary || e.Status != status || e.RetryAfter != 3*time.Second || e.RequestID != "req_1" || e.Message == "" || strings.Contains(e.Message, "{") {
			t.Errorf("%s: %+v, temporary %v", class, e, e.Temporary())
		}
		header.Set("X-Should-Retry", "false")
		if e := wantError(t, s.ask(t, Reply{Status: status, Header: header, Body: []Piece{{Data: body}}}), class); e.Temporary() {
			t.Errorf("%s is tried again against the server's word", class)
		}
		header.Set("X-Should-Retry", "true")
		if e := wantError(t, s.ask(t, Reply{Status: status, Header: header, Body: []Piece{{Data: body}}}), class); !e.Temporary() {
			t.Errorf("%s is not tried again, against the server's word", class)
		}
	}
	header := http.Header{"Retry-After-Ms": {"1500"}, "Retry-After": {"9"}}
	if e := wantError(t, s.ask(t, Reply{Status: 429, Header: header}), model.RateLimited); e.RetryAfter != 1500*time.Millisecond {
		t.Errorf("retry after %v, want 1.5s", e.RetryAfter)
	}
	header = http.Header{"Retry-After": {time.Now().Add(time.Minute).UTC().Format(http.TimeFormat)}}
	if e := wantError(t, s.ask(t, Reply{Status: 503, Header: header}), model.Overloaded); e.RetryAfter < 59*time.Second || e.RetryAfter > time.Minute {
		t.Errorf("retry after %v, want a minute", e.RetryAfter)
	}
}

func (s suite) htmlPage(t *testing.T) {
	page := "<!DOCTYPE html><html><head><style>p{}</style><title>502 Bad Gateway</title></head>\n<body><script>if (a<b) {}</script><p>nginx &amp; co</p></body></html>"
	for _, status := range []int{http.StatusBadGateway, http.StatusOK} {
		o := s.ask(t, Reply{Status: status, Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}, Body: []Piece{{Data: page}}})
		e := wantError(t, o, model.ServerError)
		if !strings.HasSuffix(e.Message, "502 Bad Gateway nginx & co") {
			t.Errorf("message of an HTML page: %q", e.Message)
		}
	}
}

// Overload passes: the answer comes, and later tries wait longer.
func (s suite) overloadPasses(t *testing.T) {
	status, body := s.Failure(model.Overloaded)
	o, server := s.retrying(t, model.Policy{}, func(n int) Reply {
		if n < 3 {
			return Reply{Status: status, Body: []Piece{{Data: body}}}
		}
		return Send(s.Stream(weave)...)
	})
	wantAnswer(t, o, weave)
	if n := len(server.Requests()); n != 4 {
		t.Errorf("%d requests, want 4", n)
	}
}

// Overload stays: after at least five tries there is an error that says so.
func (s suite) overloadStays(t *testing.T) {
	for _, class := range []model.Class{model.Overloaded, model.RateLimited, model.ServerError} {
		status, body := s.Failure(class)
		o, server := s.retrying(t, model.Policy{}, func(int) Reply { return Reply{Status: status, Body: []Piece{{Data: body}}} })
		wantError(t, o, class)
		if n := len(server.Requests()); n < 5 || n > 8 {
			t.Errorf("%s: %d requests, want 5 to 8", class, n)
		}
	}
	// What does not pass is tried once.
	for _, class := range []model.Class{model.QuotaExceeded, model.BadCredential, model.ContextFull} {
		status, body := s.Failure(class)
		o, server := s.retrying(t, model.Policy{}, func(int) Reply { return Reply{Status: status, Body: []Piece{{Data: body}}} })
		wantError(t, o, class)
		if n := len(server.Requests()); n != 1 {
			t.Errorf("%s: %d requests, want 1", class, n)
		}
	}
}

func (s suite) noConnection(t *testing.T) {
	o, server := s.retrying(t, model.Policy{Tries: 2}, func(int) Reply { return Reply{Refuse: syscall.ECONNREFUSED} })
	if e := wantError(t, o, model.Unreachable); !errors.Is(e, syscall.ECONNREFUSED) {
		t.Errorf("error %v does not say what is below", e)
	}
	if n := len(server.Requests()); n != 2 {
		t.Errorf("%d requests, want 2", n)
	}
}

// A call that the limit cut does not stand in the message, even where it looks whole.
func (s suite) limitWithinCall(t *testing.T) {
	for _, a := range []Answer{
		{ID: "r", Text: "x", Calls: []Call{{"c1", "Read", `{"p":1}`}, {"c2", "Bash", `{"command":"rm -rf /tmp/x`}}, Stop: message.MaxTokens, Unfinished: true},
		{ID: "r", Text: "x", Calls: []Call{{"c1", "Read", `{"p":1}`}, {"c2", "Bash", `{"command":"rm -rf /"}`}}, Stop: message.MaxTokens},
	} {
		o := s.ask(t, Send(s.Stream(a)...))
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		r := o.Responses[0]
		if r.Stop != message.MaxTokens || r.Partial == nil || r.Partial.ID != "c2" || r.Partial.Name != "Bash" {
			t.Errorf("response: stop %q, partial %+v", r.Stop, r.Partial)
		}
		uses := r.Message.ToolUses()
		if len(uses) != 1 || uses[0].ID != "c1" || r.Message.Text() != "x" {
			t.Errorf("message: %+v, want text and the first call", r.Message)
		}
	}
}

func (s suite) limitWithinText(t *testing.T) {
	a := Answer{ID: "r", Text: "half a sen", Stop: message.MaxTokens, Unfinished: true}
	o := s.ask(t, Send(s.Stream(a)...))
	if o.Err != nil {
		t.Fatal(o.Err)
	}
	if r := o.Responses[0]; r.Stop != message.MaxTokens || r.Partial != nil || r.Message.Text() != a.Text {
		t.Errorf("response: %+v", r)
	}
}

// Lone surrogates, broken JSON, other than objects, and bytes that are not
// UTF-8 neither fail nor reach the history as they are.
func (s suite) badInput(t *testing.T) {
	for _, input := range []string{`{"command":"echo \ud99c hi"}`, `{"a":`, `[1]`, `"x"`, `null`, "{\"a\":\"\x01\"}", `{"a":"\ud83d\ude00"}`} {
		a := Answer{ID: "r", Calls: []Call{{"c1", "Bash", input}}, Stop: message.StopToolUse}
		o := s.ask(t, Send(s.Stream(a)...))
		if o.Err != nil {
			t.Errorf("input %q: %v", input, o.Err)
			continue
		}
		want, ok := message.CleanInput([]byte(input))
		use := o.Responses[0].Message.ToolUses()[0]
		if string(use.Input) != string(want) || use.Malformed == ok {
			t.Errorf("input %q became %s, malformed %v, want %s, %v", input, use.Input, use.Malformed, want, !ok)
		}
		p := s.New(remote, nil)
		if wire := p.EncodeMessage(o.Responses[0].Message); !json.Valid(wire) {
			t.Errorf("input %q: the message is sent as %s, which is not JSON", input, wire)
		}
	}
	raw := strings.ReplaceAll(strings.Join(s.Stream(Answer{ID: "r", Text: "a?b", Stop: message.EndTurn}), ""), "?", "\xff")
	if o := s.ask(t, Send(raw)); o.Err != nil || o.Responses[0].Message.Text() != "a\uFFFDb" {
		t.Errorf("text that is not UTF-8: %+v", o)
	}
}
