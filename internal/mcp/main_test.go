package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"heddle/internal/process"
)

// serverVariable makes this program a server of that behaviour.
const serverVariable = "HEDDLE_TEST_SERVER"

// awayVariable names a file: while it is there, the server does not come up.
const awayVariable = "HEDDLE_TEST_AWAY"

func TestMain(m *testing.M) {
	if kind := os.Getenv(serverVariable); kind != "" {
		if _, err := os.Stat(os.Getenv(awayVariable)); err == nil {
			os.Exit(4)
		}
		serve(kind)
		return
	}
	goleak.VerifyTestMain(adopted{m})
}

type adopted struct{ m *testing.M }

func (a adopted) Run() int {
	release, err := process.Adopt()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer release()
	return a.m.Run()
}

// command is a server that is this program.
func command(name, kind string) Config {
	return Config{Name: name, Type: "stdio", Command: os.Args[0], Env: map[string]string{serverVariable: kind}}
}

// open returns a set whose servers have settled. It is closed at the end of the test.
func open(t *testing.T, o Options, configs ...Config) *Set {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.Env == nil {
		o.Env = os.Environ
	}
	s := NewSet(o)
	if err := s.Open(configs...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	s.Settled(t.Context())
	return s
}

func serve(kind string) {
	switch kind {
	case "silent": // never answers, and does not go away
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	case "broken":
		fmt.Fprintln(os.Stderr, "cannot find the database\x1b[31m")
		os.Exit(3)
	case "modern", "noise", "batch", "rude", "big", "endless", "pings", "nonsense", "clash":
		byHand(kind)
	default:
		version := fmt.Sprint(os.Getpid(), " ", os.Getenv(process.MarkVariable))
		server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: version}, &sdk.ServerOptions{Instructions: "Use it well."})
		addTools(server)
		_ = server.Run(context.Background(), &sdk.StdioTransport{})
	}
}

type textInput struct {
	Text string `json:"text"`
}

func text(s string) (*sdk.CallToolResult, any, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}, nil, nil
}

// addTools makes a server one that has everything.
func addTools(server *sdk.Server) {
	sdk.AddTool(server, &sdk.Tool{Name: "echo", Description: "Say it again", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, _ *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
			return text(in.Text)
		})
	sdk.AddTool(server, &sdk.Tool{Name: "die"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
		return nil, nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "wait"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: 1, Total: 2, Message: "half"})
		<-ctx.Done()
		return nil, nil, ctx.Err()
	})
	sdk.AddTool(server, &sdk.Tool{Name: "grow"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		sdk.AddTool(server, &sdk.Tool{Name: "new"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
			return text("new")
		})
		return text("grown")
	})
	sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		a, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Message: "Which colour?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"colour":{"type":"string"}}}`)})
		if err != nil {
			return nil, nil, err
		}
		return text(fmt.Sprint(a.Action, a.Content["colour"]))
	})
	server.AddPrompt(&sdk.Prompt{Name: "greet", Arguments: []*sdk.PromptArgument{{Name: "who", Required: true}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: "Greet " + r.Params.Arguments["who"]}}}}, nil
	})
	server.AddResource(&sdk.Resource{URI: "test://one", Name: "one"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "test://one", Text: "first\x1b[2J"}}}, nil
	})
}

// byHand serves in ways that the library does not: bytes as they should not be.
func byHand(kind string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	if kind == "noise" {
		fmt.Println("Welcome to the server!\n{not json}\n\n[1,2]")
	}
	for in.Scan() {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Arguments struct {
					MB int `json:"mb"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if json.Unmarshal(in.Bytes(), &r) != nil || len(r.ID) == 0 {
			continue
		}
		answer(kind, r.Method, string(r.ID), r.Params.Arguments.MB)
	}
}

func answer(kind, method, id string, megabytes int) {
	reply := func(result string) {
		line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, id, result)
		if kind == "batch" {
			line = "[" + line + "]"
		}
		fmt.Println(line)
	}
	capabilities := `"capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"hand","version":"1"}`
	switch {
	case method == "initialize" && kind == "modern":
		reply(`"error":{"code":-32601,"message":"no such method"}`)
	case method == "server/discover" && kind == "modern":
		reply(`"result":{"supportedVersions":["2026-07-28"],"resultType":"complete",` + capabilities + `}`)
	case method == "initialize":
		reply(`"result":{"protocolVersion":"2025-06-18",` + capabilities + `}`)
	case method == "tools/list" && kind == "endless":
		reply(`"result":{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}}` + strings.Repeat(`,{"name":""}`, 200) + `],"nextCursor":"c` + id + `"}`)
	case method == "resources/list" && kind == "endless":
		reply(`"result":{"resources":[],"nextCursor":"more"}`)
	case method == "tools/list" && kind == "clash":
		reply(`"result":{"tools":[{"name":"delete.all","inputSchema":{"type":"object"}},{"name":"delete_all","inputSchema":{"type":"object"}},{"name":"delete all","inputSchema":{"type":"object"}}]}`)
	case method == "tools/call" && kind == "pings":
		for {
			if _, err := fmt.Println(`{"jsonrpc":"2.0","id":"p","method":"ping"}`); err != nil {
				return
			}
		}
	case method == "tools/call" && kind == "nonsense":
		reply(`"result":{"content":"not a list"}`)
	case method == "tools/list" && kind == "rude":
		reply(`"result":{"tools":[` + strings.Join([]string{
			`{"name":"good","description":"\u001b[31mred","inputSchema":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"number"}}}}`,
			`{"name":"listed","inputSchema":[]}`,
			`{"name":"text","inputSchema":"object"}`,
			`{"name":"array","inputSchema":{"type":"array"}}`,
			`{"name":"wrong","inputSchema":{"type":"object","properties":{"a":{"type":"nonsense"}}}}`,
			`{"name":"outside","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.com/schema"}}}}`,
			`{"name":"odd","inputSchema":{"type":"object","properties":{"a b!":{"type":"string"}}}}`,
			`{"name":"","inputSchema":{"type":"object"}}`,
			`{"name":"good","inputSchema":{"type":"object"}}`,
			`{"name":"none"}`,
			`{"name":"either","inputSchema":{"type":"object","anyOf":[{"required":["a"]}],"properties":{"a":{"type":"string"}}}}`,
			`{"name":"ünïcode name/` + strings.Repeat("long", 40) + `","inputSchema":{"type":"object"}}`,
		}, ",") + `]}`)
	case method == "tools/call":
		reply(`"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", megabytes*1_000_000) + `"}]}`)
	case method == "tools/list":
		reply(`"result":{"tools":[{"name":"only","inputSchema":{"type":"object"}}],"resultType":"complete","ttlMs":0}`)
	default:
		reply(`"error":{"code":-32601,"message":"no such method"}`)
	}
}
