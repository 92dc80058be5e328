package openai

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"heddle/internal/model"
	"heddle/internal/model/sse"
)

func FuzzErrorBody(f *testing.F) {
	for _, s := range []string{
		`{"error":{"message":"m","type":"t","code":"c"}}`, `{"error":"text"}`, `{"detail":[{"text":"x"}]}`,
		`{"object":"error","message":"m","code":400}`, `{"error":null}`, `"x"`, `[]`, ``,
	} {
		f.Add([]byte(s), 400)
		f.Add([]byte(s), 200)
	}
	f.Fuzz(func(t *testing.T, body []byte, status int) {
		for _, err := range []error{refine(&model.Error{Status: status, Class: model.BadRequest, Message: "m"}, body), inStream(body)} {
			e := err.(*model.Error)
			if e.Class == "" || !utf8.ValidString(e.Message) {
				t.Errorf("%q: %+v", body, e)
			}
		}
	})
}

// A chunk that fits the template means what it means when it is decoded.
func FuzzTemplate(f *testing.F) {
	const call = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,%s"function":{"arguments":%s}}]}}]}`
	for _, c := range []string{
		`{"choices":[{"index":0,"delta":{"content":%s}}]}`,
		`{"choices":[{"index":3,"delta":{"content":%s}}]}`,
		`{"choices":[{"index":0,"delta":{"content":%s,"reasoning":"r"},"finish_reason":null}],"usage":null}`,
		`{"choices":[{"index":0,"delta":{"reasoning_content":%s,"content":""}}]}`,
		`{"choices":[{"index":0,"delta":{"content":"a","content":%s}}]}`,
		`{"choices":[{"index":0,"delta":{"content":%s}}],"usage":{"prompt_tokens":1}}`,
		`{"content":%s,"choices":[{"index":0,"delta":{"content":"x"}}]}`,
		strings.Replace(call, "%s", "", 1),
		strings.Replace(call, "%s", `"id":"x",`, 1),
		strings.Replace(call, "%s", `"id":"x","name":"n",`, 1),
	} {
		f.Add(c, "a", `b\n"`, "{")
	}
	f.Fuzz(func(t *testing.T, form, a, b, c string) {
		before, after, ok := strings.Cut(form, "%s")
		if !ok {
			return
		}
		decode := func(templates bool) (events []model.Event, failure string) {
			d := newDecoder(func(e model.Event, _ error) bool { events = append(events, e); return true }, &model.Request{}, Compatible())
			for _, text := range []string{quote(a), quote(b), `"` + c + `"`, quote(a + b)} {
				if !templates {
					d.template = template{}
				}
				if err := d.event(sse.Event{Data: []byte(before + text + after)}); err != nil {
					return events, err.Error()
				}
			}
			return events, ""
		}
		fast, fastErr := decode(true)
		slow, slowErr := decode(false)
		if d := cmp.Diff(slow, fast); d != "" || fastErr != slowErr {
			t.Errorf("form %s: %q, want %q (-slow +fast):\n%s", form, fastErr, slowErr, d)
		}
	})
}
