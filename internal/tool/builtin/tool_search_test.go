package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"heddle/internal/tool"
)

func TestToolSearch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var tools []tool.Tool
	shelf := tool.Shelf(func() []tool.Tool { return tools })
	if got := b.ok(ToolSearch(shelf, nil), args{"query": "x"}); got != "There are no further tools at the moment." {
		t.Errorf("an empty shelf: %q", got)
	}
	for i := range 60 {
		tools = append(tools, tool.Tool{Name: fmt.Sprintf("mcp__s__t%d", i), Description: "<b>counts</b> " + strings.Repeat("x", 5000), Schema: json.RawMessage(`{"type":"object"}`)})
	}
	got := b.ok(ToolSearch(shelf, nil), args{"query": "counts", "max_results": "20"})
	if len(got) > foundLength+1000 || strings.Count(got, "input_schema") != 11 || !strings.Contains(got, "(49 more fit") {
		t.Errorf("ToolSearch gave %d bytes with %d tools; ends with %q", len(got), strings.Count(got, "input_schema"), got[len(got)-100:])
	}
	if got := b.ok(ToolSearch(shelf, nil), args{"query": "select:mcp__s__t59"}); !strings.HasPrefix(got, `{"name":"mcp__s__t59"`) {
		t.Errorf("select: %.100q", got)
	}
	late := func(context.Context) []string { return []string{"slow"} }
	if got := b.ok(ToolSearch(shelf, late), args{"query": "weather"}); !strings.HasSuffix(got, "Not there yet: slow. Search again later for what you miss.") {
		t.Errorf("a server that still starts: %q", got)
	}
	if got := b.ok(ToolSearch(shelf, nil), args{"query": "weather"}); !strings.Contains(got, "mcp__s__t49 and 10 more.") {
		t.Errorf("nothing fits: %q", got)
	}
}

func TestCallTool(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shelf := tool.Shelf(func() []tool.Tool {
		return []tool.Tool{{Name: "echo", Run: func(_ context.Context, c tool.Call) tool.Result { return tool.Text(string(c.Input)) }}}
	})
	pool, err := tool.NewPool(CallTool())
	if err != nil {
		t.Fatal(err)
	}
	pool = pool.Behind(shelf.Get)
	for _, test := range []struct{ input, want string }{
		{`{"name":"echo","input":{"a":1}}`, `{"a":1}`},
		{`{"name":"echo","input":"{\"a\":1}"}`, `{"a":1}`}, // models write objects as strings at times
		{`{"name":"echo","input":null}`, `{}`},
		{`{"name":"echo"}`, `{}`},
		{`{"input":{}}`, "CallTool: name is missing."},
		{`{"name":7}`, "CallTool: name must be a string, not number."},
		{`{"name":"CallTool","input":{}}`, "CallTool cannot be called by way of another tool."},
	} {
		got := textOf(pool.Call(t.Context(), tool.Call{Name: "CallTool", Input: json.RawMessage(test.input), Scope: b.scope}))
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("CallTool(%s) = %q, want %q", test.input, got, test.want)
		}
	}
}
