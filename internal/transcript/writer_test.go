package transcript

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"heddle/internal/message"
)

// faultyFile is a file on a disk that is full from time to time.
type faultyFile struct {
	*os.File
	failAt       int  // the write, counted from 1, with which the disk is full
	failures     int  // how many writes in a row fail
	partly       int  // bytes that a failing write writes all the same
	silent       bool // it does not say so
	failTruncate int  // truncations that fail

	writes int
}

func (f *faultyFile) Write(b []byte) (int, error) {
	f.writes++
	if f.writes < f.failAt || f.writes >= f.failAt+f.failures {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:min(f.partly, len(b))])
	if err == nil && !f.silent {
		err = syscall.ENOSPC
	}
	return n, err
}

func (f *faultyFile) Truncate(size int64) error {
	if f.failTruncate > 0 {
		f.failTruncate--
		return syscall.EIO
	}
	return f.File.Truncate(size)
}

// A full disk leaves no half record, nothing is lost, and it is told once.
func TestFullDiskLosesNothing(t *testing.T) {
	tests := []faultyFile{
		{failAt: 2, failures: 1},
		{failAt: 2, failures: 1, partly: 30},
		{failAt: 2, failures: 3, partly: 30},
		{failAt: 1, failures: 4, partly: 1},
		{failAt: 2, failures: 1, partly: 30, silent: true},
		{failAt: 2, failures: 2, partly: 30, failTruncate: 1},
		{failAt: 2, failures: 1, partly: 30, failTruncate: 3},
		{failAt: 2, failures: 1, partly: 1 << 20}, // all of it, and an error
	}
	for _, faults := range tests {
		t.Run(fmt.Sprintf("%+v", faults), func(t *testing.T) {
			path := newSession(t)
			w, _ := openWriter(t, path)
			faults.File = w.f.(*os.File)
			w.f = &faults
			told := 0
			for i := range 8 {
				if err := w.Append(Note{Text: fmt.Sprint(i)}); err != nil {
					told++
					if !errors.Is(err, ErrDelayed) || !faults.silent && !errors.Is(err, syscall.ENOSPC) {
						t.Errorf("Append: %v, want %v", err, ErrDelayed)
					}
				}
				for _, d := range damaged(read(t, path)) {
					if faults.failTruncate == 0 && !w.torn {
						t.Errorf("after record %d the file holds %+v", i, d)
					}
				}
			}
			if told != 1 {
				t.Errorf("the caller was told %d times, want once", told)
			}
			if n := w.Pending(); n != 0 {
				t.Errorf("%d records are pending, want none", n)
			}
			closeWriter(t, w)
			var got []string
			for _, r := range read(t, path)[1:] {
				got = append(got, r.(Note).Text)
			}
			if got := strings.Join(got, ""); got != "01234567" {
				t.Errorf("the file holds %s, want every record in order", got)
			}
		})
	}
}

func TestSecondOutageIsToldAgain(t *testing.T) {
	w, _ := openWriter(t, newSession(t))
	defer w.Close()
	f := &faultyFile{File: w.f.(*os.File), failAt: 1, failures: 1}
	w.f = f
	for i, want := range []bool{true, false, true, false} {
		if i == 2 {
			f.writes, f.failAt = 0, 1
		}
		if err := w.Append(Note{}); (err != nil) != want {
			t.Errorf("Append %d: %v, want an error: %v", i, err, want)
		}
	}
}

