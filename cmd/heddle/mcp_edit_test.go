package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/config"
)

// What is added and removed again leaves a file as it was, whatever it looks like.
func TestMCPFileEdits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file         string
		before, with string
		without      string // after "old" is gone from before; empty: it is not in it
	}{
		"nothing": {".mcp.json", "", "{\n  \"mcpServers\": {\n    \"new\": {\n      \"command\": \"true\"\n    }\n  }\n}\n", ""},
		"comments": {
			"settings.json",
			"// mine\n{\n\t\"model\": \"m\", // why\n\t\"mcpServers\": {\n\t\t// the old one\n\t\t\"old\": {\"command\": \"a\"} // is good\n\t}\n\t/* end */\n}\n// over",
			"// mine\n{\n\t\"model\": \"m\", // why\n\t\"mcpServers\": {\n\t\t// the old one\n\t\t\"old\": {\"command\": \"a\"}, // is good\n\t\t\"new\": {\n\t\t\t\"command\": \"true\"\n\t\t}\n\t}\n\t/* end */\n}\n// over",
			"// mine\n{\n\t\"model\": \"m\", // why\n\t\"mcpServers\": {\n\t\t// the old one\n\t\t// is good\n\t}\n\t/* end */\n}\n// over",
		},
		"trailing comma": {
			"settings.json",
			"{\n  \"mcpServers\": {\n    \"old\": {\"command\": \"a\"}, // x\n  },\n}",
			"{\n  \"mcpServers\": {\n    \"old\": {\"command\": \"a\"}, // x\n    \"new\": {\n      \"command\": \"true\"\n    },\n  },\n}",
			"{\n  \"mcpServers\": {\n    // x\n  },\n}",
		},
		"one line": {
			".mcp.json", `{"mcpServers": {"old": {"command": "a"}, "b": {"command": "b"}}}`,
			`{"mcpServers": {"old": {"command": "a"}, "b": {"command": "b"}, "new": {"command":"true"}}}`,
			`{"mcpServers": {"b": {"command": "b"}}}`,
		},
		"last of a line": {
			".mcp.json", `{"mcpServers": {"b": {"command": "b"}, "old": {"command": "a"}}}`,
			`{"mcpServers": {"b": {"command": "b"}, "old": {"command": "a"}, "new": {"command":"true"}}}`,
			`{"mcpServers": {"b": {"command": "b"}}}`,
		},
		"no object around them": {
			".mcp.json", "{\n \"old\": {\"command\": \"a\"}\n}\n",
			"{\n \"old\": {\"command\": \"a\"},\n \"new\": {\n  \"command\": \"true\"\n }\n}\n",
			"{}\n",
		},
		"null":             {"settings.json", "{\"mcpServers\": null, \"a\": 1}", "{\"mcpServers\": {\n  \"new\": {\n    \"command\": \"true\"\n  }\n}, \"a\": 1}", ""},
		"null in it":       {"settings.json", "{\"mcpServers\": {\"new\": null}}", "{\"mcpServers\": {\"new\": {\n  \"command\": \"true\"\n}}}", ""},
		"other line ends":  {"settings.json", "\ufeff{\r\n  \"a\": 1\r\n}\r\n", "\ufeff{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n    \"new\": {\r\n      \"command\": \"true\"\r\n    }\r\n  }\r\n}\r\n", ""},
		"other lines":      {"settings.json", "{\r\n  \"mcpServers\": {\r\n    \"a\": {},\r\n    \"old\": {}\r\n  }\r\n}", "{\r\n  \"mcpServers\": {\r\n    \"a\": {},\r\n    \"old\": {},\r\n    \"new\": {\r\n      \"command\": \"true\"\r\n    }\r\n  }\r\n}", "{\r\n  \"mcpServers\": {\r\n    \"a\": {}\r\n  }\r\n}"},
		"comma far behind": {"settings.json", "{\"mcpServers\": {\"old\": {} /* a */, \"b\": {}}}", "{\"mcpServers\": {\"old\": {} /* a */, \"b\": {}, \"new\": {\"command\":\"true\"}}}", "{\"mcpServers\": {/* a */ \"b\": {}}}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, []byte(c.before), 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := openServers(config.User, path)
			if err != nil {
				t.Fatal(err)
			}
			with, err := f.with("new", serverEntry{Command: "true"})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.with, string(with.text)); diff != "" {
				t.Errorf("with a server (-want +got):\n%s", diff)
			}
			if c.without == "" {
				return
			}
			without, err := f.without("old")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.without, string(without.text)); diff != "" {
				t.Errorf("without a server (-want +got):\n%s", diff)
			}
		})
	}
}

// An edit of any file that can be read changes what it is about and nothing else.
func FuzzServerFileEdits(f *testing.F) {
	for _, seed := range []string{
		"", "{}", "{\"a\": {}}", "{\n// a\n\"mcpServers\": {\"x\": {\"command\": \"y\"}, /* b */ },\n}", "{\"mcpServers\": {\"a b\": {}, \"new\": null,}}//",
		"\ufeff{\"mcpServers\":{\"x\":{}/*1*/,/*2*/\"y\":{}/*3*/}}", "{\"mcpServers\":\n{\n\"x\":{}//\n,\"y\":{}}}", "{\"mcpServers\": null}", "[]", "{\"mcpServers\": 5}",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, text string, shared bool) {
		path := filepath.Join(t.TempDir(), "settings.json")
		if shared {
			path = filepath.Join(filepath.Dir(path), projectServers)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := openServers(config.User, path)
		if err != nil {
			return // it is refused and stays as it is
		}
		names := file.all().Keys()
		if file.get("new") == nil {
			with, err := file.with("new", serverEntry{Command: "true"})
			if err != nil {
				t.Fatalf("with: %v\n%q", err, text)
			}
			if got := with.get("new"); got == nil || string(got.JSON()) != `{"command":"true"}` {
				t.Errorf("with: the new server is %v in %q", got, with.text)
			}
			same(t, file, with, names)
		}
		for i, name := range names {
			without, err := file.without(name)
			if err != nil {
				t.Fatalf("without %q: %v\n%q", name, err, text)
			}
			if without.get(name) != nil {
				t.Errorf("without: %q is still in %q", name, without.text)
			}
			same(t, file, without, append(append([]string{}, names[:i]...), names[i+1:]...))
		}
	})
}

// same fails the test unless both files have the same under these names, and next to them.
func same(t *testing.T, before, after *serverFile, names []string) {
	t.Helper()
	for _, name := range names {
		if got := after.get(name); got == nil || string(got.JSON()) != string(before.get(name).JSON()) {
			t.Errorf("the server %q is not what it was in %q", name, after.text)
		}
	}
	var old, now map[string]json.RawMessage
	if json.Unmarshal(before.values.JSON(), &old) != nil || json.Unmarshal(after.values.JSON(), &now) != nil {
		t.Fatal("not an object")
	}
	if before.bare() || after.bare() {
		return
	}
	delete(old, serverKey)
	delete(now, serverKey)
	if diff := cmp.Diff(old, now); diff != "" {
		t.Errorf("other settings (-want +got):\n%s", diff)
	}
}
