package builtin

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestWriteCreatesWithFolders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.call(Write(b.locks), args{"file_path": b.path("a/b c/项目.txt"), "content": "one\ntwo"})
	if want := "Created " + b.path("a/b c/项目.txt") + ": 2 lines, 7 bytes."; textOf(r) != want {
		t.Errorf("Write = %q, want %q", textOf(r), want)
	}
	b.holds("a/b c/项目.txt", "one\ntwo")
	want := fileChange{"create", b.path("a/b c/项目.txt"), []hunk{{0, 0, 1, 2, []string{"+one", "+two"}}}}
	if d := cmp.Diff(any(want), r.Data); d != "" {
		t.Errorf("data (-want +got):\n%s", d)
	}
	b.ok(Write(b.locks), args{"file_path": b.path("a/b c/项目.txt"), "content": "own writes are known"})
	b.fails(Write(b.locks), args{"file_path": b.path("a"), "content": ""}, "is a folder")
	b.fails(Write(b.locks), args{"file_path": "/dev/null", "content": ""}, "is a device")
	b.fails(Write(b.locks), args{"file_path": b.path("x")}, "content is missing")
}

// TestAStaleWriteIsRefused: it would undo another agent's change unseen.
func TestAStaleWriteIsRefused(t *testing.T) {
	t.Parallel()
	parent := newBench(t)
	path := parent.put("f", "one\n")
	write, edit := Write(parent.locks), Edit(parent.locks)
	parent.fails(write, args{"file_path": path, "content": "x"}, "You have not read "+path)
	parent.fails(edit, args{"file_path": path, "old_string": "one", "new_string": "two"}, "You have not read "+path)

	parent.ok(Read(), args{"file_path": path})
	child := parent.child() // knows what its parent knows
	child.ok(edit, args{"file_path": path, "old_string": "one", "new_string": "child"})
	parent.fails(write, args{"file_path": path, "content": "parent\n"}, "has changed since you read it")
	parent.fails(edit, args{"file_path": path, "old_string": "child", "new_string": "parent"}, "has changed since you read it")
	parent.holds("f", "child\n")

	parent.ok(Read(), args{"file_path": path, "limit": 1}) // reading a part is enough
	parent.ok(edit, args{"file_path": path, "old_string": "child", "new_string": "parent"})
	parent.ok(edit, args{"file_path": path, "old_string": "parent", "new_string": "again"}) // an own edit is known
	parent.holds("f", "again\n")
	child.fails(write, args{"file_path": path, "content": "x"}, "has changed since you read it")
}

// TestEditsAtOnceDoNotLoseEachOther: many agents edit one file; whoever was
// refused reads again.
func TestEditsAtOnceDoNotLoseEachOther(t *testing.T) {
	t.Parallel()
	const agents = 8
	b := newBench(t)
	var text strings.Builder
	for i := range agents {
		fmt.Fprintf(&text, "<%d>\n", i)
	}
	path := b.put("f", text.String())
	var wg sync.WaitGroup
	for i := range agents {
		c := b.child()
		wg.Go(func() {
			for {
				c.ok(Read(), args{"file_path": path})
				r := c.call(Edit(c.locks), args{"file_path": path, "old_string": fmt.Sprintf("<%d>", i), "new_string": fmt.Sprintf("done %d", i)})
				if !r.IsError {
					return
				}
			}
		})
	}
	wg.Wait()
	got, err := os.ReadFile(path)
	if err != nil || strings.Count(string(got), "done") != agents {
		t.Errorf("the file holds %q, %v", got, err)
	}
	if len(b.locks.held) != 0 {
		t.Errorf("%d locks are left", len(b.locks.held))
	}
}

