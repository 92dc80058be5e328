package tool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"heddle/internal/message"
)

func named(name string) Tool {
	return Tool{Name: name, Description: "does " + name, Schema: json.RawMessage(`{"type":"object"}`), Run: func(_ context.Context, c Call) Result {
		return Text(name + " ran as " + c.Name + " with " + string(c.Input))
	}}
}

// proxy calls the tool that its input names.
func proxy() Tool {
	t := named("Proxy")
	t.Proxy = func(c Call) (Call, error) {
		c.Name = strings.Trim(string(c.Input), `"`)
		if c.Name == "" {
			return c, errors.New("which tool?")
		}
		c.Input = json.RawMessage(`{}`)
		return c, nil
	}
	return t
}

func textOf(r Result) string { return message.Message{Content: r.Content}.Text() }

func TestPoolCall(t *testing.T) {
	t.Parallel()
	shelf := Shelf(func() []Tool { return []Tool{named("late"), named("shown")} })
	base, err := NewPool(named("shown"), proxy(), Tool{Name: "broken", Run: func(context.Context, Call) Result { panic("no") }})
	if err != nil {
		t.Fatal(err)
	}
	var judged []string
	pool := base.Behind(shelf.Get).Wrap(func(t Tool, next Handler) Handler {
		return func(ctx context.Context, c Call) Result {
			judged = append(judged, t.Name+"/"+c.Name)
			return next(ctx, c)
		}
	})
	for _, test := range []struct{ name, input, want, judged string }{
		{"shown", `{}`, "shown ran as shown with {}", "shown/shown"},
		{"late", `{}`, "late ran as late with {}", "late/late"},
		{"Proxy", `"late"`, "late ran as late with {}", "late/late"},
		{"Proxy", `"shown"`, "shown ran as shown with {}", "shown/shown"},
		{"Proxy", `"Proxy"`, "Proxy cannot be called by way of another tool. Call it directly.", ""},
		{"Proxy", `"gone"`, `There is no tool named "gone", or not any more. Look for it with ToolSearch.`, ""},
		{"Proxy", `""`, "which tool?", ""},
		{"gone", `{}`, `There is no tool named "gone". Use one of the tools you were given.`, ""},
		{"broken", `{}`, "The tool broken failed inside heddle: no", "broken/broken"},
	} {
		judged = nil
		got := textOf(pool.Call(t.Context(), Call{Name: test.name, Input: json.RawMessage(test.input)}))
		if !strings.HasPrefix(got, test.want) {
			t.Errorf("Call(%s, %s) = %q, want %q", test.name, test.input, got, test.want)
		}
		if strings.Join(judged, " ") != test.judged {
			t.Errorf("Call(%s, %s) was judged as %v, want %q", test.name, test.input, judged, test.judged)
		}
	}
	if n := len(pool.Tools()); n != 3 {
		t.Errorf("the model is shown %d tools, want 3", n)
	}
	if _, err := pool.Add(named("shown")); err == nil {
		t.Error("a second tool of one name was added")
	}
	more, err := pool.Add(named("more"))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := more.Get("late"); !ok {
		t.Error("a pool with more tools has lost those that are not shown")
	}
}

func TestShelfSearch(t *testing.T) {
	t.Parallel()
	var tools []Tool
	shelf := Shelf(func() []Tool { return tools })
	for _, text := range []string{
		"mcp__tracker__issue_create: Creates an issue", "mcp__tracker__issue_list: Lists issues", "mcp__mail__send: Sends mail about an issue",
	} {
		name, description, _ := strings.Cut(text, ": ")
		tools = append(tools, Tool{Name: name, Description: description})
	}
	for _, test := range []struct {
		query string
		n     int
		want  string
		found int
	}{
		{"issue create", 5, "issue_create issue_list send", 3},
		{"issue", 1, "issue_create", 3},
		{"+mail issue", 5, "send", 1},
		{"ISSUE LIST", 1, "issue_list", 3},
		{"select:mcp__mail__send, mcp__tracker__issue_list,nothing", 5, "send issue_list", 2},
		{"weather", 5, "", 0},
		{"", 2, "issue_create issue_list", 3},
	} {
		best, found := shelf.Search(test.query, test.n)
		var names []string
		for _, b := range best {
			names = append(names, b.Name[strings.LastIndex(b.Name, "__")+2:])
		}
		if got := strings.Join(names, " "); got != test.want || found != test.found {
			t.Errorf("Search(%q, %d) = %q of %d, want %q of %d", test.query, test.n, got, found, test.want, test.found)
		}
	}
	tools = tools[:1]
	if _, ok := shelf.Get("mcp__mail__send"); ok {
		t.Error("a tool that was taken off the shelf is still there")
	}
}
