package task

import "strings"

// Priority says when a notification is read.
type Priority string

const (
	Next  Priority = "next"  // right after the running turn
	Later Priority = "later" // when the conversation is idle
)

// Notification tells the owner of a task of its end, or of news on the way.
type Notification struct {
	Task     Snapshot
	Text     string // news; empty: the end
	Priority Priority
}

// Notifier takes notifications in. It must not block, and must not drop any.
type Notifier interface{ Notify(Notification) }

// Notify tells the owner something while the task still runs. After the end it
// does nothing: the end is the last that is heard of a task.
func (t *Task) Notify(text string, p Priority) {
	s := t.Snapshot()
	if n := t.rt.opts.Notifier; n != nil && !s.Status.Terminal() {
		n.Notify(Notification{Task: s, Text: text, Priority: p})
	}
}

// XML is the notification as a model reads it. Every field is escaped, so that
// nothing a task printed or was named can forge a tag.
func (n Notification) XML() string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			b.WriteString("<" + name + ">" + escape(value) + "</" + name + ">\n")
		}
	}
	b.WriteString("<task-notification>\n")
	field("task-id", string(n.Task.ID))
	field("tool-use-id", n.Task.ToolUseID)
	field("output-file", n.Task.OutputFile)
	field("status", string(n.Task.Status))
	field("reason", string(n.Task.Reason))
	field("summary", n.summary())
	b.WriteString("</task-notification>")
	return b.String()
}

func (n Notification) summary() string {
	switch {
	case n.Text != "":
		return n.Text
	case n.Task.Error != "":
		return n.Task.Description + ": " + n.Task.Error
	}
	return n.Task.Description
}

var entities = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escape makes text safe inside an element. Quotes and line ends are harmless
// there and stay readable; other control characters could act on a terminal.
func escape(s string) string {
	clean := strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '\uFFFD'
		}
		return r
	}, s) // bytes that are not UTF-8 become U+FFFD too
	return entities.Replace(clean)
}
