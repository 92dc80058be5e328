package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"heddle/internal/message"

	"pgregory.net/rapid"
)

// checkPairing is the rule of the model APIs.
func checkPairing(messages []Message) error {
	var open []message.ToolUse
	seen := map[string]bool{}
	for i, m := range messages {
		blocks := m.Message.Content
		if len(blocks) == 0 {
			return fmt.Errorf("message %d is empty", i)
		}
		if i == 0 && m.Message.Role != message.User {
			return errors.New("the first message is not a user's")
		}
		if len(open) > 0 && m.Message.Role != message.User {
			return fmt.Errorf("message %d does not answer %d calls", i, len(open))
		}
		for j, b := range blocks {
			r, ok := b.(message.ToolResult)
			if j < len(open) && (!ok || r.ToolUseID != open[j].ID) {
				return fmt.Errorf("block %d of message %d does not answer %q", j, i, open[j].ID)
			}
			if j >= len(open) && ok {
				return fmt.Errorf("block %d of message %d answers nothing", j, i)
			}
		}
		if len(blocks) < len(open) {
			return fmt.Errorf("message %d leaves calls open", i)
		}
		open = m.Message.ToolUses()
		if m.Message.Role == message.User && len(open) > 0 {
			open = nil // a user's call is none
		}
		for _, c := range open {
			if seen[c.ID] {
				return fmt.Errorf("message %d calls %q twice", i, c.ID)
			}
			seen[c.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d calls at the end have no result", len(open))
	}
	return nil
}

// stamped gives a record an id.
func stamped(r Record, id string) Record { return r.stamped(Head{ID: id}) }

func TestHistory(t *testing.T) {
	res := func(id string) Record { return Result{Result: result(id, "r")} }
	boundary := func(id string, n int) Compaction { return Compaction{Head: Head{ID: id}, Messages: n} }
	tests := []struct {
		name    string
		records []Record
		want    string
		repairs int
	}{
		{"nothing", nil, "", 0},
		{"a whole conversation", []Record{user("q"), calls("a", "b"), res("b"), res("a"), given(result("a", "1"), result("b", "2")), answer("x")},
			"u[q] a[let me look +a +b] u[=a:1 =b:2] a[x]", 0},
		{"a question without an answer", []Record{user("q")}, "u[q]", 0},
		// An interrupted call must not make every later request fail.
		{"a crash before any result", []Record{user("q"), calls("a", "b")}, "u[q] a[let me look +a +b] u[!a !b]", 1},
		{"a crash between results", []Record{user("q"), calls("a", "b", "c"), res("c"), res("b")},
			"u[q] a[let me look +a +b +c] u[!a =b:r =c:r]", 1},
		{"a crash after all results", []Record{user("q"), calls("a", "b"), res("b"), res("a")}, "u[q] a[let me look +a +b] u[=a:r =b:r]", 1},
		{"text instead of results", []Record{user("q"), calls("a"), user("stop")}, "u[q] a[let me look +a] u[!a stop]", 1},
		{"text before the results", []Record{user("q"), calls("a"), user("stop"), given(result("a", "1"))}, "u[q] a[let me look +a] u[=a:1 stop]", 0},
		{"results and then text", []Record{user("q"), calls("a"), given(result("a", "1")), user("next")}, "u[q] a[let me look +a] u[=a:1] u[next]", 0},
		{"the results' line is damaged", []Record{user("q"), calls("a", "b"), res("a"), Damaged{}, answer("x")},
			"u[q] a[let me look +a +b] u[=a:r !b] a[x]", 0},
		{"some results at the end", []Record{user("q"), calls("a", "b"), given(result("b", "2"))}, "u[q] a[let me look +a +b] u[!a =b:2]", 1},
		{"wrong order", []Record{user("q"), calls("a", "b"), given(result("b", "2"), message.Text{Text: "t"}, result("a", "1"))},
			"u[q] a[let me look +a +b] u[=a:1 =b:2 t]", 0},
		{"a result twice", []Record{user("q"), calls("a"), given(result("a", "1"), result("a", "2")), given(result("a", "3")), answer("x")},
			"u[q] a[let me look +a] u[=a:1] a[x]", 0},
		{"an orphan result", []Record{user("q"), given(result("z", "1")), res("z"), answer("x"), given(result("z", "1"), message.Text{Text: "t"})},
			"u[q] a[x] u[t]", 0},
		{"a call twice", []Record{user("q"), calls("a", "a"), given(result("a", "1"))}, "u[q] a[let me look +a] u[=a:1]", 0},
		{"a late result", []Record{user("q"), calls("a"), answer("x"), res("a")}, "u[q] a[let me look +a] u[!a] a[x]", 0},
		{"the same id in the next turn", []Record{user("q"), calls("a"), res("a"), given(result("a", "1")), calls("a")},
			"u[q] a[let me look +a] u[=a:1] a[let me look]", 0},
		{"a call's line twice", []Record{user("q"), stamped(calls("a"), "1"), stamped(calls("a"), "1"), res("a"), given(result("a", "1")), answer("x")},
			"u[q] a[let me look +a] u[=a:1] a[x]", 0},
		{"a copy of a call under another id", []Record{user("q"), stamped(calls("a"), "1"), stamped(calls("a"), "2"), given(result("a", "1")), answer("x")},
			"u[q] a[let me look +a] u[!a] a[let me look] a[x]", 0},
		{"every line twice", []Record{stamped(user("q"), "1"), stamped(user("q"), "1"), stamped(calls("a"), "2"), stamped(calls("a"), "2"),
			stamped(given(result("a", "1")), "3"), stamped(given(result("a", "1")), "3")}, "u[q] a[let me look +a] u[=a:1]", 0},
		{"an answer without its question", []Record{Damaged{}, answer("x"), user("q")}, "u[LOST] a[x] u[q]", 0},
		{"calls without their question", []Record{calls("a"), res("a")}, "u[LOST] a[let me look +a] u[=a:r]", 1},
		{"two answers", []Record{user("q"), answer("x"), Damaged{}, answer("y")}, "u[q] a[x] a[y]", 0},
		{"empty messages", []Record{given(), assistant(), user("q"), assistant(), calls("a"), assistant(), given(), given(result("a", "1"))},
			"u[q] a[let me look +a] u[=a:1]", 0},
		{"a compaction", []Record{user("q"), answer("x"), boundary("c", 0), user("summary"), answer("y")}, "u[summary] a[y]", 0},
		{"two compactions", []Record{user("q"), boundary("c", 0), user("s1"), answer("x"), boundary("d", 0), user("s2")}, "u[s2]", 0},
		{"a crash right after a compaction", []Record{user("q"), answer("x"), boundary("c", 0)}, "u[q] a[x]", 1},
		{"a crash before all of the new history is there", []Record{user("q"), answer("x"), boundary("c", 2), user("s")}, "u[q] a[x]", 1},
		{"that, resumed", []Record{user("q"), answer("x"), boundary("c", 2), user("s"), Restored{Boundary: "c"}, user("r"), answer("y")},
			"u[q] a[x] u[r] a[y]", 0},
		{"a boundary that is not open is not revoked", []Record{user("q"), boundary("c", 1), user("s"), Restored{Boundary: "c"}}, "u[s]", 0},
		{"a compaction with calls open before it", []Record{user("q"), calls("a"), boundary("c", 0), user("s"), res("a")}, "u[s]", 0},
		{"a rewind", []Record{user("q"), answer("x"), user("bad"), answer("y"), Rewind{Keep: 2}, user("good")}, "u[q] a[x] u[good]", 0},
		{"a rewind of everything", []Record{user("q"), answer("x"), Rewind{}, user("new")}, "u[new]", 0},
		{"a rewind of what is not there", []Record{user("q"), Rewind{Keep: 7}, Rewind{Keep: -1}, Rewind{Keep: 1}}, "", 0},
		{"a rewind behind a call", []Record{user("q"), calls("a"), given(result("a", "1")), answer("x"), Rewind{Keep: 2}, user("go")},
			"u[q] a[let me look +a] u[!a go]", 1},
		{"a rewind after a crash in a call", []Record{user("q"), calls("a"), Rewind{Keep: 1}, user("go")}, "u[q] u[go]", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			messages, repairs := History(tt.records)
			if got := outline(messages); got != tt.want {
				t.Errorf("History = %s\nwant      %s", got, tt.want)
			}
			if err := checkPairing(messages); err != nil {
				t.Error(err)
			}
			if len(repairs) != tt.repairs {
				t.Errorf("%d repairs, want %d", len(repairs), tt.repairs)
			}
			again, more := History(append(tt.records, repairs...))
			if outline(again) != outline(messages) || len(more) > 0 {
				t.Errorf("with the repairs, History = %s and %d repairs", outline(again), len(more))
			}
		})
	}
}

// genSession draws what a session writes, in the order it writes it.
func genSession() *rapid.Generator[[]Record] {
	return rapid.Custom(func(t *rapid.T) []Record {
		records := []Record{Header{Session: "s"}}
		n := 0
		for range rapid.IntRange(0, 6).Draw(t, "turns") {
			if rapid.IntRange(0, 4).Draw(t, "compaction") == 0 {
				kept := rapid.IntRange(0, 2).Draw(t, "kept")
				records = append(records, Compaction{Messages: kept + 1}, user("summary"))
				for range kept {
					records = append(records, user("kept"))
				}
			}
			records = append(records, user(rapid.String().Draw(t, "prompt")))
			for range rapid.IntRange(0, 2).Draw(t, "rounds") {
				var ids []string
				var results []message.Block
				for range rapid.IntRange(1, 3).Draw(t, "calls") {
					n++
					id := fmt.Sprint("call", n)
					ids = append(ids, id)
					results = append(results, result(id, rapid.String().Draw(t, "output")))
				}
				records = append(records, calls(ids...))
				for _, i := range rapid.Permutation(results).Draw(t, "order of ends") {
					records = append(records, Result{Result: i.(message.ToolResult)})
				}
				records = append(records, given(results...))
			}
			records = append(records, answer("done"))
			if rapid.Bool().Draw(t, "mode") {
				records = append(records, Mode{Mode: "plan"})
			}
		}
		return records
	})
}

// A crash at any byte leaves a session that goes on: three times in a row the
// file is cut anywhere in what was written since the last resume.
func TestAnyCrashCanBeResumed(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		path := filepath.Join(dir, NewID())
		defer func() {
			leftovers, _ := filepath.Glob(path + "*")
			for _, name := range leftovers {
				os.Remove(name)
			}
		}()
		writeFile(t, path, "")
		var last []byte // the history of the last resume, as it is sent
		durable := 0
		for range 3 {
			w, records := openWriter(t, path)
			messages, repairs := History(records)
			if err := checkPairing(messages); err != nil {
				rt.Fatalf("%v\nin %s", err, outline(messages))
			}
			appendAll(t, w, repairs...)
			now := sent(messages)
			again, more := History(read(t, path))
			if len(more) > 0 || !bytes.Equal(sent(again), now) {
				rt.Fatalf("the repairs do not settle it:\n%s\n%s", now, sent(again))
			}
			for _, r := range records {
				if d, ok := r.(Damaged); ok && d.Aside == "" {
					rt.Fatalf("a damaged line in the middle: %+v", d)
				}
			}
			if !compactedSince(records, last) && !bytes.HasPrefix(now, last) {
				rt.Fatalf("what was sent has changed:\n%s\n%s", last, now)
			}
			last = now
			durable = len(readFile(t, path))
			appendAll(t, w, genSession().Draw(rt, "session")...)
			closeWriter(t, w)
			size := len(readFile(t, path))
			if err := os.Truncate(path, int64(rapid.IntRange(durable, size).Draw(rt, "cut"))); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// The same with processes that are killed while they write.
func TestKilledWriterCanBeResumed(t *testing.T) {
	path := newSession(t)
	before := 0
	for round := range 3 {
		writer, lines := startOwner(t, path, "TRANSCRIPT_WRITES=1")
		if _, err := io.ReadFull(lines, make([]byte, 2*(50+round*37))); err != nil {
			t.Fatal(err)
		}
		if err := writer.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		writer.Wait()
		records := read(t, path)
		messages, _ := History(records)
		if err := checkPairing(messages); err != nil {
			t.Errorf("round %d: %v\nin %s", round, err, outline(messages))
		}
		if len(records) < before+50 {
			t.Errorf("round %d: %d records, want more than %d", round, len(records), before+50)
		}
		before = len(records)
	}
	w, records := openWriter(t, path)
	closeWriter(t, w)
	for _, d := range damaged(records) {
		if d.Aside == "" {
			t.Errorf("damaged in the middle: %+v", d)
		}
	}
}

func sent(messages []Message) []byte {
	var out []byte
	for _, m := range messages {
		out = append(m.Message.AppendJSON(out), '\n')
	}
	return out
}

// compactedSince reports whether the records hold a compaction, which is
// allowed to change what is sent.
func compactedSince(records []Record, last []byte) bool {
	for _, r := range records {
		if _, ok := r.(Compaction); ok {
			return true
		}
	}
	return len(last) == 0
}
