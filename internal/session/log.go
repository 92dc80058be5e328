package session

import (
	"strings"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/minutes"
	"heddle/internal/transcript"
)

// log writes what happens to the transcript. Without a writer it keeps nothing.
type log struct{ w *transcript.Writer }

// record writes an event, and returns what a person should know about that.
func (l *log) record(ev agent.Event) (notices []string) {
	r, ok := minutes.Of(ev)
	if !ok {
		return nil
	}
	if err := l.append(r); err != nil {
		return []string{err.Error()}
	}
	return nil
}

func (l *log) append(r transcript.Record) error {
	if l.w == nil {
		return nil
	}
	return l.w.Append(r)
}

// sync makes what was written survive a power failure. What a full disk kept
// back has been told already, and the writer tries again.
func (l *log) sync() {
	if l.w != nil {
		_ = l.w.Sync()
	}
}

func (l *log) close() error {
	if l.w == nil {
		return nil
	}
	err := l.w.Sync()
	if closed := l.w.Close(); closed != nil {
		return closed // it says all that the other would
	}
	return err
}

// recall puts the conversation of a transcript into the context, decides what a
// crash left open, and returns the model that answered last.
func (s *Session) recall(past []transcript.Record) (lastModel string) {
	messages, repairs := transcript.History(past)
	if s.log.w != nil {
		minutes.Repair(s.log.w, repairs)
	}
	minutes.Recall(s.conv, messages)
	for _, r := range past {
		switch r := r.(type) {
		case transcript.Message:
			s.conv.Tally.Output += r.Usage.Output
			s.conv.Tally.USD = max(s.conv.Tally.USD, r.Sum.Cost)
		case transcript.Model:
			lastModel = r.Model
		case transcript.Header:
			if lastModel == "" {
				lastModel = r.Model
			}
		}
	}
	s.tally, s.messages = s.conv.Tally.Clone(), s.conv.History.Len()
	return lastModel
}

// compactCommand reports whether a person asks for a compaction, and what they want
// kept.
func compactCommand(in agent.Input) (instructions string, ok bool) {
	if in.Origin != agent.Human || len(in.Content) != 1 {
		return "", false
	}
	t, isText := in.Content[0].(message.Text)
	if !isText {
		return "", false
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(t.Text), "/compact")
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\n' {
		return "", false
	}
	return strings.TrimSpace(rest), true
}
