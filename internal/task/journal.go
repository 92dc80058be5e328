package task

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

const journalName = "journal.jsonl"

// journal is a file of JSON lines: what is known of a task each time its status
// changes, and again when its end was told. The newest line of a task counts.
// Guarded by the lock of the runtime.
type journal struct {
	path   string
	file   *os.File
	torn   bool // the last line lacks its end
	closed bool
}

// record writes what is known of t. A task runs and ends although it cannot be
// written, for instance because the disk is full: Close reports that. The caller
// holds the lock.
func (r *Runtime) record(t *Task) {
	if err := r.journal.write(t.snap); err != nil && len(r.faults) < maxFaults {
		r.faults = append(r.faults, fmt.Errorf("journal of tasks: %w", err))
	}
}

// maxFaults bounds what is remembered: on a full disk each write fails.
const maxFaults = 20

// write appends a line. A line is one write, so that a crash leaves whole lines.
func (j *journal) write(s Snapshot) error {
	if j.closed {
		return nil // a runner that was given up has returned
	}
	if err := j.open(); err != nil {
		return err
	}
	var line bytes.Buffer
	if j.torn {
		line.WriteByte('\n')
	}
	if err := json.NewEncoder(&line).Encode(s); err != nil {
		return err
	}
	n, err := j.file.Write(line.Bytes())
	j.torn = n > 0 && line.Bytes()[n-1] != '\n' || n == 0 && j.torn
	return err
}

// open opens the file when it is first needed.
func (j *journal) open() error {
	if j.file != nil {
		return nil
	}
	f, err := os.OpenFile(j.path, os.O_CREATE|os.O_APPEND|os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(fmt.Errorf("%s is not a regular file", j.path), f.Close())
	}
	j.file = f
	if end, err := f.Seek(0, io.SeekEnd); err == nil && end > 0 {
		last := []byte{'\n'}
		_, _ = f.ReadAt(last, end-1) // if it cannot be read, it counts as whole
		j.torn = last[0] != '\n'
	}
	return nil
}

func (j *journal) close() error {
	j.closed = true
	if j.file == nil {
		return nil
	}
	err := j.file.Close()
	j.file = nil
	return err
}

// Record is what a journal says of a task. The detail stays as it was written:
// the kind of task knows how to read it.
type Record struct {
	Snapshot
	Detail json.RawMessage `json:"detail"`
}

// ReadJournal returns what the journal in dir says of each task, in the order in
// which they started. It may be read while a runtime writes it. Lines that a
// crash tore are passed over. Without a journal there are no records.
func ReadJournal(dir string) ([]Record, error) {
	// It may be anything: a pipe would keep the open waiting.
	f, err := os.OpenFile(filepath.Join(dir, journalName), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the journal of tasks: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read the journal of tasks: %s is not a regular file", f.Name())
	}
	records, err := readRecords(f)
	if err != nil {
		return nil, fmt.Errorf("read the journal of tasks: %w", err)
	}
	return records, nil
}

func readRecords(from io.Reader) ([]Record, error) {
	var records []Record
	index := map[ID]int{}
	for lines := bufio.NewReader(from); ; {
		line, err := lines.ReadBytes('\n')
		var rec Record
		if json.Unmarshal(line, &rec) == nil && rec.ID.valid() {
			i, known := index[rec.ID]
			if !known {
				i = len(records)
				index[rec.ID] = i
				records = append(records, rec)
			}
			records[i] = rec
		}
		if errors.Is(err, io.EOF) {
			return records, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
