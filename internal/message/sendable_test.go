package message

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSendable(t *testing.T) {
	t.Parallel()
	text := func(s string) Block { return Text{Text: s} }
	result := func(content ...Block) Block { return ToolResult{ToolUseID: "a", Content: content} }
	for _, test := range []struct {
		name     string
		in, want []Block
	}{
		{"as it is", []Block{text("a"), result(text("b"))}, []Block{text("a"), result(text("b"))}},
		{"no content of a result", []Block{result()}, []Block{result()}},
		{"a blank text", []Block{text(""), text("a"), text(" \n\t")}, []Block{text("a")}},
		{"nothing but blank", []Block{text(" ")}, []Block{text("(nothing)")}},
		{"a blank result", []Block{result(text("")), result(text("x"), text("\n"))}, []Block{result(text("(no output)")), result(text("x"))}},
		{"an image stays", []Block{result(text(""), Image{MediaType: "image/png", Data: "x"})}, []Block{result(Image{MediaType: "image/png", Data: "x"})}},
	} {
		in := Message{Role: User, Content: test.in}
		before := in.AppendJSON(nil)
		got := in.Sendable()
		if d := cmp.Diff(test.want, got.Content); d != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, d)
		}
		if after := in.AppendJSON(nil); string(after) != string(before) {
			t.Errorf("%s: the message itself was changed to %s", test.name, after)
		}
	}
}

func TestSendableCostsNothing(t *testing.T) {
	m := Message{Role: User, Content: []Block{Text{Text: "a"}, ToolResult{Content: []Block{Text{Text: "b"}}}}}
	if n := testing.AllocsPerRun(100, func() { _ = m.Sendable() }); n > 0 {
		t.Errorf("a message that needs no change costs %v allocations", n)
	}
}
