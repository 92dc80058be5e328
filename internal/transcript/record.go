// Package transcript keeps what was said in a session on disk: one file of
// JSON lines, written by one process at a time, from which a conversation can
// go on after any crash.
//
// To go on with a session:
//
//	w, records, err := transcript.Open(path)
//	messages, repairs := transcript.History(records)
//	for _, r := range repairs {
//		w.Append(r)
//	}
package transcript

import (
	"encoding/json"
	"time"

	"heddle/internal/message"
)

// Record is one line of a transcript: [Header], [Message], [Result],
// [Compaction], [Restored], [Rewind], [Title], [Name], [Mode], [Model], [Note],
// [Unknown], or, only when reading, [Damaged].
type Record interface {
	// Stamp tells the record's id and when it was written.
	Stamp() Head
	stamped(Head) Record
}

// Head is common to all records. [Writer.Append] fills in what is empty.
type Head struct {
	ID   string    `json:"uuid"`
	Time time.Time `json:"time"`
}

// Version is the format that this program writes.
const Version = 1

// Header is the first record of a transcript.
type Header struct {
	Head
	Version int       `json:"version"`
	Session string    `json:"session"`
	Dir     string    `json:"dir"`              // the directory the session works in
	Program string    `json:"program"`          // the version of heddle
	Model   string    `json:"model"`            // at the start
	Parent  string    `json:"parent,omitempty"` // the session this one was forked from
	Start   time.Time `json:"start"`
}

// Message says that a message stands in the conversation.
type Message struct {
	Head
	Message message.Message `json:"message"`
	Origin  string          `json:"origin,omitempty"` // who it comes from, in the agent's words
	InputID string          `json:"input_id,omitempty"`

	// Of an assistant message:
	ResponseID string             `json:"response_id,omitempty"`
	Model      string             `json:"model,omitempty"`
	Stop       message.StopReason `json:"stop_reason,omitempty"`
	Usage      message.Usage      `json:"usage,omitzero"`
	Cost       float64            `json:"cost,omitempty"` // US dollars

	// Sum is kept by the [Writer], so that the end of a large file tells what
	// the whole of it says.
	Sum Sum `json:"sum"`
}

// Sum is what a session came to, up to and including a message.
type Sum struct {
	Turns int     `json:"turns"` // responses of the model
	Cost  float64 `json:"cost,omitempty"`
	Title string  `json:"title,omitempty"`
	Name  string  `json:"name,omitempty"`
}

// Result is the result of one tool call, written as soon as it exists. The
// [Message] that carries the results of all calls supersedes it.
type Result struct {
	Head
	Result message.ToolResult
}

// Compaction is a boundary: the messages before it are not sent any more. It
// takes effect once the messages that replace them are there.
type Compaction struct {
	Head
	Trigger string `json:"trigger"` // manual or auto
	Before  int    `json:"before"`  // tokens of the prompt before
	// Messages is how many messages the new history begins with; 0 means 1.
	Messages int     `json:"messages,omitempty"`
	Cost     float64 `json:"cost,omitempty"`
}

// Restored says that a compaction was cut short and never took effect: what
// was before it is still sent, what came after it up to here is not.
type Restored struct {
	Head
	Boundary string `json:"boundary"` // the id of the [Compaction]
}

// Rewind says that only the first Keep messages of the conversation, as
// [History] returns it, stand in it any more.
type Rewind struct {
	Head
	Keep int `json:"keep"`
}

// Title says what the session is about. The last one counts.
type Title struct {
	Head
	Title string `json:"title"`
}

// Name is what a person calls the session. The last one counts.
type Name struct {
	Head
	Name string `json:"name"`
}

// Mode says that the permission mode changed.
type Mode struct {
	Head
	Mode string `json:"mode"`
}

// Model says that another model answers from here on.
type Model struct {
	Head
	Model string `json:"model"`
}

// Note is something a reader of the transcript may want to know, and the
// model does not.
type Note struct {
	Head
	Kind string `json:"kind,omitempty"`
	Text string `json:"text"`
}

// Unknown is a record of a type that this program does not know, as a newer
// one wrote it.
type Unknown struct {
	Head
	Type string
	JSON json.RawMessage // the whole line
}

// Damaged stands where the file could not be read. It is never written.
type Damaged struct {
	Line   int // counted from 1
	Offset int64
	Size   int64
	Err    error
	Aside  string // where [Open] kept the bytes, if it cut them off the end
}

// Stamp implements [Record].
func (h Head) Stamp() Head { return h }

// Stamp implements [Record]. There is none.
func (Damaged) Stamp() Head { return Head{} }

func (r Header) stamped(h Head) Record     { r.Head = h; return r }
func (r Message) stamped(h Head) Record    { r.Head = h; return r }
func (r Result) stamped(h Head) Record     { r.Head = h; return r }
func (r Compaction) stamped(h Head) Record { r.Head = h; return r }
func (r Restored) stamped(h Head) Record   { r.Head = h; return r }
func (r Rewind) stamped(h Head) Record     { r.Head = h; return r }
func (r Title) stamped(h Head) Record      { r.Head = h; return r }
func (r Name) stamped(h Head) Record       { r.Head = h; return r }
func (r Mode) stamped(h Head) Record       { r.Head = h; return r }
func (r Model) stamped(h Head) Record      { r.Head = h; return r }
func (r Note) stamped(h Head) Record       { r.Head = h; return r }
func (r Unknown) stamped(Head) Record      { return r }
func (r Damaged) stamped(Head) Record      { return r }
