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

// Notify tells the owner something while the task still runs.
func (t *Task) Notify(text string, p Priority) {
	if n := t.rt.Notifier; n != nil {
		n.Notify(Notification{Task: t.Snapshot(), Text: text, Priority: p})
	}
}

// tell notifies the owner of an end that nobody was told yet. The journal has
// it first, so that it is not told again by a later run of the program.
func (r *Runtime) tell(id ID) {
	r.mu.Lock()
	e := r.tasks[id]
	if e == nil || e.Told {
		r.mu.Unlock()
		return
	}
	e.Told = true
	s := e.Snapshot
	_ = r.write(s)
	r.mu.Unlock()
	if r.Notifier != nil {
		r.Notifier.Notify(Notification{Task: s, Priority: Later})
	}
}

// XML is the notification as a model reads it. Every field is escaped, so that
// nothing a task printed or was named can forge a tag.
func (n Notification) XML() string {
	var b strings.Builder
	field := func(name, value string) {
		if value == "" {
			return
		}
		b.WriteString("<" + name + ">" + escape(value) + "</" + name + ">\n")
	}
	b.WriteString("<task-notification>\n")
	field("task-id", string(n.Task.ID))
	field("tool-use-id", n.Task.ToolUseID)
	field("output-file", n.Task.OutputFile)
	field("status", string(n.Task.Status))
	field("reason", string(n.Task.Reason))
	summary := n.Text
	if summary == "" {
		summary = n.Task.Description
	}
	field("summary", summary)
	b.WriteString("</task-notification>")
	return b.String()
}

// escape makes text safe inside an element. Quotes and line ends are harmless
// there and stay readable.
func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(strings.ToValidUTF8(s, "\uFFFD"))
}