func TestReplacingKeepsModeAndLinks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("script.sh", "old\n")
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.Symlink("script.sh", b.path("soft")), os.Symlink("future", b.path("dangling"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	b.ok(Read(), args{"file_path": "soft"})
	b.ok(Write(b.locks), args{"file_path": "soft", "content": "new\n"})
	b.holds("script.sh", "new\n")
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != 0o750 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	if info, err := os.Lstat(b.path("soft")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the symlink is gone")
	}
	b.ok(Write(b.locks), args{"file_path": "dangling", "content": "made\n"})
	b.holds("future", "made\n")

	if err := os.Link(path, b.path("hard")); err != nil {
		t.Fatal(err)
	}
	b.ok(Edit(b.locks), args{"file_path": "script.sh", "old_string": "new", "new_string": "n"})
	b.holds("hard", "n\n")
	for _, e := range mustReadDir(t, b.scope.Root) {
		if strings.HasPrefix(e.Name(), ".heddle") {
			t.Errorf("%s is left over", e.Name())
		}
	}
}

func mustReadDir(t *testing.T, dir string) []os.DirEntry {
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// TestAFullDiskLeavesTheOldFile uses the limit on the size of files, which makes
// writes fail in the middle as a full disk does.
func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	t.Parallel()
	const child = "HEDDLE_TEST_SMALL_FILES"
	if os.Getenv(child) == "" { // the limit is one of the process, which has files of its own to write
		cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	b := newBench(t)
	path := b.put("f", "old\n")
	hard := b.put("g", "old too\n")
	if err := os.Link(hard, b.path("g2")); err != nil {
		t.Fatal(err)
	}
	b.ok(Read(), args{"file_path": path})
	b.ok(Read(), args{"file_path": hard})
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	small := was
	small.Cur = 1000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Skip(err)
	}
	big := strings.Repeat("x", 5000)
	b.fails(Write(b.locks), args{"file_path": path, "content": big}, "was not changed: file too large")
	b.fails(Write(b.locks), args{"file_path": hard, "content": big}, "was not changed: file too large")
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	b.holds("f", "old\n")
	b.holds("g2", "old too\n")
	if n := len(mustReadDir(t, b.scope.Root)); n != 3 {
		t.Errorf("the folder has %d files, want 3", n)
	}
	b.ok(Write(b.locks), args{"file_path": path, "content": "the old version is still known"})
}

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, file, old, new string
		all                  bool
		want, says           string // the file afterwards, or what the refusal says
	}{
		{name: "once", file: "a\nb\nc\n", old: "b", new: "B", want: "a\nB\nc\n"},
		{name: "delete", file: "a\nb\nc\n", old: "b\n", new: "", want: "a\nc\n"},
		{name: "all", file: "x x x", old: "x", new: "yy", all: true, want: "yy yy yy"},
		{name: "all, growing", file: "aa", old: "a", new: "aa", all: true, want: "aaaa"},
		{name: "not unique", file: "x\nx\ny x\n", old: "x", new: "y", says: "found 3 times in %s, in lines 1, 2, 3. Add lines"},
		{name: "not there", file: "abc\n", old: "zzz", new: "y", says: "was not found"},
		{name: "the same", file: "abc\n", old: "b", new: "b", says: "are the same"},
		{name: "empty", file: "abc\n", old: "", new: "b", says: "only creates a new file"},
		{name: "empty file", file: "", old: "", new: "b", want: "b"},
		{name: "CR LF", file: "a\r\nb\r\nc\r\n", old: "a\nb\n", new: "x\ny\nz\n", want: "x\r\ny\r\nz\r\nc\r\n"},
		{name: "CR LF, one line by two", file: "a\r\nb\r\n", old: "b", new: "x\ny", want: "a\r\nx\r\ny\r\n"},
		{name: "CR LF, from a break on", file: "a\r\nb\r\nc", old: "\nb", new: "\nX\nb", want: "a\r\nX\r\nb\r\nc"},
		{name: "mixed line ends", file: "a\r\nb\nc\n", old: "a\nb\nc", new: "1\n2\n3", want: "1\r\n2\r\n3\n"},
		{name: "CR on purpose", file: "a\r\nb\r\n", old: "a\r\nb", new: "a\nb", want: "a\nb\r\n"},
		{name: "byte order mark", file: "\uFEFFa\nb\n", old: "a", new: "x", want: "\uFEFFx\nb\n"},
		{name: "bytes that are no text", file: "caf\xe9 a\n", old: "a\n", new: "b\n", want: "caf\xe9 b\n"},
		{name: "line numbers", file: "\tfoo\n\tbar\n", old: "     1\t\tfoo\n     2\t\tbar", new: "x", says: "leave out the number and the tab"},
		{name: "white space", file: "a\n\tfoo(x)\n\tbar\n", old: "    foo(x)\n    bar", new: "y", says: "white space from this part of the file:\n     2\t\tfoo(x)\n     3\t\tbar"},
		{name: "quotes", file: "say “hi” – now\n", old: `say "hi" - now`, new: "y", says: "only in quotes"},
		{name: "rest differs", file: "a\nfunc f() {\n\told()\n}\n", old: "func f() {\n\tnew()\n}", new: "y", says: "what follows differs:\n     2\tfunc f() {"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			path := b.put("f", tt.file)
			b.ok(Read(), args{"file_path": path})
			in := args{"file_path": path, "old_string": tt.old, "new_string": tt.new, "replace_all": tt.all}
			if tt.says != "" {
				b.fails(Edit(b.locks), in, strings.ReplaceAll(tt.says, "%s", path))
				b.holds("f", tt.file)
				return
			}
			b.ok(Edit(b.locks), in)
			b.holds("f", tt.want)
		})
	}
}

