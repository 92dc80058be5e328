package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"heddle/internal/agent"
	"heddle/internal/message"
	"heddle/internal/session"
)

// narrate works on a prompt, and on what background work tells afterwards, and prints each
// step as a line or a few.
func narrate(ctx context.Context, s *session.Session, prompt string, w io.Writer) (end agent.Ended, err error) {
	input := []agent.Input{{Content: []message.Block{message.Text{Text: prompt}}, Origin: agent.Human}}
	for input != nil {
		for ev, err := range s.Turn(ctx, input...) {
			if err != nil {
				return end, err
			}
			if e, ok := ev.(agent.Ended); ok {
				end = e
			}
			narrateEvent(w, ev)
		}
		if end.Reason != agent.Completed {
			return end, nil
		}
		// The tests may have to be compiled first, by a Go that has never done so here.
		input, _ = s.Await(ctx, session.Patience{Shells: 10 * time.Minute, Others: 10 * time.Minute})
	}
	return end, nil
}

func narrateEvent(w io.Writer, ev agent.Event) {
	switch ev := ev.(type) {
	case agent.Added:
		switch t := ev.Message.Text(); {
		case ev.Origin == agent.FromModel && t != "":
			fmt.Fprintf(w, "heddle  %s\n\n", indent(t, "        "))
		case ev.Origin == agent.Notification:
			fmt.Fprintf(w, "  ! woken by a notification:\n    %s\n\n", indent(t, "    "))
		}
	case agent.ToolBegan:
		fmt.Fprintf(w, "  > %s %s\n", ev.Use.Name, oneLine(string(ev.Use.Input), 100))
	case agent.ToolEnded:
		text := head(message.Message{Content: ev.Result.Content}.Text(), 8)
		fmt.Fprintf(w, "    %s, %v:\n    %s\n\n", ev.Use.Name, ev.Duration.Round(time.Millisecond), indent(text, "    "))
	case agent.Notice:
		fmt.Fprintf(w, "  ! %s\n", ev.Text)
	}
}

func indent(s, by string) string {
	return strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n"+by)
}

func oneLine(s string, most int) string {
	r := []rune(strings.Join(strings.Fields(s), " "))
	if len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return string(r)
}

// head returns the first lines of s, and how many more there are.
func head(s string, most int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) <= most {
		return s
	}
	return strings.Join(lines[:most], "\n") + fmt.Sprintf("\n… %d more lines", len(lines)-most)
}
