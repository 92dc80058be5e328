package transcript

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// damaged returns the damaged records.
func damaged(records []Record) []Damaged {
	var out []Damaged
	for _, r := range records {
		if d, ok := r.(Damaged); ok {
			out = append(out, d)
		}
	}
	return out
}

func TestNewFilesBelongToTheirOwner(t *testing.T) {
	path := newSession(t, user("hi"))
	for name, want := range map[string]fs.FileMode{path: 0o600, filepath.Dir(path): 0o700, filepath.Dir(filepath.Dir(path)): 0o700} {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s = %v, %v, want %v", name, info.Mode(), err, want)
		}
	}
	if _, err := os.Stat(lockPath(path)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock file is still there: %v", err)
	}
}

func TestCreateReplacesNothing(t *testing.T) {
	path := newSession(t)
	before := readFile(t, path)
	if _, err := Create(path, Header{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a session: %v, want %v", err, fs.ErrExist)
	}
	if readFile(t, path) != before {
		t.Error("Create changed the session that was there")
	}
	w, _ := openWriter(t, path) // the lease is free again
	closeWriter(t, w)
}

// A torn last line is cut back to the last complete one, and kept aside.
func TestTornTailIsCutBack(t *testing.T) {
	const last = `{"type":"note","uuid":"u","time":"2026-05-01T12:00:01Z","text":"a long note"}`
	tests := []struct {
		name, tail string
		torn       string // what is kept aside
		notes      int    // whole records in the tail
	}{
		{"nothing", "", "", 0},
		{"half a record", last[:40], last[:40], 0},
		{"half a record in two bytes", last[:len(last)-4] + "\xc3", last[:len(last)-4] + "\xc3", 0},
		{"a bracket", "{", "{", 0},
		{"no line end", last, "", 1},
		{"no line end but CR", last + "\r", "", 1},
		{"zeros after a power loss", strings.Repeat("\x00", 5000), strings.Repeat("\x00", 5000), 0},
		{"half a record and zeros", last[:20] + strings.Repeat("\x00", 70000), last[:20] + strings.Repeat("\x00", 70000), 0},
		{"zeros and a line end", "\x00\x00\x00\n", "\x00\x00\x00\n", 0},
		{"two broken lines", "{\n" + last[:40] + "\n", "{\n" + last[:40] + "\n", 0},
		{"broken lines after a record", last + "\n{\n{", "{\n{", 1},
		{"blank lines", "\n\r\n", "\n\r\n", 0},
		{"CRLF", last + "\r\n" + last + "\r\n", "", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := newSession(t, user("hi"))
			whole := readFile(t, path)
			writeFile(t, path, whole+tt.tail)

			if n := len(read(t, path)) - len(damaged(read(t, path))); n != 2+tt.notes {
				t.Errorf("Read before the repair = %d records, want %d", n, 2+tt.notes)
			}
			w, records := openWriter(t, path)
			if n := len(records) - len(damaged(records)); n != 2+tt.notes {
				t.Errorf("Open = %d records, want %d", n, 2+tt.notes)
			}
			aside := path + ".torn-1"
			for _, d := range damaged(records) {
				if d.Aside != aside {
					t.Errorf("damaged record %+v does not say where its bytes are", d)
				}
			}
			if tt.torn == "" {
				if _, err := os.Stat(aside); err == nil {
					t.Errorf("kept aside %q, want nothing", readFile(t, aside))
				}
			} else if got := readFile(t, aside); got != tt.torn {
				t.Errorf("kept aside %q, want %q", got, tt.torn)
			}
			appendAll(t, w, Note{Text: "after"})
			closeWriter(t, w)
			again := read(t, path)
			if len(damaged(again)) > 0 || len(again) != 3+tt.notes {
				t.Errorf("after the repair: %#v", again)
			}
			if n, ok := again[len(again)-1].(Note); !ok || n.Text != "after" {
				t.Errorf("last record = %#v, want the one that was appended", again[len(again)-1])
			}
		})
	}
}

func TestEveryTornPieceIsKept(t *testing.T) {
	path := newSession(t)
	for i, piece := range []string{"{1", "{2", "{3"} {
		writeFile(t, path, readFile(t, path)+piece)
		w, _ := openWriter(t, path)
		closeWriter(t, w)
		if got := readFile(t, path+".torn-"+string(rune('1'+i))); got != piece {
			t.Errorf("piece %d = %q, want %q", i, got, piece)
		}
	}
}

func TestFileWithoutAHeader(t *testing.T) {
	for name, text := range map[string]string{"empty": "", "only a fragment": `{"type":"hea`, "only zeros": "\x00\x00"} {
		path := File(t.TempDir(), NewID())
		writeFile(t, path, text)
		w, records := openWriter(t, path)
		if len(records) != len(damaged(records)) {
			t.Errorf("%s: records = %#v", name, records)
		}
		if messages, repairs := History(records); len(messages) > 0 || len(repairs) > 0 {
			t.Errorf("%s: History = %v, %v, want nothing", name, messages, repairs)
		}
		appendAll(t, w, Header{Session: "s"}, user("hi"))
		closeWriter(t, w)
		if got := read(t, path); len(got) != 2 || len(damaged(got)) > 0 {
			t.Errorf("%s: afterwards %#v", name, got)
		}
	}
}

