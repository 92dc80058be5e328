package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"heddle/internal/message"
)

// wireResult is a [Result] with the bytes that its message would have.
type wireResult struct {
	Head
	Result json.RawMessage `json:"result"`
}

// encode returns r as one line, with its end.
func encode(r Record) ([]byte, error) {
	var kind string
	var body any = r
	switch r := r.(type) {
	case Header:
		kind = "header"
	case Message:
		if role := r.Message.Role; role != message.User && role != message.Assistant {
			return nil, fmt.Errorf("message role %q: want user or assistant", role)
		}
		r.Message.Content = cleanBlocks(r.Message.Content)
		kind, body = "message", r
	case Result:
		block := cleanBlock(r.Result)
		kind, body = "result", wireResult{r.Head, block.AppendJSON(nil)}
	case Compaction:
		kind = "compaction"
	case Restored:
		kind = "restored"
	case Rewind:
		kind = "rewind"
	case Title:
		kind = "title"
	case Name:
		kind = "name"
	case Mode:
		kind = "mode"
	case Model:
		kind = "model"
	case Note:
		kind = "note"
	case Unknown:
		var line bytes.Buffer
		if err := json.Compact(&line, r.JSON); err != nil {
			return nil, err
		}
		return append(line.Bytes(), '\n'), nil
	case Damaged:
		return nil, errors.New("a damaged record cannot be written")
	default:
		panic(fmt.Sprintf("transcript: record of type %T", r))
	}
	var line bytes.Buffer
	line.WriteString(`{"type":"` + kind + `"`)
	start := line.Len()
	// The encoder would write <, > and & of a tool input in another spelling
	// than the one that was sent.
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return nil, err
	}
	line.Bytes()[start] = ','
	return line.Bytes(), nil
}

// cleanBlocks returns blocks whose encoding is valid JSON that decodes to the
// same encoding. Well-behaved producers send nothing else; one bad block must
// not make a session unreadable.
func cleanBlocks(blocks []message.Block) []message.Block {
	out := make([]message.Block, len(blocks))
	for i, b := range blocks {
		out[i] = cleanBlock(b)
	}
	return out
}

func cleanBlock(b message.Block) message.Block {
	switch b := b.(type) {
	case message.ToolUse:
		b.Input, _ = message.CleanInput(b.Input)
		return b
	case message.ToolResult:
		b.Content = cleanBlocks(b.Content)
		return b
	case message.Raw:
		clean, err := message.DecodeBlock(b.JSON)
		if err != nil {
			return message.Text{Text: string(b.JSON)}
		}
		return clean
	}
	return b
}

// typePrefix begins every line that [encode] writes.
var typePrefix = []byte(`{"type":"`)

// typeOf returns the type of the record on a line. It does not say whether
// the rest of the line is valid.
func typeOf(line []byte) (string, error) {
	if rest, ok := bytes.CutPrefix(line, typePrefix); ok {
		if end := bytes.IndexByte(rest, '"'); end > 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
			return string(rest[:end]), nil
		}
	}
	var t struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(line, &t); err != nil {
		return "", err
	}
	if t.Type == "" {
		return "", errors.New("a record without a type")
	}
	return t.Type, nil
}

// decode reads one line.
func decode(line []byte) (Record, error) {
	kind, err := typeOf(line)
	if err != nil {
		return nil, err
	}
	switch kind {
	case "header":
		return decodeAs[Header](line)
	case "message":
		m, err := decodeAs[Message](line)
		if err == nil && m.Message.Role == "" {
			err = errors.New("a message record without a message")
		}
		return m, err
	case "result":
		w, err := decodeAs[wireResult](line)
		if err != nil {
			return nil, err
		}
		b, err := message.DecodeBlock(w.Result)
		if err != nil {
			return nil, err
		}
		result, ok := b.(message.ToolResult)
		if !ok {
			return nil, errors.New("a result record without a tool_result")
		}
		return Result{w.Head, result}, nil
	case "compaction":
		return decodeAs[Compaction](line)
	case "restored":
		return decodeAs[Restored](line)
	case "rewind":
		return decodeAs[Rewind](line)
	case "title":
		return decodeAs[Title](line)
	case "name":
		return decodeAs[Name](line)
	case "mode":
		return decodeAs[Mode](line)
	case "model":
		return decodeAs[Model](line)
	case "note":
		return decodeAs[Note](line)
	}
	if !json.Valid(line) {
		return nil, errors.New("not valid JSON")
	}
	// A newer program may stamp its records in another way.
	head, _ := decodeAs[Head](line)
	return Unknown{Head: head, Type: kind, JSON: bytes.Clone(bytes.TrimSpace(line))}, nil
}

func decodeAs[T any](line []byte) (T, error) {
	var v T
	err := json.Unmarshal(line, &v)
	return v, err
}
