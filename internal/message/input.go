package message

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// CleanInput makes what a model sent as tool input safe to store and to send
// again. Valid input keeps its key order, number spelling and escapes; only
// white space between tokens goes, bytes that are not UTF-8 become U+FFFD, and
// so do escapes of lone surrogates, which no API accepts. Nothing at all means {}.
//
// Input that is not a JSON object is wrapped as {"malformed_input":"…"}, and ok
// is false: the tool must not run.
func CleanInput(raw []byte) (input json.RawMessage, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return json.RawMessage("{}"), true
	}
	if fixed, err := compact(raw); err == nil && fixed[0] == '{' {
		return fixed, true
	}
	wrapped := append([]byte(nil), `{"malformed_input":`...)
	wrapped = AppendString(wrapped, string(raw))
	return append(wrapped, '}'), false
}

// compact removes white space between tokens and repairs strings.
func compact(raw []byte) (json.RawMessage, error) {
	if !utf8.Valid(raw) {
		raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	}
	var buf bytes.Buffer
	buf.Grow(len(raw))
	if err := json.Compact(&buf, raw); err != nil {
		return nil, err
	}
	return replaceLoneSurrogates(buf.Bytes()), nil
}

// replaceLoneSurrogates rewrites \ud800–\udfff escapes that are not part of a
// pair to \ufffd, in place: both are six bytes. data is valid JSON.
func replaceLoneSurrogates(data []byte) []byte {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		hi := surrogate(data[i:])
		switch {
		case hi == 0:
			i++ // the escaped byte, which may itself be a backslash
		case hi < 0xdc00 && surrogate(data[i+6:]) >= 0xdc00:
			i += 11
		default:
			copy(data[i:], `\ufffd`)
			i += 5
		}
	}
	return data
}

// surrogate returns the surrogate that data begins with as an escape, or 0.
func surrogate(data []byte) rune {
	if len(data) < 6 || data[0] != '\\' || data[1] != 'u' {
		return 0
	}
	var r rune
	for _, c := range data[2:6] {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r |= rune(c - '0')
		case c >= 'a' && c <= 'f':
			r |= rune(c-'a') + 10
		case c >= 'A' && c <= 'F':
			r |= rune(c-'A') + 10
		}
	}
	if r < 0xd800 || r > 0xdfff {
		return 0
	}
	return r
}
