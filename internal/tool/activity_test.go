package tool

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestActivityOf(t *testing.T) {
	for _, test := range []struct{ tool, input, want string }{
		{"Read", `{"file_path":"/p/src/foo.ts"}`, "Reading src/foo.ts"},
		{"Read", `{"file_path":"/etc/hosts"}`, "Reading /etc/hosts"},
		{"Edit", `{"file_path":"/p/a.go"}`, "Editing a.go"},
		{"Grep", `{"pattern":"x.*y","path":"/p"}`, "Searching for x.*y"},
		{"Bash", `{"command":"go test ./...\necho done"}`, "Running go test ./..."},
		{"Bash", `{"command":"go test","description":"Run the tests"}`, "Run the tests"},
		{"Bash", `{"command":"\u001b[31mred\u0007"}`, "Running  [31mred"},
		{"CallTool", `{"name":"mcp__files__list_dir"}`, "Using files list_dir"},
		{"mcp__files__read", `{}`, "Using files read"},
		{"Read", `[1]`, "Reading"},
		{"TodoWrite", `{"todos":[]}`, "Planning"},
	} {
		if got := ActivityOf(test.tool, json.RawMessage(test.input), "/p"); got.Words != test.want {
			t.Errorf("ActivityOf(%s, %s) = %q, want %q", test.tool, test.input, got.Words, test.want)
		}
	}
	a := ActivityOf("Bash", json.RawMessage(`{"command":"`+strings.Repeat("ä", 1000)+`"}`), "/p")
	if len(a.Words) > activityWords+3 || len(a.Input) > activityInput+3 || !utf8.ValidString(a.Words+a.Input) {
		t.Errorf("a long command becomes %q, %q", a.Words, a.Input)
	}
	if !ActivityOf("Grep", nil, "").Search || !ActivityOf("Read", nil, "").Read || ActivityOf("Bash", nil, "").Read {
		t.Error("what searches and what reads is not told apart")
	}
}