func TestSyncAndCloseTellTheTruth(t *testing.T) {
	path := newSession(t, user("hi"))
	w, _ := openWriter(t, path)
	w.f = &faultyFile{File: w.f.(*os.File), failAt: 1, failures: 1000, partly: 3}
	if err := w.Append(Note{}); !errors.Is(err, ErrDelayed) {
		t.Errorf("Append: %v, want %v", err, ErrDelayed)
	}
	for range 2 {
		if err := w.Sync(); !errors.Is(err, ErrDelayed) {
			t.Errorf("Sync: %v, want %v", err, ErrDelayed)
		}
	}
	if err := w.Append(Note{}); err != nil {
		t.Errorf("Append: %v, but it was told before", err)
	}
	if err := w.Close(); !errors.Is(err, ErrDelayed) || !strings.Contains(err.Error(), "the last 2 records are lost") {
		t.Errorf("Close: %v, want it to count what is lost", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	if err := errors.Join(w.Append(Note{})); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Append after Close: %v", err)
	}
	if err := w.Sync(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Sync after Close: %v", err)
	}
	if got := read(t, path); len(got) != 2 || len(damaged(got)) > 0 {
		t.Errorf("the file holds %#v, want what it held before", got)
	}
}

// smallDisk returns a directory with 64 KiB of space, or none where the test
// may not mount one.
func smallDisk(t *testing.T) (dir string, ok bool) {
	dir = t.TempDir()
	if err := mountTmpfs(dir, 64<<10); err != nil {
		if os.Geteuid() != 0 && !errors.Is(err, syscall.EPERM) && !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("mount: %v, want a refusal", err)
		}
		t.Logf("no small disk (%v): a limit on the file's size takes its place", err)
		return dir, false
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir, true
}

func TestRealFullDisk(t *testing.T) {
	dir, mounted := smallDisk(t)
	path := File(filepath.Join(dir, "projects", "key"), NewID())
	w := create(t, path)
	ballast := filepath.Join(dir, "ballast")
	if mounted {
		writeFile(t, ballast, strings.Repeat("x", 36<<10))
	} else {
		w.f = &faultyFile{File: w.f.(*os.File), failAt: 3, failures: 4, partly: 5000}
	}
	told := 0
	for i := range 6 {
		err := w.Append(user(fmt.Sprint(i) + strings.Repeat("y", 9000)))
		if err != nil {
			told++
		}
		if d := damaged(read(t, path)); len(d) > 0 {
			t.Errorf("after record %d the file holds %+v", i, d)
		}
	}
	if told != 1 || w.Pending() == 0 {
		t.Errorf("told %d times with %d records pending, want once and some", told, w.Pending())
	}
	if mounted {
		if _, err := Create(File(dir, NewID()), Header{Dir: strings.Repeat("z", 30000)}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Create on a full disk: %v, want %v", err, syscall.ENOSPC)
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
	}
	closeWriter(t, w)
	records := read(t, path)
	if len(records) != 7 || len(damaged(records)) > 0 {
		t.Fatalf("the file holds %d records, want 7", len(records))
	}
	for i, r := range records[1:] {
		if got := r.(Message).Message.Text(); got[0] != byte('0'+i) {
			t.Errorf("record %d is %.1s", i, got)
		}
	}
}

func TestAppendFromManyGoroutines(t *testing.T) {
	path := newSession(t)
	w, _ := openWriter(t, path)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if err := w.Append(answer("x")); err != nil {
					t.Errorf("Append: %v", err)
				}
			}
		})
	}
	all.Wait()
	closeWriter(t, w)
	records := read(t, path)
	ids := map[string]bool{}
	for i, r := range records[1:] {
		m, ok := r.(Message)
		if !ok || m.Sum.Turns != i+1 || m.Time.IsZero() || !ValidID(m.ID) {
			t.Fatalf("record %d is %#v", i, r)
		}
		ids[m.ID] = true
	}
	if len(ids) != 400 {
		t.Errorf("%d ids, want 400", len(ids))
	}
}

func BenchmarkAppend(b *testing.B) {
	w, err := Create(File(b.TempDir(), NewID()), Header{})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	m := assistant(message.Text{Text: strings.Repeat("some text ", 100)}, call("x"))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Append(m); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen10000Records(b *testing.B) {
	path := File(b.TempDir(), NewID())
	w, err := Create(path, Header{})
	if err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("some text ", 50)
	for i := range 2500 {
		id := fmt.Sprint(i)
		for _, r := range []Record{user(text), calls(id), Result{Result: result(id, text)}, given(result(id, text))} {
			if err := w.Append(r); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		w, records, err := Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if messages, _ := History(records); len(messages) != 7500 {
			b.Fatalf("%d messages", len(messages))
		}
		w.Close()
	}
}
