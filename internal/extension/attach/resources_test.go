package attach

import (
	"strings"
	"testing"
)

func TestResourcesAreListedAndRead(t *testing.T) {
	t.Parallel()
	s, _ := serversOf(t, ServerOptions{}, "a")
	s.o.Set.Settled(t.Context())
	pool := poolOf(t, s.Tools()...)
	list := `{"description":"","mimeType":"","name":"one <1>","server":"s","uri":"test://one"}` + "\n" +
		`{"description":"","mimeType":"","name":"any","server":"s","uriTemplate":"test://{n}"}` + "\n"
	for _, c := range []struct{ tool, input, want string }{
		{"ListMcpResources", `{}`, list},
		{"ListMcpResources", `{"server":"s"}`, list},
		{"ListMcpResources", `{"server":"none"}`, `error: there is no MCP server "none".`},
		{"ListMcpResources", `{"server":7}`, "error: "},
		{"ReadMcpResource", `{"server":"s","uri":"test://one"}`, "the first"},
		{"ReadMcpResource", `{"server":"s","uri":"test://two"}`, `error: the MCP server "s" cannot give test://two: `},
		{"ReadMcpResource", `{"server":"none","uri":"test://one"}`, `error: there is no MCP server "none". ListMcpResources lists`},
		{"ReadMcpResource", `{"server":"s"}`, "error: ReadMcpResource needs server and uri."},
		{"ReadMcpResource", `[]`, "error: "},
	} {
		if got := callOf(t, pool, c.tool, c.input); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s = %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

// Lists need no permission; what a resource says does.
func TestReadingAResourceNeedsPermission(t *testing.T) {
	t.Parallel()
	s, _ := serversOf(t, ServerOptions{})
	for _, one := range s.Tools() {
		if asks := one.Effects != nil; asks != (one.Name == "ReadMcpResource") {
			t.Errorf("%s has effects: %v", one.Name, asks)
		}
	}
}
