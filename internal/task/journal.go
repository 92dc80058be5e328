package task

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// journal is a file of JSON lines: what is known of a task, each time its status
// changes and when its end is told. The newest line of a task counts.
type journal struct{ f *os.File }

// write appends a line. The caller holds the lock; a line is one write, so that a
// crash leaves whole lines.
func (r *Runtime) write(s Snapshot) error {
	if r.journal == nil {
		path := filepath.Join(r.Dir, "journal.jsonl")
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return fmt.Errorf("open the journal of tasks: %w", err)
		}
		r.journal = &journal{f}
	}
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("write the journal of tasks: %w", err)
	}
	if _, err := r.journal.f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the journal of tasks: %w", err)
	}
	return nil
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.f.Close()
}
