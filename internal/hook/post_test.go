package hook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// posting returns a hook that asks a server with the handler, and what it needs.
func posting(t *testing.T, said *told, e Event, handle http.HandlerFunc) (Options, Hook) {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	o := options(t, said)
	o.Client = server.Client()
	h := sh(e, "")
	h.Kind, h.URL = HTTP, server.URL
	return o, h
}

func TestPostAnswers(t *testing.T) {
	t.Parallel()
	const block = `{"decision": "block", "reason": "no"}`
	write := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for _, c := range []struct {
		name   string
		handle http.HandlerFunc
		want   Outcome
		told   string
	}{
		{"object", write(200, " "+block+"\n"), Outcome{Blocked: true, Block: "no"}, ""},
		{"created", write(201, block), Outcome{Blocked: true, Block: "no"}, ""},
		{"empty", write(204, ""), Outcome{}, ""},
		{"blanks", write(200, " \n"), Outcome{}, ""},
		{"prose", write(200, "hello"), Outcome{}, "the response is not a JSON object"},
		{"list", write(200, "[]"), Outcome{}, "the response is not a JSON object"},
		{"broken", write(200, `{"decision": `), Outcome{}, "the response is not a JSON object"},
		{"server error", write(500, block), Outcome{}, "the server answered 500 Internal Server Error"},
		{"refusal", write(403, block), Outcome{}, "the server answered 403 Forbidden"},
		{"huge", func(w http.ResponseWriter, _ *http.Request) {
			line := strings.Repeat(" ", 1<<20)
			for range 20 {
				if _, err := io.WriteString(w, line); err != nil {
					return
				}
			}
		}, Outcome{}, "the response is longer than 8388608 bytes"},
		{"cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, block)
		}, Outcome{}, "read the response: unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var said told
			o, h := posting(t, &said, UserPromptSubmit, c.handle)
			got := runner(t, o, h).Fire(t.Context(), UserPromptSubmit, "", nil, nil)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("outcome: %s", diff)
			}
			if lines := strings.Join(said.all(), "\n"); c.told == "" && lines != "" || !strings.Contains(lines, c.told) {
				t.Errorf("told %q, want %q", lines, c.told)
			}
			if lines := said.all(); len(lines) > 0 && strings.Contains(lines[0], h.URL) {
				t.Errorf("told %q, with the address", lines)
			}
		})
	}
}

func TestPostIsCutAtTheLimit(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]bool{"before the answer": false, "within the answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said told
			o, h := posting(t, &said, Stop, func(w http.ResponseWriter, req *http.Request) {
				_, _ = io.Copy(io.Discard, req.Body) // only then the end of the connection is noticed
				if begin {
					_, _ = io.WriteString(w, `{"decision": "block"`)
					_ = http.NewResponseController(w).Flush()
				}
				<-req.Context().Done()
			})
			h.Timeout = 200 * time.Millisecond
			out := runner(t, o, h).Fire(t.Context(), Stop, "", nil, nil)
			want := []string{"hook Stop (hooks.json:3:5): ended at its time limit of 200ms"}
			if diff := cmp.Diff(want, said.all()); diff != "" || out.Blocked {
				t.Errorf("blocked %v, told: %s", out.Blocked, diff)
			}
		})
	}
}

// The person named one address; another does not get what the hook is told.
func TestPostFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 308} {
		var said told
		o, h := posting(t, &said, Stop, func(w http.ResponseWriter, req *http.Request) {
			if req.URL.Path != "/" {
				t.Errorf("%d: the hook went on to %s", status, req.URL)
			}
			http.Redirect(w, req, "/elsewhere", status)
		})
		runner(t, o, h).Fire(t.Context(), Stop, "", nil, nil)
		if lines := said.all(); len(lines) != 1 || !strings.Contains(lines[0], fmt.Sprint(status)) || !strings.Contains(lines[0], "redirects are not followed") {
			t.Errorf("%d: told %q", status, lines)
		}
	}
}

func TestWhatIsPosted(t *testing.T) {
	t.Parallel()
	var said told
	got := make(chan *http.Request, 1)
	body := make(chan string, 1)
	o, h := posting(t, &said, Stop, func(_ http.ResponseWriter, req *http.Request) {
		text, _ := io.ReadAll(req.Body)
		got <- req
		body <- string(text)
	})
	o.Env = func() []string { return []string{"TOKEN=t$SECRET", "SECRET=s", "OTHER=o"} }
	h.URL += "/a?root=${CLAUDE_PLUGIN_ROOT}"
	h.Env = []string{"CLAUDE_PLUGIN_ROOT=p$TOKEN"}
	h.AllowedEnv = []string{"TOKEN", "MISSING"}
	h.Headers = map[string]string{"A": "x $TOKEN ${TOKEN} $SECRET ${OTHER} $MISSING $ $1", "B": "${CLAUDE_PLUGIN_ROOT} ${CLAUDE_PROJECT_DIR}"}
	runner(t, o, h).Fire(t.Context(), Stop, "", map[string]any{"a": "<b>"}, nil)
	if lines := said.all(); len(lines) > 0 {
		t.Fatalf("told %q", lines)
	}
	req := <-got
	for name, want := range map[string]string{
		"A": "x t$SECRET t$SECRET    $ $1", // what is put in is not read again
		"B": "p$TOKEN /the project", "Content-Type": "application/json",
	} {
		if value := req.Header.Get(name); value != want {
			t.Errorf("header %s = %q, want %q", name, value, want)
		}
	}
	if req.Method != http.MethodPost || req.URL.Query().Get("root") != "p$TOKEN" {
		t.Errorf("%s %s", req.Method, req.URL)
	}
	if text := <-body; !strings.HasPrefix(text, `{"a":"<b>","cwd":`) || !strings.Contains(text, `"hook_event_name":"Stop"`) {
		t.Errorf("body %s", text)
	}
}

func TestPostNowhere(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url     string
		headers map[string]string
		told    string
	}{
		{"file:///etc/passwd", nil, "http:// or https://"},
		{"${CLAUDE_PROJECT_DIR}", nil, "http:// or https://"},
		{"http://127.0.0.1:1/secret", nil, "connection refused"},
		{"http://127.0.0.1:1/secret", map[string]string{"A\n": "b"}, "header"},
		{"http://127.0.0.1:1/secret", map[string]string{"A": "secret\nB: c"}, "header"},
	} {
		var said told
		o := options(t, &said)
		o.Client = &http.Client{Transport: &http.Transport{}} // no proxy of the machine
		h := Hook{Event: Stop, Kind: HTTP, URL: c.url, Headers: c.headers}
		runner(t, o, h).Fire(t.Context(), Stop, "", nil, nil)
		if lines := said.all(); len(lines) != 1 || !strings.Contains(lines[0], c.told) || strings.Contains(lines[0], "secret") {
			t.Errorf("%s: told %q, want %q", c.url, lines, c.told)
		}
	}
}
