package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"heddle/internal/mcp"
	"heddle/internal/session"
	"heddle/internal/task"
	"heddle/internal/task/call"
	"heddle/internal/tool"
)

// silence is an owner of tasks who does not listen.
type silence struct{}

func (silence) Notify(task.Notification) {}
func (silence) Withdraw(string) bool     { return false }

// offer adds tools to a server, of which each says its name.
func offer(server *sdk.Server, names ...string) {
	for _, name := range names {
		server.AddTool(
			&sdk.Tool{
				Name: name, Description: "Does " + name, InputSchema: json.RawMessage(`{"type":"object"}`),
				Annotations: &sdk.ToolAnnotations{ReadOnlyHint: name == "look"}, Meta: sdk.Meta{"anthropic/requiresUserInteraction": name == "person"},
			},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Params.Name + " was done"}}, IsError: r.Params.Name == "fail"}, nil
			})
	}
}

// serversOf returns what an agent has of one server with these tools, and the server.
func serversOf(t *testing.T, o ServerOptions, names ...string) (*Servers, *sdk.Server) {
	t.Helper()
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ServerOptions{Instructions: "Be quick."})
	offer(server, names...)
	server.AddResource(&sdk.Resource{URI: "test://one", Name: "one <1>"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "test://one", Text: "the first"}}}, nil
	})
	server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "test://{n}", Name: "any"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return nil, fmt.Errorf("not there")
	})
	listener := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	tasks, err := task.NewRuntime(task.Options{Dir: t.TempDir(), Notifier: silence{}})
	if err != nil {
		t.Fatal(err)
	}
	o.Set, o.Calls, o.Wait = mcp.NewSet(mcp.Options{Dir: t.TempDir()}), call.Options{Tasks: tasks}, time.Minute
	if err := o.Set.Open(mcp.Config{Name: "s", Type: "http", URL: listener.URL}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, err := range []error{o.Set.Close(context.Background()), tasks.Close(context.Background())} {
			if err != nil {
				t.Error(err)
			}
		}
		listener.CloseClientConnections()
		listener.Close()
	})
	return NewServers(o), server
}

