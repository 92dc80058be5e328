package hook

import (
	"strings"
	"testing"
)

func TestMatchers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		event   Event
		matcher string
		yes, no string // separated by blanks
	}{
		{PreToolUse, "", "Bash mcp__a__b", ""},
		{PreToolUse, "*", "Bash mcp__a__b", ""},
		{PreToolUse, "Edit", "Edit", "NotebookEdit Edits edit"},
		{PreToolUse, "Edit|Write", "Edit Write", "Edit|Write Read"},
		{PreToolUse, "Edit, Write", "Edit Write", "Read"},
		{PreToolUse, "Edit.*", "Edit NotebookEdit", "Write"},
		{PreToolUse, "^Edit$", "Edit", "NotebookEdit"},
		{PreToolUse, "mcp__memory", "mcp__memory", "mcp__memory__add"},
		{PreToolUse, "mcp__memory__.*", "mcp__memory__add", "mcp__files__add"},
		{PreToolUse, "mcp__my-server__a", "mcp__my-server__a", "mcp__my-server__b"},
		{PreToolUse, "mcp__my server__a", "mcp__my_server__a", "mcp__my_server__b"},
		{PreToolUse, "Edit, mcp__a__b__c", "Edit mcp__a_b__c mcp__a__b__c", "mcp__a_b__d"},
		{Stop, "Bash", "anything", ""},
		{StopFailure, "rate_limit|overloaded", "rate_limit overloaded", "unknown"},
		{StopFailure, "rate.*", "rate.*", "rate_limit"},
		{SessionStart, "startup|resume", "startup resume", "compact"},
	} {
		m, err := newMatcher(c.event, c.matcher)
		if err != nil {
			t.Errorf("newMatcher(%s, %q): %v", c.event, c.matcher, err)
			continue
		}
		for _, s := range strings.Fields(c.yes) {
			if !m(s) {
				t.Errorf("%s: %q does not match %q", c.event, c.matcher, s)
			}
		}
		for _, s := range strings.Fields(c.no) {
			if m(s) {
				t.Errorf("%s: %q matches %q", c.event, c.matcher, s)
			}
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	if n := len(Events()); n != 31 {
		t.Errorf("%d events, want 31", n)
	}
	for name, want := range map[string]Event{"PreTooluse": PreToolUse, "stop": Stop, "BeforeTool": "", "": "", strings.Repeat("x", 1<<20): ""} {
		if got := similar(name); got != want {
			t.Errorf("similar(%.20q) = %q, want %q", name, got, want)
		}
	}
}
