package openai

import "strings"

const (
	thinkBegin = "<think>"
	thinkEnd   = "</think>"
)

// thinkTags takes an answer apart that has its thinking between tags at its
// beginning. A tag may come in pieces.
type thinkTags struct {
	state int    // before the tag, inside, after
	held  string // may be part of a tag
}

const (
	before = iota
	inside
	after
)

// split hands on the next piece of the answer, each part with its kind.
func (t *thinkTags) split(s string, add func(kind, string)) {
	t.held += s
	if t.state == before {
		trimmed := strings.TrimLeft(t.held, " \n\r\t")
		switch {
		case strings.HasPrefix(trimmed, thinkBegin):
			t.state, t.held = inside, trimmed[len(thinkBegin):]
		case strings.HasPrefix(thinkBegin, trimmed):
			return
		default:
			t.state = after
		}
	}
	if t.state == inside {
		thought, rest, found := strings.Cut(t.held, thinkEnd)
		if !found {
			keep := overlap(t.held, thinkEnd)
			add(thinking, t.held[:len(t.held)-keep])
			t.held = t.held[len(t.held)-keep:]
			return
		}
		add(thinking, thought)
		t.state, t.held = after, strings.TrimLeft(rest, "\n")
	}
	add(text, t.held)
	t.held = ""
}

// end hands on what was held back.
func (t *thinkTags) end(add func(kind, string)) {
	if t.state == inside {
		add(thinking, t.held)
	} else {
		add(text, t.held)
	}
	t.held = ""
}

// overlap is how many bytes at the end of s are the beginning of tag.
func overlap(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}
