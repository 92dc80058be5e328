package shell

import (
	"fmt"
	"sync/atomic"
	"time"

	"heddle/internal/task"
)

const (
	// stallAfter is how long a command must have printed nothing before it may count as
	// waiting for an answer.
	stallAfter = 45 * time.Second
	// stallTail is how much of the end of its output is looked at, in bytes.
	stallTail = 1024
)

// stall remembers for which size of its output a command was looked at, so that each
// silence is looked into once.
type stall struct{ seen atomic.Int64 }

// Quiet tells the owner, once for each silence, if the command seems to wait for an answer.
func (r *Runner) Quiet(t *task.Task, size int64, quiet time.Duration) {
	if quiet < stallAfter || size == 0 || r.stall.seen.Swap(size) == size {
		return
	}
	tail, err := task.ReadOutput(t.Output.Name(), -stallTail, stallTail)
	if err != nil {
		return // whoever reads the output will meet the same problem, and say so
	}
	if q, ok := asks(tail.Bytes); ok {
		text := fmt.Sprintf("nothing was printed for %v, and it seems to wait for an answer that nobody will give (%s). %s",
			quiet.Round(time.Second), q.Kind, q.Advice())
		t.Notify(text, q.Line, task.Next)
	}
}
