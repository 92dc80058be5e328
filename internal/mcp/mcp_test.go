package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"heddle/internal/message"
	"heddle/internal/tool"
)

func textOf(r tool.Result) string { return message.Message{Content: r.Content}.Text() }

func names(s *Set) []string {
	var list []string
	for _, t := range s.Tools() {
		list = append(list, t.Full)
	}
	return list
}

// everything returns the ways in which a server with everything can be reached.
func everything(t *testing.T) map[string]Config {
	t.Helper()
	get := func() func(*http.Request) *sdk.Server {
		server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		addTools(server)
		return func(*http.Request) *sdk.Server { return server }
	}
	guard := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret-token" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	streamable := httptest.NewServer(guard(sdk.NewStreamableHTTPHandler(get(), nil)))
	events := httptest.NewServer(guard(sdk.NewSSEHandler(get(), nil)))
	for _, s := range []*httptest.Server{streamable, events} {
		t.Cleanup(func() {
			s.CloseClientConnections()
			s.Close()
		})
	}
	key := map[string]string{"Authorization": "Bearer secret-token"}
	return map[string]Config{
		"stdio": command("all", "everything"),
		"http":  {Name: "all", Type: "http", URL: streamable.URL, Headers: key},
		"sse":   {Name: "all", Type: "sse", URL: events.URL, Headers: key},
	}
}

func TestServersOfferTheSameOverEveryCarrier(t *testing.T) {
	for carrier, c := range everything(t) {
		t.Run(carrier, func(t *testing.T) {
			asked := ""
			s := open(t, Options{Elicit: func(_ context.Context, server string, e Elicitation) Answer {
				asked = server + ": " + e.Message
				return Answer{Action: Accept, Content: map[string]any{"colour": "blue"}}
			}}, c)
			want := []string{"mcp__all__ask", "mcp__all__die", "mcp__all__echo", "mcp__all__grow", "mcp__all__wait"}
			if diff := cmp.Diff(want, names(s)); diff != "" {
				t.Fatalf("tools (-want +got):\n%s\n%+v", diff, s.Status())
			}
			if got := textOf(s.Call(t.Context(), "all", "echo", json.RawMessage(`{"text":"hello"}`), nil)); got != "hello" {
				t.Errorf("echo = %q", got)
			}
			if r := s.Call(t.Context(), "all", "echo", json.RawMessage(`{"text":7}`), nil); !r.IsError {
				t.Errorf("echo with a wrong type = %q, want a failure", textOf(r))
			}
			if got := textOf(s.Call(t.Context(), "all", "ask", nil, nil)); got != "acceptblue" || asked != "all: Which colour?" {
				t.Errorf("ask = %q, asked %q", got, asked)
			}
			blocks, err := s.Read(t.Context(), "all", "test://one")
			if err != nil || textOf(tool.Result{Content: blocks}) != "first\ufffd[2J" {
				t.Errorf("Read = %q, %v", blocks, err)
			}
			list, err := s.Resources(t.Context(), "")
			if err != nil || len(list) != 1 || list[0].URI != "test://one" {
				t.Errorf("Resources = %+v, %v", list, err)
			}
			p := s.Prompts()
			if len(p) != 1 || p[0].Full != "mcp__all__greet" {
				t.Fatalf("Prompts = %+v", p)
			}
			blocks, err = s.Prompt(t.Context(), p[0], map[string]string{"who": "Ada"})
			if err != nil || textOf(tool.Result{Content: blocks}) != "Greet Ada" {
				t.Errorf("Prompt = %q, %v", blocks, err)
			}
			cancelled(t, s)
			grows(t, s)
		})
	}
}

// cancelled checks that a call tells how far it is, and can be ended.
func cancelled(t *testing.T, s *Set) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	report := func(text string) {
		if text != "1 of 2: half" {
			t.Errorf("progress = %q", text)
		}
		cancel(errors.New("no longer wanted"))
	}
	if r := s.Call(ctx, "all", "wait", nil, report); !r.IsError || !strings.Contains(textOf(r), "no longer wanted") {
		t.Errorf("a call that was ended = %q", textOf(r))
	}
}

