package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

func parse(t testing.TB, text string) (servers []Config, told []string) {
	t.Helper()
	l, err := config.Text(config.Project, ".mcp.json", []byte(text))
	if l == nil {
		return nil, []string{err.Error()}
	}
	if err != nil {
		told = append(told, err.Error())
	}
	vars := map[string]string{"HOME": "/home/ada", "TOKEN": "${HOME}", "EMPTY": ""}
	servers, problems, warnings := Parse(l.At("mcpServers"), "project", func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	})
	for _, p := range append(problems, warnings...) {
		told = append(told, p.Error())
	}
	return servers, told
}

func TestParse(t *testing.T) {
	t.Parallel()
	servers, told := parse(t, `{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "${HOME}/x", "${NONE:-d e}", "${EMPTY:-full}", "$HOME ${not a var} ${"], "env": {"T": "${TOKEN}"}},
  "web": {"type": "http", "url": "https://example.com/${NONE:-mcp}?k=${TOKEN}", "headers": {"Authorization": "Bearer ${NONE:-x}"}, "timeout": 1500},
  "old": {"type": "sse", "url": "http://localhost:1/sse"},
  "bare": {"url": "http://localhost:1/mcp"},
  "off": {"command": "x", "disabled": true, "alwaysAllow": []},
  "unset": {"url": "http://localhost:1/mcp", "headers": {"Authorization": "Bearer ${MISSING}"}}
}}`)
	var got []string
	for _, c := range servers {
		got = append(got, fmt.Sprint(c.Name, " ", c.Type, " ", c.Command, c.Args, c.Env, c.URL, c.Headers, c.Timeout, c.Disabled, " ", c.Origin))
	}
	want := []string{
		"files stdio npx[-y /home/ada/x d e full $HOME ${not a var} ${] map[T:${HOME}]map[] 0s false .mcp.json:2:12",
		"web http [] map[]https://example.com/mcp?k=${HOME}map[Authorization:Bearer x] 1.5s false .mcp.json:3:10",
		"old sse [] map[]http://localhost:1/ssemap[] 0s false .mcp.json:4:10",
		"bare http [] map[]http://localhost:1/mcpmap[] 0s false .mcp.json:5:11",
		"off stdio x[] map[]map[] 0s true .mcp.json:6:10",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	wantTold := []string{
		`.mcp.json:7:12: MCP server "unset": the variable MISSING is not set; set it, or write ${MISSING:-default}`,
		`.mcp.json:6:45: MCP server "off": alwaysAllow: unknown setting`,
	}
	if diff := cmp.Diff(wantTold, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestBadEntriesCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	for _, bad := range brokenEntries() {
		if bad == "null" {
			continue // the same as leaving it out
		}
		servers, told := parse(t, "{\"mcpServers\": {\n\"good\": {\"command\": \"x\"},\n\"bad\": "+bad+"\n}}")
		if len(servers) == 0 || servers[0].Name != "good" {
			t.Errorf("%s: the good one is lost: %q", bad, told)
		}
		if len(servers) == 1 && (len(told) == 0 || !strings.Contains(strings.Join(told, " "), ".mcp.json:3:")) {
			t.Errorf("%s: left out without file and line: %q", bad, told)
		}
	}
}

// brokenEntries are wrong in each way that an entry can be: every value of each kind at
// every place.
func brokenEntries() []string {
	values := []string{`null`, `true`, `7`, `-1.5`, `""`, `" "`, `"\u0000"`, `"x y"`, `[]`, `[1]`, `["a", null]`, `{}`, `{"a": 1}`, `{"a=b": "c"}`, `{"": "c"}`, `{"a": "b\nc"}`}
	var list []string
	list = append(list, values...)
	for _, key := range []string{"type", "command", "args", "env", "url", "headers", "timeout", "disabled", "unknown"} {
		for _, v := range values {
			list = append(list, fmt.Sprintf(`{%q: %s}`, key, v), fmt.Sprintf(`{"command": "x", %q: %s}`, key, v), fmt.Sprintf(`{"url": "http://h/", %q: %s}`, key, v))
		}
	}
	return append(list,
		`{"type": "ws", "url": "ws://x"}`, `{"type": "stdio"}`, `{"type": "http"}`, `{"type": "http", "url": "ftp://x"}`, `{"type": "http", "url": "http://"}`,
		`{"type": "http", "url": "http://[::1"}`, `{"command": "x", "url": "http://y"}`, `{"command": "x", "command": "y"}`, `{"type": "nonsense", "command": "x"}`)
}

func TestSecretsAreNotTold(t *testing.T) {
	t.Parallel()
	c := Config{
		Name: "a", Type: "http", URL: "https://user:pass@example.com/mcp?key=0123456789",
		Headers: map[string]string{"Authorization": "Bearer abcdefghijkl"}, Env: map[string]string{"KEY": "abcdefghijklmnop", "DEBUG": "true"},
	}
	got := c.redact(`Post "https://user:pass@example.com/mcp?key=0123456789": abcdefghijklmnop, abcdefghijkl true`)
	if want := `Post "https://hidden@example.com/mcp?hidden": …, … true`; got != want {
		t.Errorf("redact = %s\nwant %s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"mcpServers": {"a": {"command": "x", "args": ["${A:-b}", "${"]}}}`)
	f.Add(`{"mcpServers": {"a": {"url": "http://x", "headers": {"a": "b"}}, "b": null, "b": []}}`)
	for _, e := range brokenEntries()[:40] {
		f.Add(`{"mcpServers": {"a": ` + e + `}}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		servers, _ := parse(t, text)
		for _, c := range servers {
			if err := c.check(); err != nil {
				t.Errorf("Parse let pass: %v", err)
			}
			_ = c.Where()
		}
	})
}

func FuzzMessages(f *testing.F) {
	for _, seed := range []string{"", "hello", `{"jsonrpc":"2.0","id":1,"result":{}}`, `[{"jsonrpc":"2.0","method":"x"}]`, `[`, `{"jsonrpc":"2.0","id":{},"error":7}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		for _, m := range messages(line) {
			if m == nil {
				t.Error("a message is nil")
			}
		}
	})
}

func FuzzSchema(f *testing.F) {
	for _, seed := range []string{`{}`, `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"$ref":"#/$defs/b"}}}`, `{"anyOf":[{}]}`, `{"properties":{"a":{"pattern":"("}}}`, `[]`, `{"items":[[[]]]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := config.Text(config.Project, "schema", []byte(text))
		if err != nil || l == nil {
			return
		}
		schema, _, err := cleanSchema(anyOf(l.JSON()))
		if err == nil && (len(schema) == 0 || schema[0] != '{') {
			t.Errorf("cleanSchema(%s) = %s", text, schema)
		}
	})
}

func anyOf(text []byte) (v any) {
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	return v
}
