package config

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/tailscale/hujson"
)

func TestSyntaxErrorsNameTheirPlace(t *testing.T) {
	const early = "the text ends too early: a quote, a bracket or the end of a comment is missing"
	deep := strings.Repeat("[", 5000)
	tests := []struct{ text, want string }{
		{`{"a": tru}`, `f:1:7: tru is not a value; text stands in double quotes`},
		{"{\n  \"a\": 1\n  \"b\": 2}", `f:3:3: invalid character '"' after object value (expecting ',' or '}')`},
		{`{"é": "ü" x}`, `f:1:11: invalid character 'x' after object value (expecting ',' or '}')`},
		{"{\"a\": \"x\ny\"}", `f:1:7: this string has a line break, a control character or a wrong escape in it`},
		{`{"a": "\q"}`, `f:1:7: this string has a line break, a control character or a wrong escape in it`},
		{`{"a": 'x'}`, `f:1:7: invalid character '\'' at start of value`},
		{`{"a": 01}`, `f:1:7: 01 is not a value; text stands in double quotes`},
		{`{"a": "x`, `f:1:9: ` + early},
		{`{"a": `, `f:1:7: ` + early},
		{`{`, `f:1:2: ` + early},
		{`{} /* x`, `f:1:4: ` + early},
		{`{,}`, `f:1:2: invalid character ',' at start of value`},
		{`{} {}`, `f:1:4: invalid character '{' after top-level value`},
		{`{1: 2}`, `f:1:2: invalid character '1' at start of object name`},
		{"{\"a\": \"\xff\"}", `f:1:8: not UTF-8 text`},
		{"\xff\xfe{\x00}\x00", `f:1:1: not UTF-8 text`}, // UTF-16
		{`{"a":` + deep, `f:1:105: nested deeper than 100 levels`},
		{`"text"`, `f:1:1: expected an object, found a string`},
		{`null`, `f:1:1: expected an object, found null`},
	}
	for _, tt := range tests {
		_, problems := parse([]byte(tt.text), Origin{File: "f"})
		err := errors.Join(problems...)
		if err == nil || err.Error() != tt.want {
			t.Errorf("parse(%.40q):\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func TestCommentsAndTrailingCommas(t *testing.T) {
	text := "\ufeff// [[[\r\n{ /* {{{ */ \"a\": [1, 2,], // \"x\n \"s\": \"[[ // \\\" [[\", }\n// end"
	n, err := parse([]byte(text), Origin{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(n.appendJSON(nil)), `{"a":[1,2],"s":"[[ // \" [["}`; got != want {
		t.Errorf("parse = %s, want %s", got, want)
	}
}

func TestBracketsInTextAreNotDepth(t *testing.T) {
	many := strings.Repeat("[", 200)
	for _, text := range []string{
		`{"a": "` + many + `"}`,
		`{} // ` + many,
		`{} /* ` + many + ` */`,
		`{"a": [` + strings.Repeat("[],", 200) + `]}`,
	} {
		if _, err := parse([]byte(text), Origin{}); err != nil {
			t.Errorf("parse(%.20q): %v", text, err)
		}
	}
}

func TestLargeFileOfOneLine(t *testing.T) {
	const n = 150_000
	root, problems := parse([]byte(`{"ü":[`+strings.Repeat("1, ", n)+`{}]}`), Origin{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	items := root.members["ü"].items
	if got, want := items[n].at.Column, 1+len(`{"u":[`)+3*n; len(items) != n+1 || got != want {
		t.Errorf("the last of %d elements is at column %d, want %d", len(items), got, want)
	}
}

// Whatever stands in a file: a tree that is valid JSON, or errors of one line
// each that name a place inside the text.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a": [1, "x", null, true, {"b": {}}], }`, "// c\n{}", `{"a":1,"a":2}`, `{"\ud800": 1}`,
		"{\"a\": \"\\", "{/*", "[", "\xff", "{\"a\":\x00}", `{"a": "\"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, problems := parse(text, Origin{File: "f"})
		for _, p := range problems {
			if !strings.HasPrefix(p.Error(), "f:") || strings.Contains(p.Error(), "\n") {
				t.Errorf("%q is not a line with a place", p)
			}
		}
		if n == nil {
			return
		}
		got := n.appendJSON(nil)
		if !json.Valid(got) {
			t.Errorf("tree is not JSON: %q", got)
		}
		if _, err := hujson.Standardize(text); err != nil && !strings.HasPrefix(string(text), "\ufeff") {
			t.Errorf("accepted what the library refuses: %v", err)
		}
	})
}