// A bad line in the middle is reported and skipped; it stays in the file.
func TestBadLineInTheMiddleIsSkipped(t *testing.T) {
	path := newSession(t, user("one"), answer("two"))
	lines := strings.SplitAfter(readFile(t, path), "\n")
	for _, bad := range []string{"garbage\n", "{\"type\":\"message\",\"message\":{\"role\":\"x\"}}\n", "\x00\x00\n", `{"type":"note"` + lines[2]} {
		writeFile(t, path, lines[0]+lines[1]+bad+lines[2])
		w, records := openWriter(t, path)
		closeWriter(t, w)
		d := damaged(records)
		if len(d) != 1 || d[0].Line != 3 || d[0].Offset != int64(len(lines[0]+lines[1])) || d[0].Size != int64(len(bad)) || d[0].Err == nil || d[0].Aside != "" {
			t.Errorf("%q: damaged = %+v, want line 3", bad, d)
		}
		if _, err := os.Stat(path + ".torn-1"); err == nil {
			t.Errorf("%q: something was cut off the end", bad)
		}
	}
}

func TestAllIncludesWhatWasCompacted(t *testing.T) {
	path := newSession(t, user("old"), Compaction{}, user("summary"), Mode{Mode: "plan"})
	writeFile(t, path, readFile(t, path)+"{")
	var got []string
	for r, err := range All(path) {
		if err != nil {
			t.Fatal(err)
		}
		switch r := r.(type) {
		case Message:
			got = append(got, r.Message.Text())
		case Damaged:
			got = append(got, "damaged")
		}
	}
	if got := strings.Join(got, " "); got != "old summary damaged" {
		t.Errorf("All = %s", got)
	}
	for range All(path) {
		break
	}
	for _, err := range All(path + "x") {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("All of nothing: %v", err)
		}
	}
}

func TestWhatIsNoFileIsRefused(t *testing.T) {
	target := newSession(t, user("hi"))
	tests := []struct {
		name string
		make func(path string) error
		want string
	}{
		{"nothing", func(string) error { return nil }, "no such file"},
		{"directory", func(p string) error { return os.Mkdir(p, 0o700) }, "directory"},
		{"link", func(p string) error { return os.Symlink(target, p) }, "symbolic link"},
		{"dangling link", func(p string) error { return os.Symlink(p+".x", p) }, "symbolic link"},
		{"pipe", func(p string) error { return syscall.Mkfifo(p, 0o600) }, "not a regular file"},
	}
	for _, tt := range tests {
		path := File(t.TempDir(), NewID())
		if err := tt.make(path); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(path); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: Open: %v, want …%s…", tt.name, err, tt.want)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Read: %v, want …%s…", tt.name, err, tt.want)
		}
		if _, err := os.Stat(lockPath(path)); err == nil {
			t.Errorf("%s: a lock file was left", tt.name)
		}
		if tt.name == "nothing" {
			continue
		}
		if _, err := Create(path, Header{}); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: Create: %v, want %v", tt.name, err, fs.ErrExist)
		}
		if _, err := os.Stat(path + ".x"); err == nil {
			t.Errorf("%s: Create wrote through the link", tt.name)
		}
	}
}

func TestDirectoryThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	// A file in place of a directory stops even root.
	writeFile(t, filepath.Join(dir, "file"), "")
	if _, err := Create(File(filepath.Join(dir, "file", "key"), NewID()), Header{}); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("Create below a file: %v, want %v", err, syscall.ENOTDIR)
	}
	if os.Geteuid() == 0 {
		return // may write anywhere
	}
	path := newSession(t)
	os.Chmod(filepath.Dir(path), 0o500)
	if _, _, err := Open(path); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Open in a read-only directory: %v, want %v", err, fs.ErrPermission)
	}
	if _, err := Create(File(filepath.Dir(path), NewID()), Header{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("Create in a read-only directory: %v, want %v", err, fs.ErrPermission)
	}
}

// A long session needs no more memory than the part that is still sent.
func TestLoadingCostsWhatIsLive(t *testing.T) {
	path := newSession(t)
	text := strings.Repeat("x", 10_000)
	w, _ := openWriter(t, path)
	for range 1500 {
		appendAll(t, w, user(text), calls("a"), Result{Result: result("a", text)}, given(result("a", text)))
	}
	appendAll(t, w, Compaction{}, user("summary"), answer("ok"))
	closeWriter(t, w)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	records := read(t, path)
	runtime.ReadMemStats(&after)
	if messages, _ := History(records); outline(messages) != "u[summary] a[ok]" {
		t.Errorf("History = %s", outline(messages))
	}
	// What is dead costs its place in a list for a while, not its text.
	if got, most := after.TotalAlloc-before.TotalAlloc, uint64(info.Size()/10); got > most {
		t.Errorf("reading %d bytes, all but dead, allocated %d, want at most %d", info.Size(), got, most)
	}
}

