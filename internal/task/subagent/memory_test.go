package subagent

import (
	"context"
	"strings"
	"testing"

	"heddle/internal/model"
	"heddle/internal/task"
	"heddle/internal/tool"
)

// What a session holds does not grow with what its agents knew that have ended. Each of
// these knows far more than may be left of it: the record of a task, and what it answered.
func TestFinishedAgentsAreForgotten(t *testing.T) {
	const knows, leaves = 64 << 10, 16 << 10 // bytes
	b := benchBed(t, func(_ context.Context, n int, _ *model.Request) (model.Response, error) {
		if n == 1 {
			return uses("Monitor"), nil
		}
		return says("done"), nil
	})
	b.tool = func(context.Context, tool.Call) tool.Result { return tool.Text(strings.Repeat("x", knows)) }
	heap := map[int]uint64{}
	b.call(1, func(ctx context.Context, c tool.Call) {
		for i := range 201 {
			if i == 20 || i == 40 || i == 180 || i == 200 {
				heap[i] = held().HeapAlloc
			}
			tk, err := b.Spawn(ctx, c, Request{Agent: "plain", Prompt: "work"})
			if err != nil {
				t.Fatal(err)
			}
			if tk.Attach(ctx, 0) != task.Finished {
				t.Fatal("it went to the background")
			}
		}
	})
	for _, span := range [][2]int{{20, 40}, {40, 180}, {180, 200}} {
		grown := int64(heap[span[1]]) - int64(heap[span[0]])
		each := grown / int64(span[1]-span[0])
		t.Logf("agents %d to %d leave %d bytes each", span[0], span[1], each)
		if each > leaves {
			t.Errorf("agents %d to %d leave %d bytes each, want at most %d", span[0], span[1], each, leaves)
		}
	}
}
