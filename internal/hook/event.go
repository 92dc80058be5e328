package hook

import (
	"maps"
	"slices"

	"heddle/internal/spelling"
)

// Event is a moment at which hooks run.
type Event string

// All events that files may name. Not every one happens in this program, see
// [Event.Supported].
const (
	SessionStart        Event = "SessionStart"
	Setup               Event = "Setup"
	SessionEnd          Event = "SessionEnd"
	InstructionsLoaded  Event = "InstructionsLoaded"
	UserPromptSubmit    Event = "UserPromptSubmit"
	UserPromptExpansion Event = "UserPromptExpansion"
	MessageDisplay      Event = "MessageDisplay"
	PreToolUse          Event = "PreToolUse"
	PermissionRequest   Event = "PermissionRequest"
	PermissionDenied    Event = "PermissionDenied"
	PostToolUse         Event = "PostToolUse"
	PostToolUseFailure  Event = "PostToolUseFailure"
	PostToolBatch       Event = "PostToolBatch"
	Notification        Event = "Notification"
	SubagentStart       Event = "SubagentStart"
	SubagentStop        Event = "SubagentStop"
	Stop                Event = "Stop"
	StopFailure         Event = "StopFailure"
	TaskCreated         Event = "TaskCreated"
	TaskCompleted       Event = "TaskCompleted"
	TeammateIdle        Event = "TeammateIdle"
	ConfigChange        Event = "ConfigChange"
	CwdChanged          Event = "CwdChanged"
	DirectoryAdded      Event = "DirectoryAdded"
	FileChanged         Event = "FileChanged"
	WorktreeCreate      Event = "WorktreeCreate"
	WorktreeRemove      Event = "WorktreeRemove"
	PreCompact          Event = "PreCompact"
	PostCompact         Event = "PostCompact"
	Elicitation         Event = "Elicitation"
	ElicitationResult   Event = "ElicitationResult"
)

// traits are what the events differ in.
type traits struct {
	subject string // what a matcher is compared with; empty: there are no matchers
	happens bool   // in this program
	call    bool   // it is about one call, so a hook may have an "if"
	blocks  bool   // exit code 2 and "decision": "block" hold something back
	prose   bool   // plain output is for the model
	model   bool   // a prompt hook makes sense
	literal bool   // a matcher is never a regular expression
}

// known has the traits of every event.
var known = map[Event]traits{
	SessionStart:        {subject: "source", happens: true, prose: true},
	Setup:               {subject: "trigger"},
	SessionEnd:          {subject: "reason", happens: true},
	InstructionsLoaded:  {subject: "load_reason"},
	UserPromptSubmit:    {happens: true, blocks: true, prose: true, model: true},
	UserPromptExpansion: {subject: "command_name", happens: true, blocks: true, prose: true, model: true},
	MessageDisplay:      {},
	PreToolUse:          {subject: "tool_name", happens: true, call: true, blocks: true, model: true},
	PermissionRequest:   {subject: "tool_name", happens: true, call: true, model: true},
	PermissionDenied:    {subject: "tool_name", call: true, model: true},
	PostToolUse:         {subject: "tool_name", happens: true, call: true, blocks: true, model: true},
	PostToolUseFailure:  {subject: "tool_name", happens: true, call: true, model: true},
	PostToolBatch:       {happens: true, blocks: true, model: true},
	Notification:        {subject: "notification_type", happens: true},
	SubagentStart:       {subject: "agent_type", happens: true},
	SubagentStop:        {subject: "agent_type", happens: true, blocks: true, model: true},
	Stop:                {happens: true, blocks: true, model: true},
	StopFailure:         {subject: "error", happens: true, literal: true},
	TaskCreated:         {blocks: true, model: true},
	TaskCompleted:       {blocks: true, model: true},
	TeammateIdle:        {blocks: true, model: true},
	ConfigChange:        {subject: "source", blocks: true},
	CwdChanged:          {happens: true},
	DirectoryAdded:      {subject: "source"},
	FileChanged:         {subject: "file_path", literal: true},
	WorktreeCreate:      {blocks: true},
	WorktreeRemove:      {},
	PreCompact:          {subject: "trigger", happens: true, blocks: true},
	PostCompact:         {subject: "trigger", happens: true},
	Elicitation:         {subject: "mcp_server_name", happens: true, blocks: true},
	ElicitationResult:   {subject: "mcp_server_name", happens: true, blocks: true},
}

// Events returns all events, in alphabetical order.
func Events() []Event { return slices.Sorted(maps.Keys(known)) }

// Supported reports whether the event happens in this program. Hooks of the others are
// read and checked, and never run.
func (e Event) Supported() bool { return known[e].happens }

// Subject is the field of the input that a matcher is compared with; empty: hooks of the
// event run whatever their matcher says.
func (e Event) Subject() string { return known[e].subject }

// similar returns the event that a name was probably meant to be, or nothing.
func similar(name string) Event {
	const longest = 40 // far longer than any event; the comparison takes time in proportion
	if len(name) > longest {
		return ""
	}
	var best Event
	least := 4
	for _, e := range Events() {
		if d := spelling.Distance(name, string(e)); d < least {
			best, least = e, d
		}
	}
	return best
}
