package process

import (
	"context"
	"errors"
	"testing"
	"time"
)

// What an earlier run started is found by its identity, its end is heard of, and it can
// be ended with all that it started; a stranger with its number is not found.
func TestFind(t *testing.T) {
	t.Parallel()
	for _, w := range ways() {
		c := run(t, w, "sleep FOREVER & echo ready; wait")
		id := c.Identity()
		id.Group = ""
		if _, ok := Find(Identity{PID: id.PID, StartTime: id.StartTime + 1, BootID: id.BootID}, ""); ok {
			t.Error("found a process that began at another time")
		}
		if _, ok := Find(Identity{PID: id.PID, StartTime: id.StartTime, BootID: "another"}, c.tree.mark); ok {
			t.Error("found a process of another boot")
		}
		p, ok := Find(id, "")
		if !ok || p.PID() != id.PID {
			t.Fatalf("%s: not found: %+v", w.name, id)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := p.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: Wait of a process that runs = %v", w.name, err)
		}
		cancel()
		if left, err := p.End(t.Context(), 2*time.Second); err != nil {
			t.Errorf("%s: End = %v, %v", w.name, left, err)
		}
		if _, err := p.Wait(t.Context()); !errors.Is(err, ErrNoExit) {
			t.Errorf("%s: Wait = %v, want ErrNoExit", w.name, err)
		}
		if _, ok := Find(id, ""); ok {
			t.Errorf("%s: found although it is dead", w.name)
		}
	}
}
