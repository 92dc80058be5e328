package anthropic

import (
	"bytes"
	"cmp"
	"slices"
	"strconv"

	"heddle/internal/message"
	"heddle/internal/model"
)

const (
	longMark = `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	mark     = `,"cache_control":{"type":"ephemeral"}`
)

// EncodePrefix serialises system prompt and tools. The last block of them, in
// the order in which the API reads them, is cached for an hour.
func (p *Provider) EncodePrefix(prompt model.Prompt) []byte {
	var dst []byte
	system := slices.DeleteFunc(slices.Clone(prompt.System), func(s string) bool { return s == "" })
	if len(system) > 0 {
		dst = append(dst, `"system":[`...)
		for i, text := range system {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"type":"text","text":`...)
			dst = message.AppendString(dst, text)
			if i == len(system)-1 {
				dst = append(dst, longMark...)
			}
			dst = append(dst, '}')
		}
		dst = append(dst, "],"...)
	}
	if len(prompt.Tools) > 0 {
		dst = append(dst, `"tools":[`...)
		for i, t := range prompt.Tools {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"name":`...)
			dst = message.AppendString(dst, t.Name)
			dst = append(dst, `,"description":`...)
			dst = message.AppendString(dst, t.Description)
			dst = append(dst, `,"input_schema":`...)
			dst = append(dst, t.Schema...)
			if i == len(prompt.Tools)-1 && len(system) == 0 {
				dst = append(dst, longMark...)
			}
			dst = append(dst, '}')
		}
		dst = append(dst, "],"...)
	}
	return dst
}

// EncodeMessage serialises one message: its canonical form is that of this API.
func (p *Provider) EncodeMessage(m message.Message) []byte { return m.AppendJSON(nil) }

// body puts a request together. Up to the end of the messages it begins with
// the bytes of the request before it, but for marks.
func body(r *model.Request) *model.Body {
	first := append([]byte(nil), `{"model":`...)
	first = append(message.AppendString(first, r.Model.ID), ',')

	tail := append([]byte(nil), `],"max_tokens":`...)
	tail = strconv.AppendInt(tail, int64(cmp.Or(r.MaxTokens, r.Model.MaxOutput)), 10)
	tail = append(tail, `,"stream":true`...)
	if r.Model.Thinking != "" {
		// A model that always thinks takes this form too; without it, it thinks unseen.
		tail = append(tail, `,"thinking":{"type":"adaptive","display":"summarized"}`...)
	}
	if r.Effort != "" {
		tail = append(tail, `,"output_config":{"effort":`...)
		tail = message.AppendString(tail, r.Effort)
		tail = append(tail, '}')
	}
	// The API itself marks the last block. Together with the prefix and two marks
	// that makes four, which is all it takes.
	tail = append(tail, mark+`}`...)
	return &model.Body{
		Head: [3][]byte{first, r.Prefix, []byte(`"messages":[`)}, Messages: r.Messages, Tail: tail, Splices: splices(r),
	}
}

// splices places the marks. A message that cannot bear one, and the last one,
// get none.
func splices(r *model.Request) []model.Splice {
	var out []model.Splice
	for _, i := range r.Marks {
		if i < 0 || i >= len(r.Messages)-1 || len(out) == 2 {
			continue
		}
		if at, ok := markable(r.Messages[i]); ok {
			out = append(out, model.Splice{Message: i, Offset: at, Text: mark})
		}
	}
	return out
}

// markable returns where in a message of a user the mark of its last block
// goes. Thinking bears none, and only an assistant thinks; nor does empty text.
func markable(m []byte) (offset int, ok bool) {
	end := []byte(`}]}`)
	if !bytes.HasPrefix(m, []byte(`{"role":"user"`)) || !bytes.HasSuffix(m, end) ||
		bytes.HasSuffix(m, []byte(`"text":""}]}`)) {
		return 0, false
	}
	return len(m) - len(end), true
}
