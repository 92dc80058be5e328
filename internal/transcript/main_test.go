package transcript

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/internal/message"

	"go.uber.org/goleak"
)

// The test binary is also the other process that owns a session.
func TestMain(m *testing.M) {
	if path := os.Getenv("TRANSCRIPT_OWNER"); path != "" {
		own(path, os.Getenv("TRANSCRIPT_WRITES") != "")
	}
	goleak.VerifyTestMain(m)
}

// own opens the session, says so, and waits for its end. If it writes, it
// goes on with the conversation and says so after each message.
func own(path string, writes bool) {
	w, records, err := Open(path)
	fmt.Println("opened:", err)
	if writes && err == nil {
		converse(w, records)
	}
	// The pipe closes when the test process ends, in whatever way.
	os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

func converse(w *Writer, records []Record) {
	_, repairs := History(records)
	said := append(repairs, user("go on"))
	for i := 0; ; i++ {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		said = append(said, calls(a, b), Result{Result: result(b, "2")}, Result{Result: result(a, "1")}, given(result(a, "1"), result(b, "2")))
		for _, r := range said {
			if err := w.Append(r); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			if _, err := fmt.Println("."); err != nil {
				os.Exit(1) // nobody listens any more
			}
		}
		said = nil
	}
}

// startOwner returns a process that has the session at path.
func startOwner(t *testing.T, path string, env ...string) (cmd *exec.Cmd, out io.Reader) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "TRANSCRIPT_OWNER="+path), env...)
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
	})
	lines := bufio.NewReader(pipe)
	if said, err := lines.ReadString('\n'); said != "opened: <nil>\n" {
		t.Fatalf("the other process says %q, %v", said, err)
	}
	return cmd, lines
}

func newSession(t *testing.T, records ...Record) string {
	t.Helper()
	path := File(filepath.Join(t.TempDir(), "projects", "key"), NewID())
	w := create(t, path)
	appendAll(t, w, records...)
	closeWriter(t, w)
	return path
}

func create(t *testing.T, path string) *Writer {
	t.Helper()
	id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	w, err := Create(path, Header{Session: id, Dir: "/work", Program: "1.0", Model: "m1"})
	if err != nil {
		t.Fatalf("Create: %v", err)
	}
	return w
}

func openWriter(t *testing.T, path string) (*Writer, []Record) {
	t.Helper()
	w, records, err := Open(path)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return w, records
}

func appendAll(t *testing.T, w *Writer, records ...Record) {
	t.Helper()
	for _, r := range records {
		if err := w.Append(r); err != nil {
			t.Fatalf("Append(%T): %v", r, err)
		}
	}
}

func closeWriter(t *testing.T, w *Writer) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
}

func read(t *testing.T, path string) []Record {
	t.Helper()
	records, err := Read(path)
	if err != nil {
		t.Fatalf("Read: %v", err)
	}
	return records
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What is said in tests.

func user(text string) Message { return Message{Message: message.FromUser(text), Origin: "human"} }

func answer(text string) Message {
	return assistant(message.Text{Text: text})
}

func assistant(blocks ...message.Block) Message {
	return Message{Message: message.Message{Role: message.Assistant, Content: blocks}, Origin: "model", Model: "m2", Cost: 0.5}
}

func call(id string) message.Block {
	return message.ToolUse{ID: id, Name: "Bash", Input: []byte(`{"command":"ls"}`)}
}

func calls(ids ...string) Message {
	blocks := []message.Block{message.Text{Text: "let me look"}}
	for _, id := range ids {
		blocks = append(blocks, call(id))
	}
	return assistant(blocks...)
}

func result(id, text string) message.ToolResult {
	return message.ToolResult{ToolUseID: id, Content: []message.Block{message.Text{Text: text}}}
}

func given(results ...message.Block) Message {
	return Message{Message: message.Message{Role: message.User, Content: results}, Origin: "tools"}
}

// outline writes messages in short: u[text], a[+call], u[=result !interrupted].
func outline(messages []Message) string {
	var out []string
	for _, m := range messages {
		var parts []string
		for _, b := range m.Message.Content {
			switch b := b.(type) {
			case message.Text:
				text := b.Text
				if text == lostText {
					text = "LOST"
				}
				parts = append(parts, text)
			case message.ToolUse:
				parts = append(parts, "+"+b.ID)
			case message.ToolResult:
				text := message.Message{Content: b.Content}.Text()
				if text == interruptedText && b.IsError {
					parts = append(parts, "!"+b.ToolUseID)
				} else {
					parts = append(parts, "="+b.ToolUseID+":"+text)
				}
			default:
				parts = append(parts, fmt.Sprintf("%T", b))
			}
		}
		out = append(out, string(m.Message.Role[0])+"["+strings.Join(parts, " ")+"]")
	}
	return strings.Join(out, " ")
}

func at(second int) time.Time { return time.Date(2026, 5, 1, 12, 0, second, 0, time.UTC) }
