package openai

import (
	"testing"
	"unicode/utf8"

	"heddle/internal/model"
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