func poolOf(t *testing.T, tools ...tool.Tool) *tool.Pool {
	t.Helper()
	pool, err := tool.NewPool(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func namesOf(tools []tool.Tool) string {
	var names []string
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return strings.Join(names, " ")
}

func callOf(t *testing.T, pool *tool.Pool, name, input string) string {
	t.Helper()
	dir := t.TempDir()
	r := pool.Call(t.Context(), tool.Call{ID: "1", Name: name, Input: json.RawMessage(input), Scope: tool.NewScope(dir, dir)})
	return fmt.Sprint(map[bool]string{true: "error: "}[r.IsError], textOf(r.Content))
}

// The prompt gets what fits into it and may be called; the rest is found behind it.
func TestGatherShowsWhatFits(t *testing.T) {
	t.Parallel()
	hideB := func(t tool.Tool) bool { return t.Name == "mcp__s__b" }
	for name, c := range map[string]struct {
		options      ServerOptions
		ours         string
		shown, shelf string
		brief        string
	}{
		"all":       {ServerOptions{ShowLimit: 10_000}, "Read", "Read mcp__s__a mcp__s__b", "", "2 tools in your list"},
		"no limit":  {ServerOptions{ShowLimit: -1}, "Read", "Read mcp__s__a mcp__s__b", "", "2 tools in your list"},
		"too much":  {ServerOptions{ShowLimit: 10}, "Read", "Read", "mcp__s__a mcp__s__b", "2 tools to be found"},
		"hidden":    {ServerOptions{ShowLimit: 10_000, Hidden: hideB}, "Read", "Read mcp__s__a", "", "s: connected, 1 tool in your list\n"},
		"both":      {ServerOptions{ShowLimit: 10, Hidden: hideB}, "Read", "Read", "mcp__s__a", "1 tool to be found"},
		"our names": {ServerOptions{ShowLimit: 10_000}, "mcp__s__a", "mcp__s__a", "mcp__s__a mcp__s__b", "2 tools to be found"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := serversOf(t, c.options, "a", "b")
			pool := s.Gather(t.Context(), poolOf(t, tool.Tool{Name: c.ours}))
			if got := namesOf(pool.Tools()); got != c.shown {
				t.Errorf("shown = %s, want %s", got, c.shown)
			}
			if got := namesOf(s.Shelf()); got != c.shelf {
				t.Errorf("shelf = %s, want %s", got, c.shelf)
			}
			if got := s.Brief(); !strings.Contains(got, c.brief) || !strings.Contains(got, "Be quick.") {
				t.Errorf("brief = %s, want %q", got, c.brief)
			}
			if _, ok := pool.Get("mcp__s__b"); ok == (c.options.Hidden != nil) {
				t.Errorf("mcp__s__b can be called: %v", ok)
			}
		})
	}
}

// What servers change is news, once, and the prompt stays what it was.
func TestNewsOfAServerThatChanges(t *testing.T) {
	t.Parallel()
	s, server := serversOf(t, ServerOptions{ShowLimit: -1}, "a", "b", "fail")
	pool := s.Gather(t.Context(), poolOf(t))
	if got := s.News(); got != "" {
		t.Errorf("news before the first message = %q", got)
	}
	s.Brief()
	if got := s.News(); got != "" {
		t.Errorf("news of nothing = %q", got)
	}
	changes := func(change func(), want string) {
		t.Helper()
		change()
		for {
			if got := s.News(); strings.Contains(got, want) {
				break
			}
			select { // what changes in several steps is told in several
			case <-s.o.Set.Changed():
			case <-t.Context().Done():
				t.Fatalf("there is no news of %q", want)
			}
		}
		if got := s.News(); got != "" {
			t.Errorf("told again: %q", got)
		}
	}
	changes(func() { offer(server, "late") }, "3 tools in your list; 1 tool to be found with ToolSearch and called with CallTool: mcp__s__late\n")
	changes(func() { server.RemoveTools("b", "late") }, "2 tools in your list; no longer mcp__s__b\n")
	changes(func() {
		server.AddTool(&sdk.Tool{Name: "a", Description: "Does more", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "more"}}}, nil
		})
	}, "1 tool in your list; 1 tool to be found with ToolSearch and called with CallTool: mcp__s__a; no longer mcp__s__b\n")
	if got, want := namesOf(pool.Tools()), "mcp__s__a mcp__s__b mcp__s__fail"; got != want || pool.Tools()[0].Description != "Does a" {
		t.Errorf("in the prompt: %s, want %s", got, want)
	}
	for name, want := range map[string]string{"mcp__s__a": "more", "mcp__s__fail": "error: fail was done", "mcp__s__b": "error: "} {
		if got := callOf(t, pool, name, "{}"); !strings.HasPrefix(got, want) {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if err := s.o.Set.Remove("s"); err != nil {
		t.Fatal(err)
	}
	if got := s.News(); !strings.Contains(got, "s: removed; its tools cannot be called") {
		t.Errorf("news of a server that was removed = %q", got)
	}
}

// A session that goes on has no first message: what there is now is news.
func TestNewsOfASessionThatGoesOn(t *testing.T) {
	t.Parallel()
	s, _ := serversOf(t, ServerOptions{Resumed: true}, "a")
	s.Gather(t.Context(), poolOf(t))
	if got := s.News(); !strings.Contains(got, "s: connected, 1 tool") {
		t.Errorf("news = %q", got)
	}
	if got := s.News(); got != "" {
		t.Errorf("told again: %q", got)
	}
	want := []session.Server{{Name: "s", Status: "connected", Tools: 1}}
	if diff := cmp.Diff(want, s.Status()); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// Whatever a server says of its tools, a call needs permission.
func TestCallsOfServersNeedPermission(t *testing.T) {
	t.Parallel()
	s, _ := serversOf(t, ServerOptions{ShowLimit: -1}, "look", "person")
	pool := s.Gather(t.Context(), poolOf(t))
	for name, want := range map[string]tool.Action{"mcp__s__look": tool.Use, "mcp__s__person": tool.Ask} {
		one, ok := pool.Get(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		effects, err := one.Effects(tool.Call{})
		if err != nil || len(effects) != 1 || effects[0].Action != want {
			t.Errorf("effects of %s = %v, %v, want %v", name, effects, err, want)
		}
	}
}

func TestHooksCallTools(t *testing.T) {
	t.Parallel()
	s, _ := serversOf(t, ServerOptions{}, "a", "fail")
	s.o.Set.Settled(t.Context())
	for name, want := range map[string]string{"a": "a was done <nil>", "fail": " fail was done"} {
		got, err := s.CallText(t.Context(), "s", name, nil)
		if fmt.Sprint(got, " ", err) != want {
			t.Errorf("CallText(%s) = %q, %v, want %s", name, got, err, want)
		}
	}
	if _, err := s.CallText(t.Context(), "none", "a", nil); err == nil || !strings.Contains(err.Error(), `no MCP server "none"`) {
		t.Errorf("CallText of no server: %v", err)
	}
}
