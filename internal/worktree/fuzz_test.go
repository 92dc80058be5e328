package worktree

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var someTree = strings.Repeat("0a", 20)

func TestParseMerge(t *testing.T) {
	t.Parallel()
	for out, want := range map[string]merged{
		someTree + "\x00": {tree: someTree},
		someTree + "\x00\x001\x00a\x00Auto-merging\x00x\n\x00": {tree: someTree},
		someTree + "\x00100644 x 1\ta\x00100644 x 2\ta\x00100644 x 2\tb\x00\x002\x00a\x00c\x00CONFLICT (rename/rename)\x00text\n\x00": {
			someTree, []Conflict{{"a", "both sides moved it, to different places"}, {"b", "both sides changed it"}}},
	} {
		got, err := parseMerge(out)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(merged{})); diff != "" || err != nil {
			t.Errorf("parseMerge(%q) = %v (-want +got):\n%s", out, err, diff)
		}
	}
	for _, out := range []string{"", "x\x00", someTree + "\x00no tab\x00", someTree + "\x00\x00-1\x00a\x00", someTree + "\x00\x009\x00a\x00", someTree + "\x00\x00x\x00"} {
		if got, err := parseMerge(out); err == nil {
			t.Errorf("parseMerge(%q) = %v, want an error", out, got)
		}
	}
}

func FuzzParseMerge(f *testing.F) {
	f.Add(someTree + "\x00100644 x 1\ta\x00\x001\x00a\x00CONFLICT (contents)\x00text\n\x00")
	f.Fuzz(func(t *testing.T, out string) {
		got, err := parseMerge(out)
		if err == nil && !isObject(got.tree) {
			t.Errorf("parseMerge(%q) = %v, without a tree", out, got)
		}
	})
}

func FuzzParseChanges(f *testing.F) {
	f.Add(":100644 100644 " + someTree + " " + someTree + " M\x00a\nb\x00")
	f.Fuzz(func(t *testing.T, out string) {
		got, err := parseChanges(out)
		if err == nil && len(got) != len(fields(out))/2 {
			t.Errorf("parseChanges(%q) = %v, want all", out, got)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	f.Add(" M a\x00?? b c\x00!! d/\x00")
	f.Fuzz(func(t *testing.T, out string) {
		var s State
		parseStatus(out, &s)
		if n := len(s.Dirty) + len(s.Untracked) + len(s.Ignored); n > len(fields(out)) {
			t.Errorf("parseStatus(%q) = %+v, more than there is", out, s)
		}
	})
}

func FuzzParseRecord(f *testing.F) {
	f.Add([]byte(`{"name":"agent-1","stage":"ready","base":"` + someTree + `","repo":"L3g=","copied":[{"path":"YQ==","sum":""}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		rec, err := parseRecord("agent-1", text)
		if err == nil && !strings.HasSuffix(rec.path(), "/.heddle/worktrees/agent-1") {
			t.Errorf("parseRecord(%q) = a tree at %q", text, rec.path())
		}
	})
}

func FuzzComplaint(f *testing.F) {
	f.Add("warning: x\nfatal: y\n")
	f.Fuzz(func(t *testing.T, text string) {
		if got := complaint(text); strings.Contains(got, "\n") {
			t.Errorf("complaint(%q) = %q, more than a line", text, got)
		}
	})
}
