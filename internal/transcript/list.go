package transcript

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"heddle/internal/message"
)

// Summary is what a list of sessions shows.
type Summary struct {
	ID         string    `json:"id"`
	Path       string    `json:"path"`
	Title      string    `json:"title"` // a line: the title, or the first thing a person said
	Name       string    `json:"name,omitempty"`
	Dir        string    `json:"dir"`
	Model      string    `json:"model"`
	Parent     string    `json:"parent,omitempty"`
	Start      time.Time `json:"start"`
	LastChange time.Time `json:"last_change"`
	Turns      int       `json:"turns"`
	Cost       float64   `json:"cost"`
	State      State     `json:"state"`
	Owner      int       `json:"pid,omitempty"`   // the process that has it, when live
	Problem    string    `json:"error,omitempty"` // why it is broken
}

// State says what can be done with a session.
type State string

const (
	Live   State = "live"   // a process has it
	Idle   State = "idle"   // it can be resumed
	Broken State = "broken" // there is nothing to resume
)

// ErrNotFound says that there is no such session.
var ErrNotFound = errors.New("no such session")

// AmbiguousError says that several sessions fit.
type AmbiguousError struct {
	Query      string
	Candidates []Summary // the newest first
}

func (e *AmbiguousError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q fits %d sessions; give more of the id:", e.Query, len(e.Candidates))
	for i, c := range e.Candidates {
		if i == 10 {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Candidates)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %s  %s", c.ID, c.LastChange.Local().Format("2006-01-02 15:04"), cmp.Or(c.Name, c.Title))
	}
	return b.String()
}

// List returns the sessions of one project directory, the newest first. It
// reads only the beginning and the end of large files. No directory is no sessions.
func List(dir string) ([]Summary, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var out []Summary
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".jsonl")
		if ok && ValidID(id) {
			out = append(out, Summarize(filepath.Join(dir, e.Name())))
		}
	}
	newestFirst(out)
	return out, nil
}

func newestFirst(s []Summary) {
	slices.SortStableFunc(s, func(a, b Summary) int { return b.LastChange.Compare(a.LastChange) })
}

// Newest returns the session of a project directory that changed last and has
// something to go on with.
func Newest(dir string) (Summary, error) {
	all, err := List(dir)
	if err != nil {
		return Summary{}, err
	}
	for _, s := range all {
		if s.State != Broken && (s.Title != "" || s.Turns > 0) {
			return s, nil
		}
	}
	return Summary{}, fmt.Errorf("%w in %s", ErrNotFound, dir)
}

// Find looks in all project directories under root for the session with an id,
// the beginning of one, or a name. If several fit, the error is an [*AmbiguousError].
func Find(root, query string) (Summary, error) {
	query = strings.TrimSpace(query)
	projects, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Summary{}, fmt.Errorf("find session: %w", err)
	}
	id := strings.ToLower(query)
	if ValidID(id) {
		for _, p := range projects {
			path := File(filepath.Join(root, p.Name()), id)
			if _, err := os.Lstat(path); err == nil {
				return Summarize(path), nil
			}
		}
	}
	var found []Summary
	for _, p := range projects {
		if query == "" || !p.IsDir() {
			continue
		}
		sessions, err := List(filepath.Join(root, p.Name()))
		if err != nil {
			return Summary{}, err
		}
		for _, s := range sessions {
			if strings.HasPrefix(s.ID, id) || strings.EqualFold(s.Name, query) {
				found = append(found, s)
			}
		}
	}
	switch len(found) {
	case 0:
		return Summary{}, fmt.Errorf("%w: %q", ErrNotFound, query)
	case 1:
		return found[0], nil
	}
	newestFirst(found)
	return Summary{}, &AmbiguousError{query, found}
}

// Summarize reads the beginning and the end of the transcript at path.
func Summarize(path string) Summary {
	s := Summary{
		ID:    strings.TrimSuffix(filepath.Base(path), ".jsonl"),
		Path:  path,
		State: Idle,
	}
	if err := s.read(path); err != nil {
		s.State, s.Problem = Broken, err.Error()
	}
	if o, live := holder(path); live {
		s.State, s.Owner = Live, o.PID
	}
	return s
}

// How much of a file a summary reads at each end, at least.
const window = 64 << 10

func (s *Summary) read(path string) error {
	f, err := openFile(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	s.LastChange = info.ModTime()
	if info.Size() == 0 {
		return errors.New("the file is empty")
	}
	usable, err := s.readHead(f)
	if err != nil {
		return err
	}
	if tailed, err := s.readTail(f, info.Size()); err != nil {
		return err
	} else if !usable && !tailed {
		return errors.New("it holds no record that can be read")
	}
	return nil
}

// readHead reads up to the first thing a person said. It reports whether there
// was any record.
func (s *Summary) readHead(f source) (usable bool, err error) {
	lines := newLines(f)
	for lines.offset < window {
		l, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return usable, err
		}
		switch r := l.record().(type) {
		case Damaged:
			continue
		case Header:
			s.Dir, s.Model, s.Parent, s.Start = r.Dir, r.Model, r.Parent, r.Start
		case Message:
			if r.Message.Role == message.User {
				s.Title = oneLine(r.Message.Text())
			}
		}
		usable = true
		if s.Title != "" {
			break
		}
	}
	return usable, nil
}

// readTail reads backwards, in growing steps, until it has seen the last
// message. It reports whether there was any record.
func (s *Summary) readTail(f source, size int64) (usable bool, err error) {
	for span := int64(window); ; span *= 4 {
		from := max(0, size-span)
		t, err := loadTail(io.NewSectionReader(f, from, size-from), from > 0)
		if err != nil {
			return false, err
		}
		if !t.complete && from > 0 {
			continue
		}
		s.Turns, s.Cost, s.Name = t.sum.Turns, t.sum.Cost, t.sum.Name
		s.Title = cmp.Or(oneLine(t.sum.Title), s.Title)
		s.Model = cmp.Or(t.model, s.Model)
		if !t.last.IsZero() {
			s.LastChange = t.last
		}
		return !t.last.IsZero(), nil
	}
}

// tail is what the end of a file says.
type tail struct {
	sum      Sum
	model    string
	last     time.Time
	complete bool // there was a message, so sum is that of the whole file
}

func loadTail(r io.Reader, cut bool) (tail, error) {
	var t tail
	lines := newLines(r)
	for {
		l, err := lines.next()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		if cut && l.number == 1 {
			continue // only the end of a line
		}
		rec := l.record()
		switch r := rec.(type) {
		case Damaged:
			continue
		case Message:
			t.complete = true
			t.model = cmp.Or(r.Model, t.model)
		case Model:
			t.model = r.Model
		}
		t.sum = t.sum.with(rec)
		if at := rec.Stamp().Time; !at.IsZero() {
			t.last = at
		}
	}
}

// oneLine shortens text for a list.
func oneLine(text string) string {
	const most = 80
	out := []rune(strings.Join(strings.Fields(text), " "))
	if len(out) > most {
		out = append(out[:most-1], '…')
	}
	return string(out)
}
