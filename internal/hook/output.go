package hook

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// fields reads an object whose author may have erred: a field of the wrong type is left
// out and noted, and costs no other.
type fields struct {
	values map[string]json.RawMessage
	path   string
	notes  *[]string
}

// object reads text as an object.
func object(text []byte, path string, notes *[]string) (fields, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(text, &values); err != nil {
		return fields{}, err
	}
	return fields{values, path, notes}, nil
}

func isObject(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) && json.Valid(text)
}

// get decodes a field into v, which stays as it is if there is none.
func (f fields) get(name string, v any, want string) {
	text, ok := f.values[name]
	if !ok || string(text) == "null" {
		return
	}
	if err := json.Unmarshal(text, v); err != nil {
		f.note(name, want+" is expected")
	}
}

func (f fields) note(name, what string) {
	*f.notes = append(*f.notes, fmt.Sprintf("%s%s is ignored: %s", f.path, name, what))
}

func (f fields) text(name string) (s string) {
	f.get(name, &s, "a string")
	return s
}

func (f fields) flag(name string) (b bool) {
	f.get(name, &b, "true or false")
	return b
}

// word returns a field that has to be one of a few words.
func (f fields) word(name string, words ...string) string {
	s := f.text(name)
	for _, w := range words {
		if s == w {
			return s
		}
	}
	if s != "" {
		f.note(name, fmt.Sprintf("%.40q is none of %s", s, strings.Join(words, ", ")))
	}
	return ""
}

// raw returns a field of any type, or nothing if it is missing or null.
func (f fields) raw(name string) json.RawMessage {
	if text := f.values[name]; len(text) > 0 && string(text) != "null" {
		return text
	}
	return nil
}

// value returns a field that begins with one of the brackets.
func (f fields) value(name string, bracket byte, want string) json.RawMessage {
	text := f.raw(name)
	if text != nil && text[0] != bracket {
		f.note(name, want+" is expected")
		return nil
	}
	return text
}

func (f fields) object(name string) (fields, bool) {
	text := f.value(name, '{', "an object")
	if text == nil {
		return fields{}, false
	}
	inner, err := object(text, f.path+name+".", f.notes)
	return inner, err == nil
}

// parseOutput reads what a hook of the event answers with, an object. Notes say what of
// it was ignored; an error says that it is no object.
func parseOutput(e Event, text []byte) (o Outcome, notes []string, err error) {
	f, err := object(text, "", &notes)
	if err != nil {
		return Outcome{}, nil, err
	}
	goOn := true
	f.get("continue", &goOn, "true or false")
	if o.Stop = !goOn; o.Stop {
		o.StopReason = f.text("stopReason")
	}
	if s := f.text("systemMessage"); s != "" {
		o.Messages = []string{s}
	}
	for _, name := range []string{"permissionDecision", "updatedInput", "additionalContext", "updatedToolOutput", "behavior"} {
		if f.raw(name) != nil {
			f.note(name, "it belongs into hookSpecificOutput")
		}
	}
	o.general(e, f)
	if inner, ok := f.object("hookSpecificOutput"); ok {
		if name := inner.text("hookEventName"); name != "" && Event(name) != e {
			f.note("hookSpecificOutput", fmt.Sprintf("it is for %.40q", name))
		} else {
			o.specific(e, inner)
		}
	}
	return o, notes, nil
}

// general reads the decision that every event may have.
func (o *Outcome) general(e Event, f fields) {
	reason := f.text("reason")
	switch f.word("decision", "block", "approve") {
	case "block":
		if !o.block(e, reason) {
			f.note("decision", fmt.Sprintf("%s cannot be held back", e))
		}
	case "approve":
		if e == PreToolUse {
			o.Decision, o.Reason = Allow, reason
		}
	}
}

// block holds back what the event is about, and reports whether that can be.
func (o *Outcome) block(e Event, reason string) bool {
	switch {
	case e == PostToolUseFailure && reason != "": // it is over: the model can only be told
		o.Context = append(o.Context, reason)
		return true
	case !known[e].blocks:
		return false
	}
	o.Blocked, o.Block = true, cmp.Or(reason, noReason)
	switch e {
	case PreToolUse:
		o.Decision, o.Reason = Deny, o.Block
	case Elicitation, ElicitationResult:
		o.Action, o.Content = "decline", nil
	}
	return true
}

// specific reads hookSpecificOutput.
func (o *Outcome) specific(e Event, f fields) {
	if s := f.text("additionalContext"); s != "" {
		o.Context = append(o.Context, s)
	}
	switch e {
	case PreToolUse:
		o.judgement(f)
	case PermissionRequest:
		o.permission(f)
	case PostToolUse:
		o.UpdatedOutput = f.raw("updatedToolOutput")
	case SessionStart:
		o.Title, o.FirstPrompt = f.text("sessionTitle"), f.text("initialUserMessage")
	case UserPromptSubmit:
		o.Title, o.SuppressPrompt = f.text("sessionTitle"), f.flag("suppressOriginalPrompt")
	case Elicitation, ElicitationResult:
		if !o.Blocked {
			o.Action = f.word("action", "accept", "decline", "cancel")
			o.Content = f.value("content", '{', "an object")
		}
	}
}

func (o *Outcome) judgement(f fields) {
	o.UpdatedInput = f.value("updatedInput", '{', "an object, the whole input of the call,")
	reason := f.text("permissionDecisionReason")
	switch d := f.word("permissionDecision", Allow, AskUser, Deny, "defer"); {
	case d == Deny:
		o.block(PreToolUse, reason)
	case d == "" || o.Decision == Deny: // "block" beside it is not undone
	case d == "defer":
		f.note("permissionDecision", "a call cannot wait for later here, so the user is asked")
		o.Decision, o.Reason = AskUser, reason
	default:
		o.Decision, o.Reason = d, reason
	}
}

func (o *Outcome) permission(f fields) {
	d, ok := f.object("decision")
	if !ok {
		return
	}
	behavior := d.word("behavior", Allow, Deny)
	if behavior == "" {
		return
	}
	o.Permission = &Permission{
		Behavior: behavior, Message: d.text("message"), Interrupt: d.flag("interrupt"),
		UpdatedInput:       d.value("updatedInput", '{', "an object"),
		UpdatedPermissions: d.value("updatedPermissions", '[', "a list"),
	}
}
