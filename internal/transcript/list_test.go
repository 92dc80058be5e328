package transcript

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// session writes one with a given id, whose last record is of a given second.
func session(t *testing.T, root, key, id string, second int, records ...Record) string {
	t.Helper()
	path := File(filepath.Join(root, key), id)
	w := create(t, path)
	appendAll(t, w, records...)
	appendAll(t, w, Note{Head: Head{Time: at(second)}})
	closeWriter(t, w)
	return path
}

const (
	idA = "aaaaaaaa-0000-4000-8000-000000000000"
	idB = "aabbbbbb-0000-4000-8000-000000000000"
	idC = "cccccccc-0000-4000-8000-000000000000"
)

func TestListTellsWhatASessionIs(t *testing.T) {
	root := t.TempDir()
	path := session(t, root, "p", idA, 5, user("  fix\nthe   bug "+strings.Repeat("ü", 100)), calls("x"), given(result("x", "r")), answer("done"))
	session(t, root, "p", idB, 9, user("q"), Model{Model: "m9"}, Title{Title: "A title"}, Name{Name: "mine"})
	writeFile(t, File(filepath.Join(root, "p"), idC), "")
	for _, name := range []string{idA + ".jsonl.torn-1", idC + ".jsonl.lock", "notes.jsonl", "x"} {
		writeFile(t, filepath.Join(root, "p", name), "{}")
	}
	all, err := List(filepath.Join(root, "p"))
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 3 || all[0].ID != idC || all[1].ID != idB || all[2].ID != idA {
		t.Fatalf("List = %+v, want C, B and A", all)
	}
	if c := all[0]; c.State != Broken || c.Problem != "the file is empty" {
		t.Errorf("C = %+v, want it broken", c)
	}
	if b := all[1]; b.Title != "A title" || b.Name != "mine" || b.Model != "m9" || b.State != Idle {
		t.Errorf("B = %+v", b)
	}
	want := Summary{ID: idA, Path: path, Title: "fix the bug " + strings.Repeat("ü", 67) + "…", Dir: "/work", Model: "m2",
		Start: all[2].Start, LastChange: at(5), Turns: 2, Cost: 1, State: Idle}
	if diff := cmp.Diff(want, all[2]); diff != "" || want.Start.IsZero() {
		t.Errorf("A (-want +got):\n%s", diff)
	}
	w, _ := openWriter(t, path)
	defer closeWriter(t, w)
	if s := Summarize(path); s.State != Live || s.Owner != os.Getpid() {
		t.Errorf("A while it is open = %+v, want live", s)
	}
	if none, err := List(filepath.Join(root, "nothing")); err != nil || len(none) != 0 {
		t.Errorf("List of no directory = %v, %v", none, err)
	}
}

func TestSummaryOfDamagedFiles(t *testing.T) {
	path := newSession(t, user("hi"), answer("x"))
	whole := readFile(t, path)
	header, rest, _ := strings.Cut(whole, "\n")
	for _, tt := range []struct {
		name, text, title string
		state             State
	}{
		{"a torn end", whole + "{\"type", "hi", Idle},
		{"zeros at the end", whole + strings.Repeat("\x00", 300_000), "hi", Idle},
		{"no header", rest, "hi", Idle},
		{"only a header", header, "", Idle},
		{"garbage", strings.Repeat("garbage\n", 20_000), "", Broken},
		{"zeros", strings.Repeat("\x00", 300_000), "", Broken},
	} {
		writeFile(t, path, tt.text)
		s := Summarize(path)
		if s.State != tt.state || s.Title != tt.title || (s.Problem == "") != (tt.state == Idle) {
			t.Errorf("%s: %+v, want %s with title %q", tt.name, s, tt.state, tt.title)
		}
		if tt.title != "" && (s.Turns != 1 || s.Cost != 0.5) {
			t.Errorf("%s: %d turns for %v, want 1 for 0.5", tt.name, s.Turns, s.Cost)
		}
	}
}

