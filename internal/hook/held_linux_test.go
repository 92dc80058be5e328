package hook

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A process that is not of the tree of a hook may hold its pipes, and write to them, for
// ever. Nobody waits for it.
func TestPipesHeldByAnother(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		command string
		limit   time.Duration
		want    []string
	}{
		"after the exit": {"echo hello", time.Minute, []string{"hello"}},
		"at the limit":   {"sleep 1000", 500 * time.Millisecond, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said told
			o := options(t, &said)
			pid, held := filepath.Join(o.Dir, "pid"), filepath.Join(o.Dir, "held")
			for _, path := range []string{pid, held} {
				if err := syscall.Mkfifo(path, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h := sh(UserPromptSubmit, "echo $$ > pid; : < held; "+c.command)
			h.Timeout = c.limit
			r := runner(t, o, h)
			fired := make(chan Outcome, 1)
			input := map[string]any{"prompt": strings.Repeat("x", 5<<20)}
			go func() { fired <- r.Fire(t.Context(), UserPromptSubmit, "", input, nil) }()

			hold(t, pid)
			if err := os.WriteFile(held, nil, 0); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Outcome{Context: c.want}, <-fired); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// hold opens the pipes of the process whose id comes through a fifo.
func hold(t *testing.T, fifo string) {
	t.Helper()
	pid, err := os.ReadFile(fifo)
	if err != nil {
		t.Fatal(err)
	}
	for i, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_WRONLY} {
		f, err := os.OpenFile(fmt.Sprintf("/proc/%s/fd/%d", strings.TrimSpace(string(pid)), i), flag, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
	}
}