func TestEditShowsTheRegion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("f", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
	b.ok(Read(), args{"file_path": path})
	r := b.call(Edit(b.locks), args{"file_path": path, "old_string": "5\n", "new_string": "five\nand a half\n"})
	want := "Edited " + path + ". The region now reads:\n     2\t2\n     3\t3\n     4\t4\n     5\tfive\n     6\tand a half\n     7\t6\n     8\t7\n     9\t8\n    10\t9\n"
	if got := textOf(r); got != want {
		t.Errorf("Edit = %q, want %q", got, want)
	}
	data := fileChange{"update", path, []hunk{{2, 7, 2, 8, []string{" 2", " 3", " 4", "-5", "+five", "+and a half", " 6", " 7", " 8"}}}}
	if d := cmp.Diff(any(data), r.Data); d != "" {
		t.Errorf("data (-want +got):\n%s", d)
	}
}

func TestEditCreatesOnlyWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ok(Edit(b.locks), args{"file_path": b.path("new"), "old_string": "", "new_string": "text\n"})
	b.holds("new", "text\n")
	b.fails(Edit(b.locks), args{"file_path": b.path("nwe"), "old_string": "a", "new_string": "b"}, "Did you mean "+b.path("new"))
}

func TestRefusedEditWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("f", "x\n")
	b.ok(Read(), args{"file_path": path})
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	b.fails(Edit(b.locks), args{"file_path": path, "old_string": "y", "new_string": "z"}, "was not found")
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || after.ModTime() != before.ModTime() {
		t.Error("the file was touched")
	}
}

// TestDiffLeadsFromOldToNew applies the hunks to the old text.
func TestDiffLeadsFromOldToNew(t *testing.T) {
	line := rapid.SampledFrom([]string{"a", "b", "c", "", "{"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(line, 0, 40).Draw(t, "lines"), "\n") })
	rapid.Check(t, func(t *rapid.T) {
		old, new := text.Draw(t, "old"), text.Draw(t, "new")
		a, b := splitLines(old), splitLines(new)
		got := []string{}
		at := 0
		for _, h := range diff(old, new) {
			start := max(h.OldStart-1, 0)
			if h.OldLines == 0 {
				start = h.OldStart
			}
			got = append(got, a[at:start]...)
			at = start
			olds, news := 0, 0
			for _, l := range h.Lines {
				if l[0] != '+' {
					if a[at] != l[1:] {
						t.Fatalf("hunk says line %d is %q, it is %q", at+1, l[1:], a[at])
					}
					at, olds = at+1, olds+1
				}
				if l[0] != '-' {
					got, news = append(got, l[1:]), news+1
				}
			}
			if olds != h.OldLines || news != h.NewLines {
				t.Fatalf("hunk %+v has %d old and %d new lines", h, olds, news)
			}
		}
		got = append(got, a[at:]...)
		if d := cmp.Diff(append([]string{}, b...), got); d != "" {
			t.Fatalf("applied to %q (-want +got):\n%s", old, d)
		}
	})
}

func TestDiffOfARewrittenFileIsQuick(t *testing.T) {
	t.Parallel()
	var a, b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&a, "old %d\n", i)
		fmt.Fprintf(&b, "new %d\n", i)
	}
	if got := diff(a.String(), b.String()); len(got) != 1 || got[0].OldLines != 20000 || got[0].NewLines != 20000 {
		t.Errorf("diff gives %d hunks, want one that replaces everything", len(got))
	}
}

func FuzzFind(f *testing.F) {
	f.Add("a\r\nb\n", "a\nb", "x\ny")
	f.Add("\r\n\r\n", "\n", "")
	f.Add("aaa", "aa", "b")
	f.Add("a\r", "a\r", "\n")
	f.Fuzz(func(t *testing.T, text, old, new string) {
		if old == "" {
			return
		}
		lf := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
		spans := find(text, old)
		at := 0
		for _, sp := range spans {
			if sp.start < at || sp.end > len(text) || sp.end <= sp.start {
				t.Fatalf("find(%q, %q) = %v", text, old, spans)
			}
			if got := text[sp.start:sp.end]; got != old && lf(got) != lf(old) {
				t.Fatalf("find(%q, %q) found %q", text, old, got)
			}
			at = sp.end
		}
		if len(spans) == 0 {
			if strings.Contains(text, old) {
				t.Fatalf("find(%q, %q) found nothing", text, old)
			}
			whyNotFound(text, old)
			return
		}
		result, first := substitute(text, spans, old, new)
		if first.end > len(result) || lf(result[first.start:first.end]) != lf(new) {
			t.Fatalf("substitute(%q, %q, %q) = %q, first %v", text, old, new, result, first)
		}
		var b strings.Builder
		excerpt(&b, result, first)
	})
}
