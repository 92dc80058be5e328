package transcript

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"heddle/internal/message"
)

// ErrDelayed says that records could not be written, usually because the disk
// is full. The writer keeps them and writes them, in order, as soon as it can.
var ErrDelayed = errors.New("the transcript cannot be written; its records are kept in memory until there is space")

// file is what a [Writer] needs of a file that is open for appending.
type file interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// Writer appends to one transcript. It holds the lease of the file until Close.
// Its methods may be called from several goroutines.
type Writer struct {
	path  string
	lease *lease

	mu     sync.Mutex
	f      file
	size   int64    // of what is written in whole lines
	torn   bool     // there may be a part of a line behind size
	queue  [][]byte // lines that are not on disk yet
	told   bool     // the caller knows that there is a queue
	sum    Sum
	newIn  string // the directory to sync with the first sync, if the file is new
	closed bool
}

// Create makes a new transcript at path, which must not exist, with h as its
// first record. Missing directories are made.
func Create(path string, h Header) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create transcript: %w", err)
	}
	lease, err := takeLease(path)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		lease.release()
		return nil, fmt.Errorf("create transcript: %w", err)
	}
	w := &Writer{path: path, lease: lease, f: f, newIn: filepath.Dir(path)}
	h.Version = Version
	if h.Start.IsZero() {
		h.Start = time.Now().UTC()
	}
	err = w.enqueue(h)
	if err == nil {
		err = w.flush()
	}
	if err != nil {
		os.Remove(path)
		f.Close()
		lease.release()
		return nil, fmt.Errorf("create transcript: %w", err)
	}
	return w, nil
}

// Open resumes the transcript at path: it takes the lease, repairs a torn end
// and returns the records that are live, which are all but the messages that a
// compaction replaced. A line that cannot be read is a [Damaged] record in its
// place. If another process has the session, the error is an [*InUseError].
//
// After a crash in the very first moment there may be no header.
func Open(path string) (*Writer, []Record, error) {
	// Look before the lease, so that a mistyped path leaves no lock file.
	if f, err := openFile(path, os.O_RDONLY); err != nil {
		return nil, nil, err
	} else {
		f.Close()
	}
	lease, err := takeLease(path)
	if err != nil {
		return nil, nil, err
	}
	w, records, err := open(path)
	if err != nil {
		lease.release()
		return nil, nil, err
	}
	w.lease = lease
	return w, records, nil
}

func open(path string) (*Writer, []Record, error) {
	f, err := openFile(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, nil, err
	}
	t, err := load(f)
	if err == nil {
		err = t.repairTail(f, path)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return &Writer{path: path, f: f, size: t.end, sum: t.sum}, t.records, nil
}

// Path is the file that w writes.
func (w *Writer) Path() string { return w.path }

// Append writes r as one line. It fills in the id and the time if they are
// empty, and the sum of a message.
//
// If the line cannot be written, what was written of it is taken back, the
// record is kept and written by a later call, and the error is [ErrDelayed];
// but only once: until the disk has taken everything, further calls return nil.
// Any other error means that r is not a record that can be stored.
func (w *Writer) Append(r Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("append to transcript: %w", fs.ErrClosed)
	}
	if err := w.enqueue(r); err != nil {
		return fmt.Errorf("append to transcript: %w", err)
	}
	if err := w.flush(); err != nil && !w.told {
		w.told = true
		return fmt.Errorf("append to transcript: %w (%w)", ErrDelayed, err)
	}
	return nil
}

// enqueue puts r at the end of the queue.
func (w *Writer) enqueue(r Record) error {
	h := r.Stamp()
	if h.ID == "" {
		h.ID = NewID()
	}
	if h.Time.IsZero() {
		h.Time = time.Now().UTC()
	}
	r = r.stamped(h)
	sum := w.sum.with(r)
	if m, ok := r.(Message); ok {
		sum = w.sum.count(m)
		m.Sum = sum
		r = m
	}
	text, err := encode(r)
	if err != nil {
		return err
	}
	w.sum = sum
	w.queue = append(w.queue, text)
	return nil
}

// count adds a message.
func (s Sum) count(m Message) Sum {
	if m.Message.Role == message.Assistant {
		s.Turns++
	}
	s.Cost += m.Cost
	return s
}

// flush writes the queue, a line per write.
func (w *Writer) flush() error {
	for len(w.queue) > 0 {
		if w.torn {
			if err := w.f.Truncate(w.size); err != nil {
				return err
			}
			w.torn = false
		}
		text := w.queue[0]
		n, err := w.f.Write(text)
		if err == nil && n < len(text) {
			err = io.ErrShortWrite
		}
		if err != nil {
			w.torn = n > 0
			if w.torn && w.f.Truncate(w.size) == nil {
				w.torn = false
			}
			return err
		}
		w.size += int64(n)
		w.queue = w.queue[1:]
	}
	w.queue = nil
	w.told = false
	return nil
}

// Pending is the number of records that are not written yet.
func (w *Writer) Pending() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue)
}

// Sync returns when everything that was appended will survive a power loss. As
// long as it cannot be written, the error is [ErrDelayed], each time.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fmt.Errorf("sync transcript: %w", fs.ErrClosed)
	}
	return w.sync()
}

func (w *Writer) sync() error {
	if err := w.flush(); err != nil {
		w.told = true
		return fmt.Errorf("sync transcript: %w (%w)", ErrDelayed, err)
	}
	if err := w.f.Sync(); err != nil {
		return fmt.Errorf("sync transcript: %w", err)
	}
	if w.newIn != "" {
		if err := syncDir(w.newIn); err != nil {
			return fmt.Errorf("sync transcript: %w", err)
		}
		w.newIn = ""
	}
	return nil
}

// Close writes what is left, syncs and gives the lease back. The error says if
// records are lost. A second call does nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return nil
	}
	w.closed = true
	err := w.sync()
	if n := len(w.queue); n > 0 {
		err = fmt.Errorf("close transcript %s: the last %d records are lost: %w", w.path, n, err)
	}
	return errors.Join(err, w.f.Close(), w.lease.release())
}

// syncDir makes a new name in dir survive a power loss.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil // a file system that cannot do it
	}
	return err
}