// grows checks that a tool that comes later is seen.
func grows(t *testing.T, s *Set) {
	t.Helper()
	for len(s.changed) > 0 {
		<-s.changed
	}
	s.Call(t.Context(), "all", "grow", nil, nil)
	<-s.Changed()
	if got := strings.Join(names(s), " "); !strings.Contains(got, "mcp__all__new") {
		t.Errorf("tools after a change = %s", got)
	}
}

func TestBadServersCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	began := time.Now()
	s := open(t, Options{StartLimit: 3 * time.Second}, command("good", "everything"), command("silent", "silent"), command("broken", "broken"),
		Config{Name: "missing", Type: "stdio", Command: "no-such-program-anywhere"},
		Config{Name: "nobody", Type: "http", URL: "http://127.0.0.1:1/mcp?key=verysecretkey"})
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("servers settled after %v", took)
	}
	want := map[string]string{
		"good":    "",
		"silent":  "it did not come up within 3s",
		"broken":  "it ended with exit code 3; its last words: cannot find the database",
		"missing": `there is no program "no-such-program-anywhere" in the PATH; install it, or give its whole path`,
		"nobody":  "http://127.0.0.1:1/mcp?hidden cannot be reached: dial tcp 127.0.0.1:1: connect: connection refused",
	}
	for _, st := range s.Status() {
		if got := st.Error; !strings.Contains(got, want[st.Name]) || (got == "") != (want[st.Name] == "") {
			t.Errorf("%s: %s: %q, want %q", st.Name, st.State, got, want[st.Name])
		}
		if strings.Contains(st.Error, "secretkey") {
			t.Errorf("%s tells a secret: %s", st.Name, st.Error)
		}
	}
	if got := textOf(s.Call(t.Context(), "good", "echo", json.RawMessage(`{"text":"hello"}`), nil)); got != "hello" {
		t.Errorf("echo = %q", got)
	}
}

func TestServerThatDiesIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := open(t, Options{}, command("a", "everything"))
	r := s.Call(t.Context(), "a", "die", nil, nil)
	for _, want := range []string{"gone before it had answered", "exit code 7", "out of memory", "not known"} {
		if !r.IsError || !strings.Contains(textOf(r), want) {
			t.Errorf("a call in which the server dies = %q, want %q", textOf(r), want)
		}
	}
	for s.Status()[0].State == Connected { // it learns of it in its own time
		<-s.Changed()
	}
	if r := s.Call(t.Context(), "a", "echo", nil, nil); !r.IsError || !strings.Contains(textOf(r), "started again") {
		t.Errorf("a call meanwhile = %q", textOf(r))
	}
	for s.Status()[0].State != Connected {
		<-s.Changed()
	}
	if got := textOf(s.Call(t.Context(), "a", "echo", json.RawMessage(`{"text":"back"}`), nil)); got != "back" {
		t.Errorf("a call afterwards = %q", got)
	}
}

