package anthropic

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// plainDelta takes apart the event of which a stream mostly consists, where it
// is written the way the API writes it. Everything else, and everything odd, is
// left to encoding/json, which says the same of these events but takes several
// times as long.
func plainDelta(data []byte) (index int, kind, text string, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"type":"content_block_delta","index":`))
	if !ok || len(rest) == 0 || rest[0] < '0' || rest[0] > '9' || rest[0] == '0' && len(rest) > 1 && rest[1] != ',' {
		return 0, "", "", false
	}
	for len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9' {
		if index = index*10 + int(rest[0]-'0'); index > 1<<20 {
			return 0, "", "", false
		}
		rest = rest[1:]
	}
	for _, f := range []struct{ kind, lead string }{
		{textDelta, `,"delta":{"type":"text_delta","text":`},
		{inputDelta, `,"delta":{"type":"input_json_delta","partial_json":`},
		{thinkingDelta, `,"delta":{"type":"thinking_delta","thinking":`},
	} {
		after, found := bytes.CutPrefix(rest, []byte(f.lead))
		if !found {
			continue
		}
		// The string is all but the two braces that end the event.
		literal, found := bytes.CutSuffix(bytes.TrimRight(after, " "), []byte(`}`))
		if !found {
			break
		}
		literal, found = bytes.CutSuffix(bytes.TrimRight(literal, " "), []byte(`}`))
		if !found {
			break
		}
		text, found = unquote(literal)
		return index, f.kind, text, found
	}
	return 0, "", "", false
}

// unquote decodes a JSON string.
func unquote(literal []byte) (string, bool) {
	if len(literal) < 2 || literal[0] != '"' || literal[len(literal)-1] != '"' {
		return "", false
	}
	inner := literal[1 : len(literal)-1]
	for _, c := range inner {
		if c < ' ' || c == '"' || c == '\\' {
			var s string
			err := json.Unmarshal(literal, &s)
			return s, err == nil
		}
	}
	if !utf8.Valid(inner) {
		return "", false
	}
	return string(inner), true
}