// Sums are those of the whole session, also after a resume.
func TestSumsGoOn(t *testing.T) {
	path := newSession(t, user("a"), answer("b"), Name{Name: "n"}, Compaction{Cost: 1}, user("summary"), answer("c"))
	w, _ := openWriter(t, path)
	appendAll(t, w, Title{Title: "t"}, answer("d"))
	closeWriter(t, w)
	records := read(t, path)
	want := Sum{Turns: 3, Cost: 2.5, Title: "t", Name: "n"}
	if got := records[len(records)-1].(Message).Sum; got != want {
		t.Errorf("sum = %+v, want %+v", got, want)
	}
}

func TestForkLeavesTheParentAlone(t *testing.T) {
	parent := newSession(t, Name{Name: "mine"}, user("old"), answer("x"), Compaction{Cost: 1}, user("summary"), answer("b"), Mode{Mode: "plan"}, calls("c"))
	owner, _ := openWriter(t, parent) // it is in use
	defer closeWriter(t, owner)
	before := readFile(t, parent)

	path := File(filepath.Dir(parent), NewID())
	w, records, err := Fork(parent, path, Header{Session: "child"})
	if err != nil {
		t.Fatal(err)
	}
	messages, repairs := History(records)
	if got, want := outline(messages), "u[summary] a[b] a[let me look +c] u[!c]"; got != want {
		t.Errorf("the fork's history = %s, want %s", got, want)
	}
	appendAll(t, w, repairs...)
	appendAll(t, w, user("go"), answer("on"))
	closeWriter(t, w)
	if readFile(t, parent) != before {
		t.Error("the parent has changed")
	}
	h := records[0].(Header)
	if want := strings.TrimSuffix(filepath.Base(parent), ".jsonl"); h.Parent != want || h.Session != "child" {
		t.Errorf("header = %+v, want parent %s", h, want)
	}
	s := Summarize(path)
	if s.Cost != 0.5 || s.Name != "" || s.Parent != h.Parent {
		t.Errorf("summary of the fork = %+v, want only its own cost and no name", s)
	}
	if strings.Contains(readFile(t, path), `"old"`) {
		t.Error("the fork holds what is not sent any more")
	}
	if _, _, err := Fork(parent, path, Header{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second fork to the same path: %v", err)
	}
	if _, _, err := Fork(path+"x", path+"y", Header{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a fork of nothing: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range []Record{Header{}, user("x"), calls("a"), Result{Result: result("a", "b")}, Compaction{}, Restored{}, Rewind{}, Note{}} {
		line, err := encode(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"type":"new","x":1}`))
	f.Add([]byte(`{"type":"message","message":{"role":"user","content":[{"type":"tool_use","input":"\ud800"},{"type":"x"}]}}`))
	f.Add([]byte("\x00\x00"))
	f.Fuzz(func(t *testing.T, line []byte) {
		r, err := decode(line)
		if err != nil {
			return
		}
		first, err := encode(r)
		if err != nil {
			t.Fatalf("read %#v, which cannot be written: %v", r, err)
		}
		again, err := decode(first)
		if err != nil {
			t.Fatalf("wrote %s, which cannot be read: %v", first, err)
		}
		second, err := encode(again)
		if err != nil || string(first) != string(second) {
			t.Fatalf("%s became %s, %v", first, second, err)
		}
	})
}

// Whatever a file holds: its history is valid, the repairs settle it, and what
// is appended can be read.
func FuzzLoad(f *testing.F) {
	var all []byte
	for _, r := range []Record{Header{}, user("x"), calls("a", "b"), Result{Result: result("a", "r")}, Compaction{}, user("s"), Rewind{Keep: 1}} {
		line, err := encode(r)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, line...)
	}
	f.Add(all)
	f.Add(all[:len(all)-5])
	f.Add([]byte("\r\n\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		first, err := load(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		messages, repairs := History(first.records)
		if err := checkPairing(messages); err != nil {
			t.Errorf("%v\nin %s", err, outline(messages))
		}
		text = bytes.Clone(text[:first.end])
		if !first.newline {
			text = append(text, '\n')
		}
		for _, r := range append(repairs, Note{Text: "end"}) {
			line, err := encode(r)
			if err != nil {
				t.Fatal(err)
			}
			text = append(text, line...)
		}
		second, err := load(bytes.NewReader(text))
		if err != nil || second.end != int64(len(text)) || !second.newline {
			t.Fatalf("after the repair the file ends at %d of %d, %v", second.end, len(text), err)
		}
		if n, ok := second.records[len(second.records)-1].(Note); !ok || n.Text != "end" {
			t.Errorf("the last record is %#v", second.records[len(second.records)-1])
		}
		later, more := History(second.records)
		if len(more) > 0 || outline(later) != outline(messages) {
			t.Errorf("the second resume has %s and %d repairs, the first had %s", outline(later), len(more), outline(messages))
		}
	})
}
