package subagent

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"heddle/internal/model"
	"heddle/internal/roster"
)

// What agents are told is read once for those of a kind that one answer starts, and anew for
// those of the next.
func TestBriefIsReadOnceAnAnswer(t *testing.T) {
	var reads atomic.Int64
	b := newBed(t, t.TempDir(), func(context.Context, int, *model.Request) (model.Response, error) { return says("done"), nil }, func(o *Options) {
		o.Brief = func(a *roster.Agent) string { return fmt.Sprintf("told %d to %s", reads.Add(1), a.Name) }
	})
	told := func(list ...Request) map[string]int {
		texts := map[string]int{}
		for _, tk := range b.spawn(list...) {
			end(tk)
			body := b.model.said(tk.ID)[0]
			at := bytes.Index(body, []byte("told "))
			texts[string(body[at:at+bytes.IndexByte(body[at:], '"')])]++
		}
		return texts
	}
	plain, short := Request{Agent: "plain", Prompt: "work"}, Request{Agent: "short", Prompt: "work"}
	first := told(plain, plain, short, plain)
	if len(first) != 2 || first["told 1 to plain"]+first["told 2 to plain"] != 3 {
		t.Errorf("four agents of two kinds were told %v", first)
	}
	if next := told(plain); next["told 3 to plain"] != 1 {
		t.Errorf("the next agent was told %v", next)
	}
}
