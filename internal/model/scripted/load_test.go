package scripted

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func turns(body string) string { return "agents:\n  - turns: [" + body + "]\n" }

func TestErrorsSayWhereAndWhat(t *testing.T) {
	for _, c := range []struct{ script, want string }{
		{"", `f.yaml: the script is empty; it needs at least "agents:"`},
		{"# only a comment\n", "f.yaml: the script is empty"},
		{"\xff", "f.yaml: the script is not UTF-8 text"},
		{"agents:\n", "f.yaml:1:1: the script has no agents"},
		{"agents: [null]\n", "f.yaml:1:1: the script has no agents, or one that is nothing"},
		{"agents: 5\n", "f.yaml:1:9: want a list, not a number"},
		{"hello\n", "f.yaml:1:1: want a mapping, not a text"},
		{"- a\n", "f.yaml:1:1: want a mapping, not a list"},
		{"agents:\n  - main: true\n", "f.yaml:2:5: this agent has no turns"},
		{"agents:\n  - main: true\n    turns:\n      - txt: hi\n", `f.yaml:4:9: unknown field "txt"`},
		{"agents:\n  - turns:\n    - {text: hi}\n   bad: x\n", "f.yaml:4:4: "},
		{"agents:\n  - turns: [{text: hi}]\n---\na: b\n", "a script is one YAML document"},
		{"agents: &a\n  - turns: [{text: x}]\n", "f.yaml:1:9: a script has no anchors and aliases"},
		{turns("{text: *a}"), "f.yaml:2:20: a script has no anchors and aliases"},
		{turns("{text: !!str x}"), "f.yaml:2:20: a script has no tags"},
		{turns("{text: a, text: b}"), `f.yaml:2:23: mapping key "text" already defined`},
		{turns("{text: [a]}"), "f.yaml:2:20: want a text, not a list"},
		{turns("{chunk: x}"), "f.yaml:2:21: want a number, not a text"},
		{turns("{chunk: -1}"), "f.yaml:2:13: chunk: want a number of characters"},
		{turns("{expect: '('}"), "f.yaml:2:22: error parsing regexp: missing closing ): `(`"},
		{turns("{expect: [a]}"), "f.yaml:2:22: want a regular expression, not a list"},
		{turns("{wait: ''}"), `want a regular expression, not ""`},
		{turns("{pause: 5}"), "f.yaml:2:21: want a time such as 200ms or 3s, not 5"},
		{turns("{pause: -5s}"), `want a time such as 200ms or 3s, not "-5s"`},
		{turns("{repeat: 0}"), "want a number from 1, or forever, not 0"},
		{turns("{repeat: always}"), `want a number from 1, or forever, not "always"`},
		{turns("{repeat: forever}, {text: a}"), "f.yaml:2:13: this turn repeats forever"},
		{turns("{stop: nope}"), `f.yaml:2:13: stop: there is no reason "nope"`},
		{turns("{stop: end_turn, refusal: {}}"), "a refusal cannot stop for another reason"},
		{turns("{text: (waiting)}"), "is what a turn says that is held back"},
		{turns("{text: 'a ${x}'}"), "f.yaml:2:13: ${x} is captured by no turn up to here; write $${x}"},
		{turns("{text: 'a ${result.0}'}"), "${result.0} is captured by no turn"},
		{turns("{text: 'a ${x}'}, {capture: {x: a}}"), "${x} is captured by no turn"},
		{turns("{calls: [{tool: A, input: {a: ['${x}']}}]}"), "${x} is captured by no turn"},
		{turns("{capture: {'a b': x}}"), `capture: "a b" is no name`},
		{turns("{capture: {'a}': x}}"), `capture: "a}" is no name`},
		{turns("{capture: {result.1: x}}"), `capture: "result.1" is no name`},
		{turns("{calls: [{input: {}}]}"), "a call names its tool"},
		{turns("{calls: [{tool: A, input_raw: x, input: {}}]}"), "either input or input_raw"},
		{turns("{calls: [{tool: A, input: {a: 1, a: 2}}]}"), `mapping key "a" already defined`},
		{turns("{calls: [{tool: A, input: {a: .nan}}]}"), "f.yaml:2:43: JSON has no nan"},
		{turns("{fail: {}}"), "a failure is one of"},
		{turns("{fail: {status: 429, cut: within}}"), "a failure is one of"},
		{turns("{fail: {status: 200}}"), "want a status from 300 to 599, not 200"},
		{turns("{fail: {status: 500, after: 2}}"), "not with a status"},
		{turns("{fail: {cut: here}}"), `want between, within or clean, not "here"`},
		{"window: -5\n" + turns("{text: a}"), "f.yaml:1:1: window"},
		{turns(strings.Repeat("[", 2000)), "f.yaml:2:1: this nests too deeply"},
		{turns("{text: '" + strings.Repeat("x", maxScript) + "'}"), "the script is larger than 1048576 bytes"},
	} {
		_, err := Load("f.yaml", []byte(c.script))
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("Load(%.80q): error %v, want %s", c.script, err, c.want)
		}
	}
}

func TestLoadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.yaml")
	if _, err := LoadFile(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.WriteFile(path, []byte("\xef\xbb\xbf"+turns("{text: hi}")), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := LoadFile(path); err != nil || s.Agents[0].Turns[0].Text != "hi" {
		t.Errorf("LoadFile = %+v, %v", s, err)
	}
	if _, err := LoadFile(filepath.Dir(path)); err == nil {
		t.Error("a directory was loaded")
	}
}

// The input of a call keeps what a model would have written: order, spelling, and
// texts that look like something else.
func TestInput(t *testing.T) {
	for in, want := range map[string]string{
		`{z: 1, a: {y: 2, b: [1, x]}}`:    `{"z":1,"a":{"y":2,"b":[1,"x"]}}`,
		`{n: 1.50, m: -3, h: 0x10}`:       `{"n":1.50,"m":-3,"h":16}`,
		`{b: true, s: "true", n: null}`:   `{"b":true,"s":"true","n":null}`,
		`{}`:                              `{}`,
		`[]`:                              `[]`,
		`hello`:                           `"hello"`,
		`{-n: true, "a b": "é\n\"<"}`:     `{"-n":true,"a b":"é\n\"<"}`,
		`{c: "for i; do echo $${i} $i;"}`: `{"c":"for i; do echo ${i} $i;"}`,
		`{big: 10000000000000001}`:        `{"big":10000000000000001}`,
	} {
		s, err := Load("f", []byte("agents:\n - turns:\n   - calls:\n     - tool: A\n       input: "+in+"\n"))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		got, err := s.Agents[0].Turns[0].Calls[0].Input.fill(nil)
		if err != nil || string(got) != want {
			t.Errorf("input %s is %s, %v, want %s", in, got, err, want)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(turns(`{text: hi, expect: "a(b)", capture: {x: "(y)"}, calls: [{tool: A, input: {a: "${x}"}}]}`)))
	f.Add([]byte("window: 5\nusage: {input: 1}\nquirks: {no_ids: true}\nagents:\n  - main: true\n    prompt: /x/\n    turns:\n      - wait: n\n        fail: {cut: within, after: 2, times: forever}\n        repeat: 3\n"))
	f.Add([]byte("agents:\n  - turns:\n      - text: |\n          a\n          b\n        calls:\n          - tool: X\n            input_raw: '{'\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Load("f", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") {
				t.Errorf("error without a place: %v", err)
			}
			return
		}
		// What loads can be played.
		for _, a := range s.Agents {
			for _, turn := range a.Turns {
				at := &track{agent: &a, values: values{"result.last": "x"}}
				if held, err := at.meets(turn); held || err != nil {
					continue
				}
				_, _ = turn.answer(at, turnAgent)
			}
		}
	})
}
