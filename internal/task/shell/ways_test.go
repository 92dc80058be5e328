package shell

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"heddle/internal/task"
	"heddle/internal/task/tasktest"
)

// Whichever way a command goes to the background, and whenever: its output is the same to
// the byte, its process is the same, and so is its end.
func TestOutputIsTheSameWhicheverWay(t *testing.T) {
	t.Parallel()
	rt, rec := tasktest.NewRuntime(t)
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(p *rapid.T) {
		n++
		out := rapid.SliceOfN(rapid.Byte(), 0, 20_000).Draw(p, "output")
		cut := rapid.IntRange(0, len(out)).Draw(p, "pause after")
		pause := rapid.SampledFrom([]string{"0", "0.002", "0.01"}).Draw(p, "pause")
		code := rapid.IntRange(0, 3).Draw(p, "code")
		way := rapid.SampledFrom([]string{"stay", "from the start", "budget", "key", "two keys", "key at the end"}).Draw(p, "way")
		file := filepath.Join(dir, fmt.Sprint(n))
		if err := os.WriteFile(file, out, 0o600); err != nil {
			p.Fatal(err)
		}
		command := fmt.Sprintf("head -c %d %s; sleep %s; tail -c +%d %s; exit %d", cut, file, pause, cut+1, file, code)
		spec := task.Spec{Kind: task.LocalBash, ToolUseID: "toolu_1", Background: way == "from the start"}
		tk, err := rt.Start(spec, &Runner{Command: command, Dir: dir, Env: Environment(os.Environ(), nil, nil)})
		if err != nil {
			p.Fatal(err)
		}
		before := len(rec.Ends())
		outcome := task.Backgrounded
		switch way {
		case "stay":
			outcome = tk.Attach(context.Background(), 0)
		case "budget":
			outcome = tk.Attach(context.Background(), 3*time.Millisecond)
		case "key", "two keys":
			go tk.Background()
			if way == "two keys" {
				go tk.Background()
			}
			outcome = tk.Attach(context.Background(), 0)
		case "key at the end":
			<-tk.Done()
			tk.Background()
			outcome = tk.Attach(context.Background(), 0)
		}
		<-tk.Done()
		s := tk.Snapshot()
		got, err := os.ReadFile(s.OutputFile)
		if err != nil || !bytes.Equal(got, out) {
			p.Fatalf("%s: %d bytes of output, %v; want %d", way, len(got), err, len(out))
		}
		if d := s.Detail.(Detail); d.Code != code || s.Status != map[bool]task.Status{true: task.Completed, false: task.Failed}[code == 0] {
			p.Fatalf("%s: code %d, %s; want code %d", way, d.Code, s.Status, code)
		}
		if told := len(rec.Ends()) - before; way != "from the start" && told != int(outcome) {
			p.Fatalf("%s: outcome %v, told %d times", way, outcome, told)
		}
	})
}
