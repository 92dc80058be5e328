package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mode decodes itself and knows which values it has.
type mode string

func (m *mode) UnmarshalText(text []byte) error {
	if s := string(text); s != "plan" && s != "default" {
		return fmt.Errorf("unknown mode %q: want default or plan", s)
	}
	*m = mode(text)
	return nil
}

// names is a list, or a single name.
type names []string

func (n *names) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = names{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(n))
}

type base struct {
	Title string `json:"title"`
}

type everything struct {
	base
	Text    string                     `json:"text"`
	Flag    *bool                      `json:"flag"`
	Count   int                        `json:"count"`
	Small   uint8                      `json:"small"`
	Ratio   float64                    `json:"ratio"`
	List    []string                   `json:"list"`
	Matrix  [][]int                    `json:"matrix"`
	Env     map[string]string          `json:"env"`
	Servers map[string]server          `json:"servers"`
	Mode    mode                       `json:"mode"`
	Names   names                      `json:"names"`
	Any     any                        `json:"any"`
	Raw     map[string]json.RawMessage `json:"raw"`
	Hidden  string                     `json:"-"`
	Plain   string
}

type server struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

func TestSectionDecodesAllShapes(t *testing.T) {
	p := newPlace(t)
	p.write(User, `{"all": {"title": "t", "text": "x", "flag": true, "count": -3, "small": 255, "ratio": 1e-2, "list": ["a"],
		"matrix": [[1], []], "env": {"K": "v"}, "servers": {"s": {"command": "c", "args": ["1"], "new": 1}}, "mode": "plan",
		"names": "one", "any": [1, {"x": null}], "raw": {"r": {"z": 1, "a": 2}}, "Hidden": "no", "private": "no", "Plain": "p"}}`)
	p.write(Project, `{"all": {"servers": {"s": {"args": ["0"]}}, "env": {"L": "w"}}}`)
	yes := true
	want := everything{base: base{"t"}, Text: "x", Flag: &yes, Count: -3, Small: 255, Ratio: 0.01, List: []string{"a"},
		Matrix: [][]int{{1}, {}}, Env: map[string]string{"K": "v", "L": "w"},
		Servers: map[string]server{"s": {"c", []string{"0", "1"}}}, Mode: "plan", Names: names{"one"},
		Any: []any{1.0, map[string]any{}}, Raw: map[string]json.RawMessage{"r": json.RawMessage(`{"z":1,"a":2}`)}, Plain: "p"}
	got := section[everything](t, p.find(), "all")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(everything{})); diff != "" {
		t.Errorf("section (-want +got):\n%s", diff)
	}
}

func TestWrongTypesNameTheirPlace(t *testing.T) {
	tests := []struct{ value, want string }{
		{`{"list": 3}`, `1:17: all.list: expected a list of strings, found a number`},
		{`{"list": ["a", 3]}`, `1:23: all.list[1]: expected a string, found a number`},
		{`{"list": [null]}`, `1:18: all.list[0]: expected a string, found null`},
		{`{"matrix": [3]}`, `1:20: all.matrix[0]: expected a list of numbers, found a number`},
		{`{"count": 1.5}`, `1:18: all.count: expected a whole number, found 1.5`},
		{`{"small": 256}`, `1:18: all.small: expected a whole number, found 256`},
		{`{"ratio": "1"}`, `1:18: all.ratio: expected a number, found a string`},
		{`{"flag": "yes"}`, `1:17: all.flag: expected true or false, found a string`},
		{`{"env": []}`, `1:16: all.env: expected an object, found a list`},
		{`{"servers": {"a b": true}}`, `1:28: all.servers."a b": expected an object, found true or false`},
		{`{"mode": "fast"}`, `1:17: all.mode: unknown mode "fast": want default or plan`},
		{`{"mode": 3}`, `1:17: all.mode: expected a string, found a number`},
		{`{"names": 3}`, `1:18: all.names: found number, which cannot be used here`},
		{`3`, `1:8: all: expected an object, found a number`},
	}
	for _, tt := range tests {
		p := newPlace(t)
		file := p.write(User, `{"all":`+tt.value+`}`)
		_, err := Section[everything](p.find(), "all")
		if err == nil || err.Error() != file+":"+tt.want {
			t.Errorf("%s:\n got %v\nwant %s", tt.value, err, file+":"+tt.want)
		}
		var problem *Problem
		if !errors.As(err, &problem) || problem.Layer != User {
			t.Errorf("%s: the error does not carry its layer", tt.value)
		}
	}
}

// A list of rules must not vanish because a higher layer hides that it is broken.
func TestHiddenValuesAreCheckedToo(t *testing.T) {
	p := newPlace(t)
	user := p.write(User, `{"permissions": {"deny": "x", "defaultMode": 1, "alow": 1}}`)
	p.write(Project, `{"permissions": {"deny": ["y"], "defaultMode": "plan"}}`)
	_, err := Section[rules](p.find(), "permissions")
	want := user + ":1:26: permissions.deny: expected a list of strings, found a string\n" +
		user + ":1:46: permissions.defaultMode: expected a string, found a number"
	if err == nil || err.Error() != want {
		t.Errorf("Section:\n got %v\nwant %s", err, want)
	}
}

func TestUnknownKeysAreWarnings(t *testing.T) {
	p := newPlace(t)
	user := p.write(User, `{"modle": "x", "permissions": {"Allow": [], "zzz": 1}, "servers": {"s": {"comand": ""}}}`)
	type all struct {
		Model       string            `json:"model"`
		Permissions *rules            `json:"permissions"`
		Servers     map[string]server `json:"servers"`
	}
	l := p.find()
	section[all](t, l, "")
	want := []string{
		user + `:1:2: modle: unknown setting; did you mean "model"?`,
		user + `:1:32: permissions.Allow: unknown setting; did you mean "allow"?`,
		user + `:1:45: permissions.zzz: unknown setting`,
		user + `:1:74: servers.s.comand: unknown setting; did you mean "command"?`,
	}
	var got []string
	for _, w := range Unknown[all](l, "") {
		got = append(got, w.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if got := Unknown[rules](l, "permissions"); len(got) != 2 {
		t.Errorf("warnings of the section = %v, want 2", got)
	}
	if got := Unknown[rules](l, "nothing"); got != nil {
		t.Errorf("warnings of nothing = %v", got)
	}
}

func TestErrorsAreOneLineEach(t *testing.T) {
	p := newPlace(t)
	p.write(User, "{\"all\": {\"mode\": \"a\\nb\", \"env\": {\"x\\ny\": 1}}}")
	_, err := Section[everything](p.find(), "all")
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("Section: %v, want two lines", err)
	}
}
