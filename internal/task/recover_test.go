package task

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// write makes a journal of records, as a program that died left it.
func writeJournal(t *testing.T, dir string, records ...Snapshot) {
	t.Helper()
	var b []byte
	for _, s := range records {
		line, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		b = append(append(b, line...), '\n')
	}
	if err := os.WriteFile(filepath.Join(dir, journalName), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func nothing(string) bool { return false }

// heir takes over what its functions say.
type heir struct {
	adopt func(Record) Runner
	left  func(Record) func() error
}

func (h heir) Adopt(r Record) Runner {
	if h.adopt == nil {
		return nil
	}
	return h.adopt(r)
}

func (h heir) Left(r Record) func() error {
	if h.left == nil {
		return nil
	}
	return h.left(r)
}

// Each end of before that the owner does not know of is told once, whatever the moment
// of the crash was, and none that the owner knows of.
func TestRecoverTellsWhatWasNotTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ended := func(s Snapshot) Snapshot {
		s.Kind, s.EndedAt, s.StartedAt = LocalBash, time.Now(), time.Now()
		return s
	}
	writeJournal(t, dir,
		ended(Snapshot{ID: "b1", Status: Completed, Told: true, Carrier: "end:b1"}),
		ended(Snapshot{ID: "b2", Status: Completed, Backgrounded: true, Carrier: "end:b2"}),  // told, and not read
		ended(Snapshot{ID: "b3", Status: Failed, Backgrounded: true, Carrier: "end:b3"}),     // read, and not on record
		ended(Snapshot{ID: "b4", Status: Failed, ToolUseID: "toolu_4"}),                      // between the end and its return
		ended(Snapshot{ID: "b5", Status: Failed, ToolUseID: "toolu_5", Carrier: "toolu_5"}),  // returned, and the result is lost
		ended(Snapshot{ID: "b6", Status: Failed, ToolUseID: "toolu_6", Carrier: "toolu_6"}),  // returned and written
		ended(Snapshot{ID: "b7", Status: Completed, Backgrounded: true, Carrier: "toolu_7"}), // claimed by a call, which is lost
		Snapshot{ID: "a8", Kind: LocalAgent, Status: Running},
		Snapshot{ID: "b9", Kind: LocalBash, Status: Pending},
	)
	arrived := func(carrier string) bool { return carrier == "end:b3" || carrier == "toolu_6" }
	want := []string{"end:b2", "end:b4", "end:b5", "end:b7", "end:a8", "end:b9"}
	for run := range 3 { // the second run dies too, before it reads anything
		q := &queue{}
		rt, err := NewRuntime(Options{Dir: dir, Notifier: q})
		if err != nil {
			t.Fatal(err)
		}
		if err := rt.Recover(arrived, heir{}); err != nil {
			t.Fatal(err)
		}
		if run < 2 {
			var got []string
			for _, n := range q.held {
				got = append(got, n.ID())
			}
			if !slices.Equal(got, want) {
				t.Errorf("run %d: told %q, want %q", run, got, want)
			}
		} else if len(q.held) != 0 {
			t.Errorf("told again: %+v", q.held)
		}
		if s, _ := rt.Get("a8"); run < 2 && (s.Status != Killed || s.Reason != ReasonInterrupted || s.Error == "") {
			t.Errorf("what was running is %+v, want killed, interrupted", s)
		}
		if run == 1 {
			q.empty(rt)
		}
		if err := rt.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// What still runs goes on under its id, and its output is added to what is there.
func TestRecoverAdopts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin := time.Now().Add(-time.Hour).Round(0)
	writeJournal(t, dir, Snapshot{ID: "b1", Kind: LocalBash, Status: Running, StartedAt: begin, Description: "long", ToolUseID: "toolu_1", Owner: "a1"})
	if err := os.WriteFile(filepath.Join(dir, "b1.output"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	q := &queue{}
	rt := newRuntime(t, Options{Dir: dir, Notifier: q})
	release := make(chan struct{})
	err := rt.Recover(nothing, heir{adopt: func(r Record) Runner {
		if r.ID != "b1" {
			t.Errorf("asked to adopt %+v", r)
		}
		return RunnerFunc(func(_ context.Context, tk *Task) error {
			<-release
			_, err := tk.Output.WriteString("two\n")
			return err
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := rt.Get("b1"); !ok || s.Status.Terminal() || !s.Backgrounded || !s.StartedAt.Equal(begin) || s.Owner != "" {
		t.Errorf("adopted as %+v", s)
	}
	close(release)
	if _, err := rt.Wait(t.Context(), []ID{"b1"}, Condition{}); err != nil {
		t.Fatal(err)
	}
	<-rt.tasks["b1"].Done() // until then, the notification may be on its way
	q.empty(rt)
	if out, err := os.ReadFile(filepath.Join(dir, "b1.output")); string(out) != "one\ntwo\n" || !slices.Equal(q.read, []string{"end:b1"}) {
		t.Errorf("output %q, %v; told %q", out, err, q.read)
	}
}

// A new attempt keeps id, start and pins; a straggler of the one before changes nothing.
func TestContinueIsANewAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		rt := newRuntime(t, Options{Notifier: q})
		first := start(t, rt, Spec{Kind: LocalAgent, Background: true, Description: "work"}, takes(time.Second, errors.New("no")))
		<-first.Done()
		unpin := rt.Pin(first.ID)
		q.empty(rt)
		old := first.Snapshot()
		again, err := rt.Continue(old, takes(time.Second, nil))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := rt.Continue(old, takes(0, nil)); err == nil || !strings.Contains(err.Error(), "running already") {
			t.Errorf("a second start at once: %v", err)
		}
		first.Update(func(s *Snapshot) { s.Description = "straggler" })
		first.Stop(ErrKilled)
		s := again.Snapshot()
		if s.ID != old.ID || s.Attempt != 1 || !s.StartedAt.Equal(old.StartedAt) || s.Error != "" || s.Description != "work" || s.Told {
			t.Errorf("new attempt: %+v", s)
		}
		<-again.Done()
		q.empty(rt)
		if want := []string{"end:" + string(old.ID), "end:" + string(old.ID) + ":1"}; !slices.Equal(q.read, want) {
			t.Errorf("told %q, want %q", q.read, want)
		}
		time.Sleep(time.Hour)
		if s, ok := rt.Get(old.ID); !ok || s.Status != Completed {
			t.Errorf("the pin did not outlast the first attempt: %+v, %v", s, ok)
		}
		unpin()
		time.Sleep(time.Hour)
		if _, ok := rt.Get(old.ID); ok {
			t.Error("it is never forgotten")
		}
	})
}

func TestFolderHasOneOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rt := newRuntime(t, Options{Dir: dir})
	if Live(dir) {
		t.Error("live before anything runs")
	}
	start(t, rt, Spec{}, takes(0, nil)).Attach(t.Context(), 0)
	if !Live(dir) {
		t.Error("not live")
	}
	other := newRuntime(t, Options{Dir: dir})
	if _, err := other.Start(Spec{Kind: LocalBash}, takes(0, nil)); !errors.Is(err, ErrOwned) {
		t.Errorf("a second runtime: %v", err)
	}
	if err := Abandon(dir, func(Record) error { t.Error("asked to end something of a running program"); return nil }); !errors.Is(err, ErrOwned) {
		t.Errorf("Abandon = %v", err)
	}
	if err := rt.Close(t.Context()); err != nil || Live(dir) {
		t.Errorf("Close = %v, live afterwards: %v", err, Live(dir))
	}
}

func TestAbandonPutsEndsOnRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeJournal(t, dir,
		Snapshot{ID: "b1", Kind: LocalBash, Status: Completed, Told: true},
		Snapshot{ID: "b2", Kind: LocalBash, Status: Running, Description: "server"})
	ids := make(chan ID, 10)
	if err := Abandon(dir, func(r Record) error { ids <- r.ID; return nil }); err != nil {
		t.Fatal(err)
	}
	close(ids)
	asked := slices.Sorted(func(yield func(ID) bool) {
		for id := range ids {
			if !yield(id) {
				return
			}
		}
	})
	records, err := ReadJournal(dir)
	if err != nil || len(records) != 2 || records[1].Status != Killed || records[1].Reason != ReasonInterrupted || records[1].Description != "server" || records[1].Told {
		t.Errorf("journal: %+v, %v", records, err)
	}
	if !slices.Equal(asked, []ID{"b1", "b2"}) { // b1 may have left a process behind
		t.Errorf("asked to end %q", asked)
	}
}

// Folders of dead sessions go when they are old; one that is in use stays at any age.
func TestSweep(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	var dirs []string
	for _, name := range []string{"old", "young", "live", "empty"} {
		dir := filepath.Join(base, name)
		dirs = append(dirs, dir)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if name == "empty" {
			continue
		}
		writeJournal(t, dir, Snapshot{ID: "b1", Status: Completed})
		if name != "young" {
			long := time.Now().Add(-1000 * time.Hour)
			if err := os.Chtimes(filepath.Join(dir, journalName), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	rt := newRuntime(t, Options{Dir: dirs[2]})
	if err := rt.own(); err != nil {
		t.Fatal(err)
	}
	removed, err := Sweep(dirs, 100*time.Hour)
	if err != nil || !slices.Equal(removed, dirs[:1]) {
		t.Errorf("Sweep removed %q, %v; want %q", removed, err, dirs[:1])
	}
	if _, err := os.Stat(dirs[0]); !os.IsNotExist(err) {
		t.Errorf("the old folder: %v", err)
	}
}

// What an ended task of before left behind ends with this session.
func TestRecoverEndsWhatWasLeftBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writeJournal(t, dir, Snapshot{ID: "b1", Kind: LocalBash, Status: Completed, Told: true})
	rt := newRuntime(t, Options{Dir: dir})
	ended := make(chan ID, 1)
	left := func(r Record) func() error { return func() error { ended <- r.ID; return errors.New("no luck") } }
	if err := rt.Recover(nothing, heir{left: left}); err != nil {
		t.Fatal(err)
	}
	if err := rt.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "what task b1 left behind: no luck") || len(ended) != 1 {
		t.Errorf("Close = %v, %d ended", err, len(ended))
	}
}

// A copy of a folder tells of tasks that are not its own: nothing of them is touched.
func TestCopiedFolderOwnsNothing(t *testing.T) {
	t.Parallel()
	original, copied := t.TempDir(), t.TempDir()
	output := filepath.Join(original, "b1.output")
	records := []Snapshot{
		{ID: "b1", Kind: LocalBash, Status: Running, OutputFile: output},
		{ID: "b2", Kind: LocalBash, Status: Completed, Told: true, OutputFile: output},
	}
	touch := heir{
		adopt: func(r Record) Runner { t.Errorf("adopts %s", r.ID); return nil },
		left:  func(r Record) func() error { t.Errorf("ends what %s left", r.ID); return nil },
	}
	for name, take := range map[string]func() error{
		"abandon": func() error {
			return Abandon(copied, func(r Record) error { t.Errorf("ends %s", r.ID); return nil })
		},
		"recover": func() error {
			rt := newRuntime(t, Options{Dir: copied})
			defer rt.Close(t.Context())
			return rt.Recover(nothing, touch)
		},
	} {
		writeJournal(t, copied, records...)
		if err := take(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := ReadJournal(copied); err != nil || got[0].Status != Killed || got[0].Reason != ReasonInterrupted {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	moved := filepath.Join(t.TempDir(), "moved") // the original is gone: it is this one now
	if err := os.Rename(original, moved); err != nil {
		t.Fatal(err)
	}
	writeJournal(t, moved, records...)
	ended := make(chan ID, 5)
	if err := Abandon(moved, func(r Record) error { ended <- r.ID; return nil }); err != nil || len(ended) != 2 {
		t.Errorf("a moved folder: %d asked to end, %v", len(ended), err)
	}
}
