package tool

import (
	"slices"
	"strings"
	"testing"
)

func TestNamesOfServers(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"git": "git", "my server": "my_server", "my.server": "my_server", "a__b": "a_b", "_a_": "a", "ü": "server_" + mark("ü"), "a-b": "a-b", "plugin:x": "plugin_x",
		strings.Repeat("a", 40): strings.Repeat("a", 23) + "_" + mark(strings.Repeat("a", 40)),
	} {
		got := ServerName(name)
		if got != want || ServerName(got) != got || len(got) > MaxServer {
			t.Errorf("ServerName(%q) = %q, want %q", name, got, want)
		}
	}
	long := strings.Repeat("long", 40)
	if got := ServerTool("git", long); len(got) != MaxName || !strings.HasPrefix(got, "mcp__git__long") || !strings.HasSuffix(got, "_"+mark("git\x00"+long)) {
		t.Errorf("ServerTool(git, long…) = %q", got)
	}
}

func TestServerNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 20)
	for text, want := range map[string][]string{
		"Bash":                     {"Bash"},
		"mcp__":                    {"mcp__"},
		"*":                        {"*"},
		"mcp__*":                   {"mcp__*"},
		"mcp__git":                 {"mcp__git"},
		"mcp__my server":           {"mcp__my_server"},
		"mcp__my server__x":        {"mcp__my_server__x", "mcp__my_server_x"},
		"mcp__my.server__do it":    {"mcp__my_server__do_it", "mcp__my_server_do_it"},
		"mcp__my server__*":        {"mcp__my_server__*"},
		"mcp__my se*":              {"mcp__my_se*"},
		"mcp__*__do it":            {"mcp__*__do_it"},
		"mcp__git__get_*":          {"mcp__git__get_*"},
		"mcp__a__b":                {"mcp__a__b", "mcp__a_b"},
		"mcp__a__b__c":             {"mcp__a__b__c", "mcp__a_b__c", "mcp__a_b_c"},
		"mcp__a__b__*":             {"mcp__a__b__*", "mcp__a_b__*"},
		"mcp__rude___x":            {"mcp__rude___x", "mcp__rude_x"},
		"mcp__" + long:             {"mcp__" + ServerName(long)},
		"mcp__" + long + "__*":     {"mcp__" + ServerName(long) + "__*"},
		"mcp__git__" + long:        {ServerTool("git", long), "mcp__" + ServerName("git__"+long)},
		"mcp__ü__x":                {"mcp__" + ServerName("ü") + "__x", "mcp__x"},
		ServerTool("git", long):    {ServerTool("git", long), "mcp__" + ServerName(strings.TrimPrefix(ServerTool("git", long), "mcp__"))},
		"mcp__" + ServerName(long): {"mcp__" + ServerName(long)},
	} {
		if got := ServerNames(text); !slices.Equal(got, want) {
			t.Errorf("ServerNames(%q) = %q, want %q", text, got, want)
		}
	}
}
