package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

type detail struct {
	PID int `json:"pid"`
}

func (detail) Kind() Kind { return LocalBash }

// lines returns the status in each line of the journal of a task, "told" for the
// one that says so.
func lines(t *testing.T, dir string) (states []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, journalName))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		state := string(rec.Status)
		if rec.Told {
			state = "told"
		}
		states = append(states, state)
	}
	return states
}

func TestJournalHasEveryTransition(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rt := newRuntime(t, Options{Dir: dir})
	run := RunnerFunc(func(_ context.Context, tk *Task) error {
		tk.Record(detail{42})
		return &EndError{ReasonExit, errors.New("exit code 3")}
	})
	tk := start(t, rt, Spec{Description: "try", ToolUseID: "toolu_1"}, run)
	tk.Attach(t.Context(), 0)
	rt.Delivered("toolu_1")
	if got, want := lines(t, dir), []string{"pending", "running", "running", "failed", "failed", "told"}; !slices.Equal(got, want) {
		t.Errorf("journal = %q, want %q", got, want)
	}
	records, err := ReadJournal(dir)
	if err != nil || len(records) != 1 {
		t.Fatalf("ReadJournal = %v, %v", records, err)
	}
	r := records[0]
	if r.ID != tk.ID || r.Kind != LocalBash || r.Reason != ReasonExit || r.ToolUseID != "toolu_1" || string(r.Detail) != `{"pid":42}` {
		t.Errorf("record = %+v", r)
	}
}

// diskReader is a notifier that looks at the disk at the moment it is told.
type diskReader struct {
	dir string
	saw []Record
}

func (d *diskReader) Withdraw(string) bool { return false }

func (d *diskReader) Notify(Notification) { d.saw, _ = ReadJournal(d.dir) }

// A crash between the journal and the telling must leave an end that can be told
// again; after the telling, one that must not.
func TestEndIsInTheJournalBeforeItIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &diskReader{dir: t.TempDir()}
		rt := newRuntime(t, Options{Dir: d.dir, Notifier: d})
		tk := start(t, rt, Spec{Background: true}, takes(time.Second, nil))
		<-tk.Done()
		if len(d.saw) != 1 || d.saw[0].Status != Completed || d.saw[0].Told {
			t.Errorf("when told, the journal said %+v; want completed, not told", d.saw)
		}
		if after, err := ReadJournal(d.dir); err != nil || after[0].Told {
			t.Errorf("afterwards, it says %+v, %v; want not told: the owner may not have it yet", after, err)
		}
		rt.Delivered("end:" + string(tk.ID))
		if after, err := ReadJournal(d.dir); err != nil || !after[0].Told {
			t.Errorf("delivered, it says %+v, %v; want told", after, err)
		}
	})
}

// A crash tore the last line: what follows must not be joined to it.
func TestJournalWithATornTail(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	torn := `{"id":"b11111111","type":"local_bash","status":"running"}` + "\n" + `{"id":"b22222222","typ`
	if err := os.WriteFile(filepath.Join(dir, journalName), []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	rt := newRuntime(t, Options{Dir: dir})
	tk := start(t, rt, Spec{}, takes(0, nil))
	tk.Attach(t.Context(), 0)
	records, err := ReadJournal(dir)
	if err != nil || len(records) != 2 || records[0].ID != "b11111111" || records[1].ID != tk.ID || !records[1].Told {
		t.Errorf("ReadJournal = %+v, %v", records, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, journalName))
	if want := torn + "\n" + `{"id":"` + string(tk.ID); err != nil || !strings.HasPrefix(string(b), want) {
		t.Errorf("the journal is %q, want it to begin with %q", b, want)
	}
}

// A journal that cannot be written must not keep tasks from running and ending,
// and the fact must not be lost.
func TestBrokenJournalIsReportedAtTheEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, journalName), 0o700); err != nil {
		t.Fatal(err)
	}
	rt, err := NewRuntime(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		start(t, rt, Spec{}, takes(0, nil)).Attach(t.Context(), 0)
	}
	err = rt.Close(t.Context())
	if err == nil || !strings.Contains(err.Error(), "journal") {
		t.Errorf("Close = %v, want what is wrong with the journal", err)
	}
	if n := strings.Count(err.Error(), "\n"); n > maxFaults {
		t.Errorf("%d lines of errors", n)
	}
}

func TestNoJournalIsNoRecords(t *testing.T) {
	t.Parallel()
	if records, err := ReadJournal(t.TempDir()); err != nil || len(records) != 0 {
		t.Errorf("ReadJournal = %v, %v", records, err)
	}
}

func FuzzReadRecords(f *testing.F) {
	f.Add([]byte(`{"id":"b11111111","status":"running","detail":{"pid":1}}` + "\n" + `{"id":"b11111111","status":"failed"}` + "\n{"))
	f.Add([]byte("\n\nnull\n[]\n{\"id\":7}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		records, err := readRecords(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[ID]bool{}
		for _, r := range records {
			if r.ID == "" || seen[r.ID] {
				t.Errorf("%q gives %+v", b, records)
			}
			seen[r.ID] = true
		}
	})
}

// A journal that is no file, or names no task, is told and harms nobody.
func TestOddJournals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, journalName), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadJournal(dir); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a pipe: %v", err)
	}
	rt, err := NewRuntime(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	start(t, rt, Spec{}, takes(0, nil)).Attach(t.Context(), 0)
	if err := rt.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Close = %v", err)
	}
	records, err := readRecords(strings.NewReader(`{"id":"../../x","status":"running"}` + "\n" + `{"id":"b1","status":"running"}` + "\n" + `{"id":""}`))
	if err != nil || len(records) != 1 || records[0].ID != "b1" {
		t.Errorf("records: %+v, %v", records, err)
	}
}
