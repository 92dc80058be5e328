package task

import (
	"fmt"
	"strings"
	"time"
)

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
	Data     string // what the task printed that the news is about
	Priority Priority
}

// ID names a notification of an end: the same end has the same id in every run of the
// program. News have none.
func (n Notification) ID() string {
	if n.Text != "" {
		return ""
	}
	return n.Task.Carrier
}

// noticeID is the id of the notification that tells the end of s.
func noticeID(s Snapshot) string {
	if s.Attempt == 0 {
		return "end:" + string(s.ID)
	}
	return fmt.Sprintf("end:%s:%d", s.ID, s.Attempt)
}

// Notifier takes notifications in. It must not block, and must not drop any. When the
// owner has read one, it says so to [Runtime.Delivered].
type Notifier interface {
	Notify(Notification)
	// Withdraw takes back the notification of an end, and reports whether that was
	// in time: nobody has read it, and nobody will.
	Withdraw(id string) bool
}

// Notify tells the owner something while the task still runs: a text of ours and,
// where it is about output, that. After the end it does nothing: the end is the last
// that is heard of a task.
func (t *Task) Notify(text, data string, p Priority) {
	s := t.Snapshot()
	if n := t.rt.opts.Notifier; n != nil && !s.Status.Terminal() {
		n.Notify(Notification{Task: s, Text: text, Data: data, Priority: p})
	}
}

// announce tells an end by a notification. What becomes of it, [Runtime.Delivered] hears.
func (r *Runtime) announce(t *Task, s Snapshot) {
	r.mu.Lock()
	r.carried[s.Carrier] = append(r.carried[s.Carrier], t)
	r.mu.Unlock()
	if n := r.opts.Notifier; n != nil {
		n.Notify(Notification{Task: s, Priority: Later})
		return
	}
	r.Delivered(s.Carrier)
}

// carry settles that the end of t reaches the owner with carrier. Without one, the
// caller is the owner. The caller holds the lock.
func (r *Runtime) carry(t *Task, carrier string) {
	t.snap.Carrier = carrier
	if carrier == "" {
		r.told(t)
		return
	}
	r.carried[carrier] = append(r.carried[carrier], t)
	r.record(t)
}

// Delivered says that the owner has what the tool call or the notification of that id
// brings, and that it will not be lost any more. From now on, the tasks whose ends it
// brought may be forgotten.
func (r *Runtime) Delivered(carrier string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.carried[carrier] {
		r.told(t)
	}
	delete(r.carried, carrier)
}

// told puts on record that the owner knows of the end. The caller holds the lock.
func (r *Runtime) told(t *Task) {
	t.snap.Told = true
	r.record(t)
	r.retire(t)
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
	field("output", n.Data)
	if d, ok := n.Task.Detail.(Teller); ok && n.Text == "" {
		for _, e := range d.Tell() {
			e.write(&b)
		}
	}
	b.WriteString("</task-notification>")
	return b.String()
}

// Teller is a [Detail] with more to tell the owner at the end.
type Teller interface{ Tell() []Element }

// Element is a piece of a notification: a text, or elements.
type Element struct {
	Name, Text string
	Inner      []Element
}

func (e Element) write(b *strings.Builder) {
	b.WriteString("<" + e.Name + ">" + escape(e.Text))
	for _, in := range e.Inner {
		in.write(b)
	}
	b.WriteString("</" + e.Name + ">\n")
}

func (n Notification) summary() string {
	switch {
	case n.Text != "":
		return n.Task.Description + ": " + n.Text
	case n.Task.Error != "":
		return n.Task.Description + ": " + n.Task.Error
	}
	return n.Task.Description
}

// Statuses lists tasks for a model that may not know of them any more. It is empty if
// there are none.
func Statuses(tasks []Snapshot) string {
	if len(tasks) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<task-statuses>\n")
	for _, s := range tasks {
		fmt.Fprintf(&b, "<task id=\"%s\" type=\"%s\" status=\"%s\" started=\"%s\" output-file=\"%s\">%s</task>\n",
			s.ID, s.Kind, s.Status, s.StartedAt.Format(time.TimeOnly), attribute(s.OutputFile), escape(s.Description))
	}
	b.WriteString("</task-statuses>")
	return b.String()
}

// attribute makes text safe between quotes.
func attribute(s string) string { return strings.ReplaceAll(escape(s), `"`, "&quot;") }

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