// A server that is away for longer than the first pause is found when it is back.
func TestServerThatIsAwayForAWhileComesBack(t *testing.T) {
	t.Parallel()
	c := command("a", "everything")
	away := filepath.Join(t.TempDir(), "away")
	c.Env[awayVariable] = away
	s := open(t, Options{}, c)
	if err := os.WriteFile(away, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s.Call(t.Context(), "a", "die", nil, nil)
	for !strings.Contains(s.Status()[0].Error, "started again in 2s") { // the first attempt was in vain
		<-s.Changed()
	}
	if err := os.Remove(away); err != nil {
		t.Fatal(err)
	}
	for s.Status()[0].State != Connected {
		<-s.Changed()
	}
	if got := textOf(s.Call(t.Context(), "a", "echo", json.RawMessage(`{"text":"back"}`), nil)); got != "back" {
		t.Errorf("a call afterwards = %q", got)
	}
}

func TestLargeResultsArriveAndFloodsEnd(t *testing.T) {
	t.Parallel()
	s := open(t, Options{}, command("a", "big"))
	if got := len(textOf(s.Call(t.Context(), "a", "only", json.RawMessage(`{"mb":50}`), nil))); got != 50_000_000 {
		t.Errorf("a result of 50 MB = %d bytes", got)
	}
	r := s.Call(t.Context(), "a", "only", json.RawMessage(`{"mb":70}`), nil)
	if !r.IsError || !strings.Contains(textOf(r), "more than 64 MB") {
		t.Errorf("a result of 70 MB = %.200q", textOf(r))
	}
}

func TestOddServers(t *testing.T) {
	t.Parallel()
	s := open(t, Options{}, command("modern", "modern"), command("noise", "noise"), command("batch", "batch"))
	if diff := cmp.Diff([]string{"mcp__batch__only", "mcp__modern__only", "mcp__noise__only"}, names(s)); diff != "" {
		t.Errorf("tools (-want +got):\n%s\n%+v", diff, s.Status())
	}
}

func TestSchemasThatModelsWouldNotTakeAreLeftOut(t *testing.T) {
	t.Parallel()
	s := open(t, Options{}, command("rude", "rude"))
	var got []string
	for _, tl := range s.Tools() {
		got = append(got, tl.Full+" "+tl.Description+" "+string(tl.Schema))
		if len(tl.Full) > 64 {
			t.Errorf("%s has %d characters", tl.Full, len(tl.Full))
		}
	}
	want := []string{
		`mcp__rude__either  {"properties":{"a":{"type":"string"}},"type":"object"}`,
		`mcp__rude__good red {"properties":{"a":{"type":"number"},"b":{"type":"string"}},"type":"object"}`,
		`mcp__rude__none  {"properties":{},"type":"object"}`,
		tool.ServerTool("rude", "ünïcode name/"+strings.Repeat("long", 40)) + `  {"properties":{},"type":"object"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if n := len(s.Status()[0].Warnings); n != 9 {
		t.Errorf("%d warnings, want 9: %q", n, s.Status()[0].Warnings)
	}
}

func TestClashingNamesStayApart(t *testing.T) {
	t.Parallel()
	s := NewSet(Options{})
	for _, name := range []string{"a b", "a.b", "a__b", "_a_b_", "ü", "ö"} {
		c := Config{Name: name, Disabled: true}
		if err := s.Open(c); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]string{}
	for _, st := range s.Status() {
		if other, twice := seen[st.Shown]; twice {
			t.Errorf("%q and %q are both shown as %s", st.Name, other, st.Shown)
		}
		seen[st.Shown] = st.Name
		if strings.Contains(st.Shown, "__") || strings.Trim(st.Shown, "_") != st.Shown {
			t.Errorf("%q is shown as %s", st.Name, st.Shown)
		}
	}
	if err := s.Open(Config{Name: "a b", Disabled: true}); err == nil {
		t.Error("a second server of one name was taken")
	}
}

func TestServerThatWantsAToken(t *testing.T) {
	t.Parallel()
	c := everything(t)["http"]
	c.Headers = nil
	s := open(t, Options{}, c)
	if st := s.Status()[0]; st.State != NeedsAuth || !strings.Contains(st.Error, "Authorization") {
		t.Errorf("status = %+v", st)
	}
}

func TestHeadersGoNowhereElse(t *testing.T) {
	t.Parallel()
	stolen := make(chan string, 10)
	thief := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { stolen <- r.Header.Get("Authorization") }))
	defer thief.Close()
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
	}))
	defer door.Close()
	s := open(t, Options{}, Config{Name: "a", Type: "http", URL: door.URL, Headers: map[string]string{"Authorization": "Bearer secret-token"}})
	if st := s.Status()[0]; st.State != Failed || !strings.Contains(st.Error, "sends us on") {
		t.Errorf("status = %+v", st)
	}
	if len(stolen) > 0 {
		t.Errorf("another server was sent %q", <-stolen)
	}
}

func TestRemoveAndReconnect(t *testing.T) {
	t.Parallel()
	s := open(t, Options{Within: "all-of-them"}, command("a", "everything"))
	first := s.Status()[0].Version // it tells the process and its mark
	if !strings.Contains(first, " all-of-them/") && !strings.Contains(first, "/all-of-them/") {
		t.Errorf("the server runs as %s, without the mark", first)
	}
	if err := s.Reconnect("a"); err != nil {
		t.Fatal(err)
	}
	second := ""
	for second == "" || second == first {
		<-s.Changed()
		second = s.Status()[0].Version
	}
	if err := s.Remove("a"); err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{first, second} {
		var pid int
		if _, err := fmt.Sscan(strings.TrimPrefix(v, "test "), &pid); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("process %d: %v, want none", pid, err)
		}
	}
	if len(s.Tools()) != 0 {
		t.Error("a removed server has tools")
	}
}