func TestSummaryReadsOnlyTheEnds(t *testing.T) {
	path := newSession(t, user("first"))
	w, _ := openWriter(t, path)
	text := strings.Repeat("x", 100_000)
	for range 200 {
		appendAll(t, w, answer(text))
	}
	appendAll(t, w, Name{Name: "n"}, user("last"))
	closeWriter(t, w)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := Summarize(path)
	runtime.ReadMemStats(&after)
	if s.Title != "first" || s.Turns != 200 || s.Cost != 100 || s.Name != "n" || s.Model != "m1" && s.Model != "m2" {
		t.Errorf("summary = %+v", s)
	}
	if got := after.TotalAlloc - before.TotalAlloc; got > 4<<20 {
		t.Errorf("a summary of a file of 20 MB allocated %d bytes", got)
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	session(t, root, "p", idA, 1, user("one"))
	session(t, root, "q", idB, 2, user("two"), Name{Name: "My Name"})
	session(t, root, "q", idC, 3, user("three"), Name{Name: "aaa"})
	writeFile(t, filepath.Join(root, "stray"), "")
	for query, want := range map[string]string{
		idA: idA, strings.ToUpper(idA): idA, "aab": idB, "AAB": idB, " cc ": idC, "my name": idB, "aaaa": idA,
	} {
		if got, err := Find(root, query); err != nil || got.ID != want {
			t.Errorf("Find(%q) = %s, %v, want %s", query, got.ID, err, want)
		}
	}
	for _, query := range []string{"", "zz", "../p/" + idA, idA + "0", "My"} {
		if got, err := Find(root, query); !errors.Is(err, ErrNotFound) {
			t.Errorf("Find(%q) = %s, %v, want %v", query, got.ID, err, ErrNotFound)
		}
	}
	if _, err := Find(filepath.Join(root, "nothing"), idA); !errors.Is(err, ErrNotFound) {
		t.Errorf("Find without a root: %v, want %v", err, ErrNotFound)
	}
	// One by its id, the other by its name.
	_, err := Find(root, "aaa")
	var many *AmbiguousError
	if !errors.As(err, &many) || len(many.Candidates) != 2 {
		t.Fatalf("Find: %v, want two candidates", err)
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[1], idC+"  2026-05-01") || !strings.Contains(lines[1], "aaa") ||
		!strings.Contains(lines[2], idA) || !strings.Contains(lines[2], "one") {
		t.Errorf("the error is\n%v\nwant both listed, the newest first", err)
	}
	many.Candidates = make([]Summary, 14)
	if text := many.Error(); !strings.HasSuffix(text, "and 4 more") {
		t.Errorf("the error is\n%s\nwant it cut", text)
	}
}

func TestNewest(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "p")
	if _, err := Newest(dir); !errors.Is(err, ErrNotFound) {
		t.Errorf("Newest of nothing: %v, want %v", err, ErrNotFound)
	}
	session(t, root, "p", idA, 2, user("one"))
	session(t, root, "p", idB, 1, user("two"))
	session(t, root, "p", idC, 3) // nothing was said
	if got, err := Newest(dir); err != nil || got.ID != idA {
		t.Errorf("Newest = %s, %v, want %s", got.ID, err, idA)
	}
}

func TestIDs(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		id := NewID()
		if !ValidID(id) || id[14] != '4' || !strings.ContainsRune("89ab", rune(id[19])) || seen[id] {
			t.Errorf("NewID = %q", id)
		}
		seen[id] = true
	}
	for _, id := range []string{"", "x", idA + "0", idA[:35], strings.ToUpper(idA), strings.ReplaceAll(idA, "-", "0"),
		"../aaaaa-0000-4000-8000-000000000000", "aaaaaaaa-0000-4000-8000-00000000000/"} {
		if ValidID(id) {
			t.Errorf("ValidID(%q)", id)
		}
	}
}
